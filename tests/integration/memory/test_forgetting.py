"""Somebody is forgotten (invariant 10, B35): no byte of what was planted is left in any file, and nobody else loses a word."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from memstrata.distill.protocol import Extraction, MessageBatch
from memstrata.errors import InvalidRequest, NotFound
from memstrata.memory import Memory, MessageInput
from memstrata.records import MemoryDraft, Provenance, RunRecord, Scope, Spending, SpendKey, Usage
from memstrata.records.forgetting import Forgetting, ForgottenCounts
from memstrata.records.proxy import (
    Bound,
    DefaultBinding,
    LedgerEntry,
    NewTurn,
    ProxySession,
    ProxySnapshot,
    ProxyTokens,
    RateKey,
    ShownMemory,
)
from memstrata.search import meaning as meanings
from memstrata.settings import EmbeddingSettings, MirrorSettings, PipelineSettings, Settings
from memstrata.store.protocol import Repositories
from memstrata.store.sqlite.store import DATABASE_NAME
from memstrata.testing import EchoDistiller, FakeClock
from memstrata.testing.hash_embedder import HashEmbedder
from memstrata.vectors.index_folder import IndexFolder

Open = Callable[..., AbstractAsyncContextManager[Memory]]

USER = "zora.petrescu@example.org"
SESSION = "trip-with-zora-to-yangshuo"
IDS = ("message-of-zora-1", "message-of-zora-2")
ENGLISH = "My passport number is QX7731190 and I keep bees called Quillfeather"
CHINESE = "我的护照号是庚辰柒叁壹，我在阳朔养了一只叫茉莉糯糯的猫"
SCENE_NOTE = "Zora's hidden lagoon"
PERSONA_NOTE = "左撇子的养蜂人佐拉"
# Words, not only sentences: the keyword index holds terms one by one.
PLANTED: tuple[str, ...] = (
    USER, SESSION, *IDS, "QX7731190", "qx7731190", "uillfeath", "Quillfeather", "茉莉糯糯", "庚辰柒叁壹", "糯糯", "柒叁",
    SCENE_NOTE, PERSONA_NOTE,
)  # fmt: skip
BIG = "so that it does not fit into one page of the database " * 60


class TalkativeDistiller(EchoDistiller):
    """Names a slot, a scene and a reason after what was said, as a model would."""

    async def extract(self, batch: MessageBatch) -> Extraction:
        found = await super().extract(batch)
        assert isinstance(found, Extraction)
        drafts = tuple(
            MemoryDraft(
                one.content, one.type, one.priority, one.source_seqs, scene_name="茉莉糯糯", slot="Quillfeather"
            )
            if "Quillfeather" in one.content
            else one
            for one in found.drafts
        )
        return replace(found, drafts=drafts)


def planted_in(folder: Path, planted: Iterable[str] = PLANTED) -> set[tuple[str, str]]:
    """Return which strings are in which files, or in their names."""
    found = set()
    for file in sorted(folder.rglob("*")):
        name = str(file.relative_to(folder))
        content = file.read_bytes() if file.is_file() else b""
        found |= {(one, name) for one in planted if one in name or one.encode() in content}
    return found


def settings_of(folder: Path, profile_scope: str, **given: Any) -> Settings:
    pipeline = PipelineSettings(profile_scope=profile_scope, l2_delay_seconds=0, l2_min_interval_seconds=0)  # type: ignore[arg-type]
    return Settings(data_dir=folder, pipeline=pipeline, **given)


async def plant(memory: Memory, zora: Scope) -> None:
    """Let a user talk, be distilled, correct a memory, write into scene and persona, and leave retired versions behind."""
    texts = [ENGLISH, CHINESE, f"{BIG} QX7731190"]
    given = [MessageInput("user", text, message_id=name) for text, name in zip(texts, [*IDS, None], strict=True)]
    await memory.add(zora, SESSION, given, idempotency_key="key-of-QX7731190")
    await memory.flush(zora)
    (corrected, *_) = (await memory.memories(zora)).items
    await memory.update_memory(zora, corrected.memory_id, f"corrected: {CHINESE}")
    await memory.flush(zora)
    (scene, *_) = await memory.scenes(zora)
    await memory.write_scene(zora, scene.path, f"{scene.body}\n{SCENE_NOTE}", summary=SCENE_NOTE)
    profile_scope = memory.settings.pipeline.profile_scope
    if profile_scope == "agent_user":
        await memory.write_persona(zora, PERSONA_NOTE)

    def note(r: Repositories) -> None:
        """What models say on the way may quote what they have read."""
        profile = zora.profile(profile_scope)
        made = Provenance(notes=(f"refused: {SCENE_NOTE}",))
        failed = RunRecord("l2", "retry", 1, 2, 0, 0, "model", 1, 2, f"no such scene: {SCENE_NOTE}", made)
        r.jobs.record(r.profiles.ensure(profile), failed)
        r.profiles.request_persona(profile, PERSONA_NOTE)
        proxied(r, zora)

    await memory._store.write(note)


def proxied(r: Repositories, zora: Scope) -> None:
    """Let the proxy have copied all of it into a client's session."""
    session = ProxySession(zora.instance, USER, "claude-code", SESSION)
    form = f"form of {PERSONA_NOTE}".encode()
    r.proxy.bindings.put(session, Bound("bound", zora.team, zora.agent, form=form), 0, 1)
    r.proxy.bindings.put_default(zora.instance, USER, DefaultBinding(zora.team, zora.agent))
    r.proxy.snapshots.put_if_absent(session, ProxySnapshot(f"{PERSONA_NOTE} {SCENE_NOTE} {BIG}".encode(), "0", 1))
    entry = LedgerEntry(b"1" * 32, f"{ENGLISH} {CHINESE} {BIG}".encode(), (ShownMemory("m_1", "QX7731190"),), 1)
    r.proxy.ledger.open(session, (entry,), NewTurn(USER, CHINESE, zora.team, zora.agent), 1)
    r.proxy.turns.close(session, USER, ENGLISH, 2, complete=True)
    r.proxy.turns.retry(session, USER, 3, f"no room for {SCENE_NOTE}")
    r.proxy.usage.add(zora.instance, USER, "model", "2026-01-05", ProxyTokens(1, 10))
    r.proxy.rates.add(RateKey(zora.instance, USER, "model"), 1, 1, 10)


