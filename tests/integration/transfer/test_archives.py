"""An import beside what is there, and beside a pipeline that works meanwhile."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from memstrata.errors import InvalidRequest
from memstrata.memory import Memory, MessageInput, Scope
from memstrata.records import Profile
from memstrata.records.archive import ArchiveSelection
from memstrata.records.audit import AuditEntry, AuditFilter
from memstrata.settings import CaptureSettings, PipelineSettings, Settings
from memstrata.store.protocol import Repositories
from memstrata.store.sqlite.archive.writer import ArchiveWriter
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import EchoDistiller, FakeClock
from memstrata.text.analyser import index_terms
from memstrata.transfer.archive import Archives

OpenMemory = Callable[..., AbstractAsyncContextManager[Memory]]
T = TypeVar("T")
WHOLE = ArchiveSelection("default")


async def chunks(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def exported(memory: Memory, selection: ArchiveSelection = WHOLE) -> bytes:
    return b"".join([block async for block in memory.archives.export(selection)])


async def say(memory: Memory, scope: Scope, *texts: str, session: str = "s") -> None:
    await memory.add(scope, session, [MessageInput("user", text) for text in texts])


@pytest.fixture
def elsewhere(open_memory: OpenMemory, tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[Memory]]:
    """Return a way to open another folder; keywords are of PipelineSettings."""

    def opened(distiller: EchoDistiller | None = None, **pipeline: Any) -> AbstractAsyncContextManager[Memory]:
        own = Settings(data_dir=tmp_path / "elsewhere", pipeline=PipelineSettings(**pipeline))
        return open_memory(settings=own, **({} if distiller is None else {"distiller": distiller}))

    return opened


async def test_what_was_distilled_is_not_distilled_again_and_what_waited_is(
    open_memory: OpenMemory, elsewhere: OpenMemory, scope: Scope
) -> None:
    async with open_memory(enabled=True) as memory:
        await say(memory, scope, "I live in Lisbon", "我不吃花生")
        await memory.flush(scope)
    async with open_memory(enabled=False) as memory:
        await say(memory, scope, "my sister plays the cello")
        export = await exported(memory)
    other = EchoDistiller()
    async with elsewhere(other, enabled=True) as copy:
        await copy.archives.import_lines(chunks(export), "default")
        await copy.flush(scope)
        assert other.seen == ["my sister plays the cello"]
        assert other.calls["extract"] == 1
        assert (await copy.status(scope)).idle


async def test_marks_of_rules_and_parked_messages_come_along(
    open_memory: OpenMemory, elsewhere: OpenMemory, scope: Scope
) -> None:
    async with open_memory(enabled=False) as memory:
        await say(memory, scope, "one", "two", "three", "four")

        def mark(r: Repositories) -> None:
            target = r.conversations.target(scope, "s")
            assert target is not None
            r.conversations.advance(target, 4, 2, "notes")
            r.conversations.distilled_by_rules(target, 3)
            r.conversations.park(target, 1, "no model takes it", 5)

        await memory._store.write(mark)
        export = await exported(memory)
    async with elsewhere(enabled=False) as copy:
        # Row numbers are others here.
        await say(copy, Scope("default", "home", "assistant", "wei"), "earlier", "than all")
        await copy.archives.import_lines(chunks(export), "default")

        def look(r: Repositories) -> tuple[int, str, int, list[str]]:
            target = r.conversations.target(scope, "s")
            assert target is not None
            parked = r.conversations.parked_count(scope, "s"), r.conversations.parked_reason(scope, "s")
            assert r.conversations.undistilled(target, 9) == ()
            sessions = r.conversations.start_again_from_rules()
            again = [message.content for message in r.conversations.undistilled(target, 9)]
            return (*parked, sessions, again)

        assert await copy._store.write(look) == (1, "no model takes it", 1, ["three", "four"])


async def test_in_a_memory_with_rows_of_its_own_sources_and_versions_still_fit(
    open_memory: OpenMemory, elsewhere: OpenMemory, scope: Scope
) -> None:
    async with open_memory() as memory:
        await say(memory, scope, "I live in Lisbon")
        await memory.flush(scope)
        (found,) = (await memory.memories(scope)).items
        await memory.update_memory(scope, found.memory_id, "lives in Porto")
        await memory.flush(scope)
        export = await exported(memory)
        history = await memory.history(scope, found.memory_id)
        scenes = await memory.scenes(scope)
    async with elsewhere(EchoDistiller()) as copy:
        other = Scope("default", "home", "helper", "wei")
        await say(copy, other, "somebody else", "and more")
        await copy.flush(other)
        report = await copy.archives.import_lines(chunks(export), "default")
        assert report.problems == ()
        evidence = await copy.trace(scope, found.memory_id)
        assert [message.content for message in evidence.messages] == ["I live in Lisbon"]
        assert [one.memory.content for one in await copy.history(scope, found.memory_id)] == [
            one.memory.content for one in history
        ]
        old = (await copy.history(scope, found.memory_id))[-1].memory
        assert old.superseded_by == (await copy.memories(scope)).items[0].seq != history[-1].memory.superseded_by
        assert [scene.body for scene in await copy.scenes(scope)] == [scene.body for scene in scenes]
        scene = await copy.trace_scene(scope, scenes[0].path)
        assert [one.memory.memory_id for one in scene.supports] == [found.memory_id]
        assert scene.derivations != ()
        again = await copy.archives.import_lines(chunks(export), "default")
        assert (again.total("added"), again.total("conflict")) == (0, 0)


async def test_what_was_deleted_here_on_purpose_does_not_come_back(open_memory: OpenMemory, scope: Scope) -> None:
    async with open_memory() as memory:
        await say(memory, scope, "I live in Lisbon")
        await memory.flush(scope)
        export = await exported(memory)
        (found,) = (await memory.memories(scope)).items
        await memory.delete_memories(scope, [found.memory_id])
        report = await memory.archives.import_lines(chunks(export), "default")
        assert "it was deleted here on purpose" in {problem.reason for problem in report.problems}
        assert (await memory.memories(scope)).total == 0


async def test_an_export_is_of_one_moment_and_comes_in_blocks(open_memory: OpenMemory, scope: Scope) -> None:
    async with open_memory(enabled=False) as memory:
        for number in range(100):
            await say(memory, scope, f"{number} " + "x" * 8_000)
        blocks = memory.archives.export(WHOLE)
        first = await anext(blocks)
        assert len(first) < 600_000
        await say(memory, scope, "too late")
        rest = [block async for block in blocks]
        assert len(rest) > 1
        data = first + b"".join(rest)
        assert b"too late" not in data
        assert data.count(b'{"kind":"message"') == 100


async def test_a_work_that_runs_twice_leaves_the_same_rows(
    open_memory: OpenMemory, tmp_path: Path, scope: Scope, clock: FakeClock
) -> None:
    async with open_memory() as memory:
        await say(memory, scope, "I live in Lisbon", "我不吃花生")
        await memory.flush(scope)
        export = await exported(memory)
    store = await SqliteStore.open(tmp_path / "elsewhere")

    class Unlucky:
        """A store whose every transaction is rolled back once, as one that shares its commit with a failure is."""

        archive = store.archive

        async def write_lines(
            self, work: Callable[[ArchiveWriter], T], tell: Callable[[T], AuditEntry | None] = lambda _: None
        ) -> T:
            def fails(writer: ArchiveWriter) -> T:
                work(writer)
                raise InterruptedError

            with pytest.raises(InterruptedError):
                await store.write_lines(fails)
            return await store.write_lines(work, tell)

    async def nothing() -> None:
        """Nothing waits for these rows."""

    async def as_they_are(_: Scope | Profile, texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(texts)

    try:
        archives = Archives(Unlucky(), clock, index_terms, nothing, as_they_are)
        assert (await archives.import_lines(chunks(export), "default")).problems == ()
        back = b"".join([block async for block in archives.export(WHOLE)])
    finally:
        await store.close()
    assert back.split(b"\n")[1:] == export.split(b"\n")[1:]


async def test_lines_that_contradict_each_other_are_named_and_store_nothing(
    open_memory: OpenMemory, elsewhere: OpenMemory, scope: Scope
) -> None:
    async with open_memory(enabled=False) as memory:
        await say(memory, scope, "one", "two")
        lines = (await exported(memory)).splitlines()
    header, session, one, two, end = lines
    same_seq = json.dumps(json.loads(two) | {"seq": json.loads(one)["seq"]}).encode()
    async with elsewhere(enabled=False) as copy:
        with pytest.raises(InvalidRequest, match=r"line 4: seq 1 does not rise"):
            await copy.archives.import_lines(chunks(b"\n".join([header, session, one, same_seq, end])), "default")
        assert await copy.count_messages(scope) == 0
        stray = await copy.archives.import_lines(
            chunks(b"\n".join([header, one, two, end.replace(b"3", b"2")])), "default"
        )
        assert {problem.reason for problem in stray.problems} == {"its session does not come before it"}
        done = await copy.archives.import_lines(chunks(b"\n".join(lines)), "default")
        assert done.total("added") == 3


async def test_exports_and_imports_stand_in_the_audit_trail(open_memory: OpenMemory, scope: Scope) -> None:
    async with open_memory(enabled=False) as memory:
        await say(memory, scope, "I live in Lisbon")
        export = await exported(memory)
        await memory.archives.import_lines(chunks(export), "other", dry_run=True)
        await memory.archives.import_lines(chunks(export), "other")
        await memory.archives.import_lines(chunks(export), "other")

        def told(instance: str) -> Callable[[Repositories], list[tuple[str, str]]]:
            where = AuditFilter(instance, action="archive.")
            return lambda r: [(row.entry.action, row.entry.subject) for row in r.audit.page(where, None, 9)]

        assert await memory._store.read(told("default")) == [("archive.export", "{}")]
        assert await memory._store.read(told("other")) == [("archive.import", '{"message":1,"session":1}')]


SECRET = "hunter2zz"
TELLING = f"my password is {SECRET}"
CLEAN = "my password is [redacted:password]"


def keeping(folder: Path, **pipeline: Any) -> Settings:
    return Settings(
        data_dir=folder, capture=CaptureSettings(redact_secrets=False), pipeline=PipelineSettings(**pipeline)
    )


async def with_a_secret(open_memory: OpenMemory, scope: Scope, folder: Path) -> bytes:
    """Return an export of a memory that keeps secrets, with one in every layer and in a prompt."""
    kept = keeping(folder, l2_min_interval_seconds=0.0)
    async with open_memory(settings=kept) as memory:
        await say(memory, scope, TELLING)
        await memory.flush(scope)
        await memory.prompts.create("default", name="keys", layer="l1", prompt=TELLING)
        return await exported(memory)


def files_with(folder: Path, text: str) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


async def test_an_import_takes_secrets_out_like_every_other_way_in(
    open_memory: OpenMemory, elsewhere: OpenMemory, scope: Scope, tmp_path: Path
) -> None:
    export = await with_a_secret(open_memory, scope, tmp_path)
    telling = [line for line in export.split(b"\n") if SECRET.encode() in line]
    assert {json.loads(line)["kind"] for line in telling} >= {"prompt", "message", "memory", "document"}
    async with elsewhere(enabled=False) as copy:
        first = await copy.archives.import_lines(chunks(export), "default")
        again = await copy.archives.import_lines(chunks(export), "default")
        back = await exported(copy)
        counted = (await copy.health()).components["redaction"].details["redacted"]

    assert (first.problems, again.problems, again.total("added")) == ((), (), 0)
    assert len([line for line in back.split(b"\n") if CLEAN.encode() in line]) == len(telling)
    assert int(counted) >= 2 * len(telling)  # both times
    assert files_with(tmp_path / "elsewhere", SECRET) == []


async def test_an_import_keeps_the_secrets_of_whom_a_policy_lets_keep_them(
    open_memory: OpenMemory, elsewhere: OpenMemory, scope: Scope, tmp_path: Path
) -> None:
    """The policy comes in the same file, a few lines before the messages."""
    kept = keeping(tmp_path, enabled=False)
    max_ = Scope("default", scope.team, scope.agent, "max")
    async with open_memory(settings=kept) as memory:
        await say(memory, scope, TELLING)
        await say(memory, max_, TELLING)
        await memory.policies.set("default", user=scope.user, redact_secrets=False)
        export = await exported(memory)
    async with elsewhere(enabled=False) as copy:
        await copy.archives.import_lines(chunks(export), "default")
        said = [[m.content for m in (await copy.messages(who)).items] for who in (scope, max_)]

    assert said == [[TELLING], [CLEAN]]


async def test_keys_do_not_come_without_their_users(open_memory: OpenMemory, elsewhere: OpenMemory) -> None:
    """There is one administrator; the key of another would open for whoever is given the id one day."""
    async with open_memory(enabled=False) as memory:
        admin = await memory.directory.bootstrap.init_admin("default", username="old")
        await memory.directory.people.create("default", admin.user, username="lin")
        export = await exported(memory)
    async with elsewhere(enabled=False) as copy:
        await copy.directory.bootstrap.init_admin("default", username="new")
        foreseen = await copy.archives.import_lines(chunks(export), "default", dry_run=True)
        done = await copy.archives.import_lines(chunks(export), "default")
        opened = await copy.directory.people.verify("default", admin.key)

    assert foreseen.counts == done.counts
    assert done.counts["user"] == {"conflict": 1, "added": 1}
    assert done.counts["user_key"] == {"conflict": 1, "added": 1}
    assert opened is None