@pytest.mark.parametrize("profile_scope", ["agent", "agent_user"])
async def test_no_byte_of_a_forgotten_user_is_left_in_any_file(
    tmp_path: Path, open_memory: Open, scope: Scope, clock: FakeClock, profile_scope: str
) -> None:
    zora, elsewhere = replace(scope, user=USER), replace(scope, team="other", user=USER)
    settings = settings_of(tmp_path, profile_scope)
    async with open_memory(settings=settings, distiller=TalkativeDistiller(), embedder=HashEmbedder()) as memory:
        await memory.add(scope, "monday", [MessageInput("user", "I drink green tea")])
        await memory.flush(scope)
        await plant(memory, zora)
        assert await memory._store.drop_copies()  # into the file itself; what follows lies in the log
        await plant(memory, elsewhere)
        await memory.vectors_settled()
        await memory.search(zora, "passport")
        (tmp_path / f"{DATABASE_NAME}.before-schema-3").write_text(ENGLISH, encoding="utf-8")
        clock.advance(5)
        await memory._mirror.catch_up()
        before = planted_in(tmp_path)
        assert {one for one, _ in before} >= {USER, SESSION, "uillfeath", "茉莉糯糯", SCENE_NOTE}
        assert {DATABASE_NAME, f"{DATABASE_NAME}-wal"} <= {file for _, file in before}

        receipt = await memory.forget(Forgetting("default", user=USER))

        assert receipt.complete
        assert planted_in(tmp_path) == set()
        assert receipt.counts.messages == 6
        assert receipt.counts.sessions == 2
        await memory.flush(scope)
        assert (await memory.memories(scope)).total == 1
        assert [scene.body for scene in await memory.scenes(scope)] == ["- I drink green tea"]
        assert await memory.persona(scope) is not None
    assert planted_in(tmp_path) == set()


async def test_a_forgotten_user_can_come_back_as_somebody_new(tmp_path: Path, open_memory: Open, scope: Scope) -> None:
    zora = replace(scope, user=USER)
    async with open_memory(settings=settings_of(tmp_path, "agent_user")) as memory:
        for _ in range(2):
            await plant(memory, zora)
            assert (await memory.messages(zora)).total == 3
            await memory.forget(Forgetting("default", user=USER))
            assert (await memory.messages(zora)).total == 0
            assert await memory.persona(zora) is None
            assert await memory.scenes(zora) == ()
        await plant(memory, zora)

        assert (await memory.messages(zora)).total == 3
        assert [hit.item.content for hit in (await memory.search_messages(zora, "bees")).hits] == [ENGLISH]


async def test_a_dry_run_says_what_goes_and_takes_nothing(tmp_path: Path, open_memory: Open, scope: Scope) -> None:
    zora = replace(scope, user=USER)
    async with open_memory(settings=settings_of(tmp_path, "agent_user")) as memory:
        await plant(memory, zora)
        what = Forgetting("default", user=USER)

        foreseen = await memory.forgettable(what)

        assert foreseen.session_ids == (SESSION,)
        assert set(foreseen.message_ids) >= set(IDS)
        assert foreseen.scene_paths == tuple(scene.path for scene in await memory.scenes(zora))
        assert set(foreseen.memory_ids) == {one.memory_id for one in (await memory.memories(zora)).items}
        assert (await memory.messages(zora)).total == 3
        assert (await memory.forget(what)).counts == foreseen.counts
        assert (await memory.forgettable(what)).counts == ForgottenCounts()


@pytest.mark.parametrize(
    ("part", "left"),
    [
        ({"message_ids": ("a",)}, {"b", "c", "d"}),
        ({"session_ids": ("s1",)}, {"c", "d"}),
        ({"session_ids": ("s1",), "message_ids": ("c",)}, {"d"}),
        ({"since": 20, "until": 30}, {"a", "d"}),
        ({"until": 10}, {"b", "c", "d"}),
        ({"session_ids": ("s1",), "since": 20}, {"a", "c", "d"}),
    ],
)
async def test_parts_go_by_message_by_session_and_by_time(
    open_memory: Open, scope: Scope, part: dict[str, Any], left: set[str]
) -> None:
    texts = {"a": "I row at dawn", "b": "Lin lives in Lisbon", "c": "green tea, please", "d": "my cat is called Mo"}
    # What another user says is not the same: the agent's scene would say it twice, and be refused.
    others = {"a": "we ski in March", "b": "Max works in Riga", "c": "black coffee at nine", "d": "his dog is old"}
    said = {"a": ("s1", 10), "b": ("s1", 20), "c": ("s2", 30), "d": ("s2", 40)}
    async with open_memory() as memory:
        for name, (session, at) in said.items():
            for who, words in ((scope, texts), (replace(scope, user="max"), others)):
                await memory.add(who, session, [MessageInput("user", words[name], said_at=at, message_id=name)])
        await memory.flush(scope)

        receipt = await memory.forget(Forgetting("default", *_owner(scope), **part))

        assert {m.message_id for m in (await memory.messages(scope)).items} == left
        assert {m.content for m in (await memory.memories(scope)).items} == {texts[name] for name in left}
        assert receipt.counts.messages == receipt.counts.memories == 4 - len(left)
        assert (await memory.messages(replace(scope, user="max"))).total == 4


async def test_an_agent_is_forgotten_for_all_its_users_and_no_other_agent(open_memory: Open, scope: Scope) -> None:
    others = [replace(scope, user="max"), replace(scope, agent="other"), replace(scope, instance="other")]
    async with open_memory() as memory:
        for who in (scope, *others):
            await memory.add(who, "s1", [MessageInput("user", "I drink tea")])
            await memory.flush(who)

        receipt = await memory.forget(Forgetting("default", team="home", agent="assistant"))

        assert (receipt.counts.messages, receipt.counts.memories, receipt.counts.scenes) == (2, 2, 1)
        counts = [(await memory.messages(who)).total for who in (scope, *others)]
        assert counts == [0, 0, 1, 1]


async def test_a_forgotten_memory_is_not_extracted_again_and_a_new_message_may_say_it(
    open_memory: Open, scope: Scope
) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", [MessageInput("user", "I drink tea")])
        await memory.flush(scope)
        (known,) = (await memory.memories(scope)).items

        await memory.forget(Forgetting("default", *_owner(scope), memory_ids=(known.memory_id,)))
        await memory.add(scope, "s1", [MessageInput("assistant", "noted")])
        await memory.flush(scope)
        assert (await memory.memories(scope)).items == ()

        await memory.add(scope, "s2", [MessageInput("user", "I drink tea")])
        await memory.flush(scope)
        assert [m.content for m in (await memory.memories(scope)).items] == ["I drink tea"]


@pytest.mark.parametrize("stage", ["extract", "resolve"])
async def test_what_is_forgotten_while_a_model_reads_it_is_not_written_afterwards(
    open_memory: Open,
    scope: Scope,
    distiller: EchoDistiller,
    eventually: Callable[..., Any],
    stage: Any,
) -> None:
    """The rest of the session stays, so that its job and its lease do too: the lease alone does not protect."""
    async with open_memory(every_n=9, warmup=False) as memory:
        await memory.add(scope, "s0", [MessageInput("user", "I drink green tea with honey")])
        await memory.flush(scope)
        said = [("a", "I drink green tea with my secret Quillfeather"), ("b", "I like walking")]
        await memory.add(scope, "s1", [MessageInput("user", text, message_id=name) for name, text in said])
        calls = distiller.calls[stage]
        with distiller.paused(stage):
            flushing = asyncio.ensure_future(memory.flush(scope))
            await eventually(lambda: distiller.calls[stage] > calls)
            await memory.forget(Forgetting("default", *_owner(scope), message_ids=("a",)))
        await flushing

        contents = {one.content for one in (await memory.memories(scope)).items}
        assert contents == {"I drink green tea with honey", "I like walking"}
        assert distiller.seen.count("I like walking") == 2  # read anew, without what went


async def test_a_receipt_is_found_in_its_own_instance_and_names_no_user(open_memory: Open, scope: Scope) -> None:
    zora = replace(scope, user=USER)
    async with open_memory() as memory:
        await memory.add(zora, SESSION, [MessageInput("user", ENGLISH)])
        receipt = await memory.forget(Forgetting("default", user=USER), actor="gateway")

        assert await memory.forgetting_receipt("default", receipt.forgetting_id) == receipt
        assert receipt.actor == "gateway"
        assert USER not in str(receipt.selector)
        assert receipt.selector["user_sha256"] == Forgetting("default", user=USER).told()["user_sha256"]
        with pytest.raises(NotFound):
            await memory.forgetting_receipt("other", receipt.forgetting_id)


async def test_what_names_nothing_is_refused() -> None:
    for wrong in ({}, {"team": "home"}, {"user": " "}, {"user": "u", "since": 2, "until": 1}):
        with pytest.raises(InvalidRequest):
            Forgetting("default", **wrong)
    with pytest.raises(InvalidRequest, match="times"):
        Forgetting("default", memory_ids=("m",), since=1)


async def test_what_a_killed_process_left_of_a_forgotten_user_is_cleaned_at_the_next_start(
    tmp_path: Path, open_memory: Open, scope: Scope
) -> None:
    """The folder is copied as it is right after the commit: with the log, old files, and a receipt that is not complete."""
    alive, killed = tmp_path / "alive", tmp_path / "killed"
    zora = replace(scope, user=USER)
    async with open_memory(settings=settings_of(alive, "agent_user")) as memory:
        await plant(memory, zora)
        await memory._mirror.catch_up()
        memory._forgetter.stop()
        receipt = await memory.forget(Forgetting("default", user=USER))
        assert not receipt.complete
        shutil.copytree(alive, killed)
    index = killed / meanings.INDEX_FOLDER / "left.vectors"
    index.parent.mkdir()
    index.write_text(ENGLISH, encoding="utf-8")
    assert {DATABASE_NAME + "-wal", "conversations/2026-01-05.jsonl"} <= {file for _, file in planted_in(killed)}

    async with open_memory(settings=settings_of(killed, "agent_user")) as memory:
        assert await memory._forgetter._scrubbing.complete("default", receipt.forgetting_id, 10)
        assert planted_in(killed) == set()


async def test_a_reader_that_needs_the_log_delays_the_receipt_and_no_longer(
    tmp_path: Path, open_memory: Open, scope: Scope, clock: FakeClock, eventually: Callable[..., Any]
) -> None:
    async with open_memory(enabled=False) as memory:
        await memory.add(scope, "s1", [MessageInput("user", ENGLISH)])
        reader = apsw.Connection(str(tmp_path / DATABASE_NAME))
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchall()

        receipt = await memory.forget(Forgetting("default", *_owner(scope)))
        assert not receipt.complete
        assert planted_in(tmp_path) != set()
        reader.close()

        async def complete() -> bool:
            clock.advance(1)
            return (await memory.forgetting_receipt("default", receipt.forgetting_id)).complete

        await eventually(complete)
        assert planted_in(tmp_path) == set()


async def test_readable_files_of_a_time_when_they_were_kept_go_too(
    tmp_path: Path, open_memory: Open, scope: Scope
) -> None:
    zora = replace(scope, user=USER)
    async with open_memory(settings=settings_of(tmp_path, "agent_user")) as memory:
        await plant(memory, zora)
    assert ("QX7731190", "conversations/2026-01-05.jsonl") in planted_in(tmp_path)
    off = settings_of(tmp_path, "agent_user", mirror=MirrorSettings(enabled=False), embedding=EmbeddingSettings())

    async with open_memory(settings=off) as memory:
        await memory.add(scope, "s1", [MessageInput("user", "I drink tea")])
        assert (await memory.forget(Forgetting("default", user=USER))).complete

        assert planted_in(tmp_path) == set()
        assert not (tmp_path / "conversations" / "2026-01-05.jsonl").exists()  # nothing new is copied on the way


async def test_only_the_index_files_of_those_who_were_forgotten_go(
    tmp_path: Path, open_memory: Open, scope: Scope
) -> None:
    folder = tmp_path / meanings.INDEX_FOLDER
    files = [IndexFolder(folder, "", 0)._file(folder, f"messages:{number}") for number in (1, 2)]
    async with open_memory(enabled=False) as memory:
        for who in (replace(scope, user=USER), scope):  # numbers are given in this order
            await memory.add(who, "s1", [MessageInput("user", "I drink tea")])
        folder.mkdir()
        for file in files:
            file.write_text("a stand-in", encoding="utf-8")

        assert (await memory.forget(Forgetting("default", user=USER))).complete

        assert [file.exists() for file in files] == [False, True]


async def test_what_it_cost_stays_under_nobodys_name(open_memory: Open, scope: Scope) -> None:
    zora = replace(scope, user=USER)
    async with open_memory(enabled=False) as memory:
        await memory.add(zora, SESSION, [MessageInput("user", ENGLISH)])
        for who in (USER, ""):
            key = SpendKey("default", zora.team, zora.agent, who, "extract", "2026-01-05")
            await memory._store.write(lambda r, key=key: r.spending.add(Spending(key, Usage(7, 3))))  # type: ignore[misc]

        await memory.forget(Forgetting("default", user=USER))

        (line,) = await memory._store.read(lambda r: r.spending.lines("default", "2026-01-05", "2026-01-05"))
        assert (line.key.user, line.usage.prompt_tokens) == ("", 14)


def _owner(scope: Scope) -> tuple[str, str, str]:
    return scope.team, scope.agent, scope.user
