"""How rows came about: runs in order of time, with what they wrote, under the names that rows have outside."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from memstrata.records import (
    Generation,
    NewDocument,
    NewMemory,
    NewMessage,
    ProfileTarget,
    PromptRef,
    Provenance,
    RunOutput,
    RunRecord,
    Scope,
    SessionTarget,
    Target,
    Usage,
)
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import GenerationFilter, RowName

MADE = Provenance("gpt", "work", PromptRef("mp-1", 3, "team", "ab12"), Usage(10, 5, 2, 1), ("one line refused",))
RUN = RunRecord("l1", "items", 1, 1, 1, 0, "model", 900, 1_000, provenance=MADE)


class Rows(NamedTuple):
    """Row numbers of a scope that has something in every layer, and what its runs are about."""

    session: SessionTarget
    profile: ProfileTarget
    message: int
    memory: int
    scene: int
    persona: int


@pytest.fixture
def fill(
    store: Store,
    new_message: Callable[..., NewMessage],
    new_memory: Callable[..., NewMemory],
    new_document: Callable[..., NewDocument],
) -> Callable[..., Any]:
    """Return a way to give a scope a message, a memory, a scene and a persona."""

    async def filled(scope: Scope) -> Rows:
        profile = scope.profile("agent")

        def work(r: Repositories) -> Rows:
            session = r.conversations.append(scope, "s1", "", [new_message()], 0)
            message = r.conversations.undistilled(session, 9)[0].seq
            memory = r.memories.add(scope, profile, new_memory(source_seqs=(message,))).seq
            scene = r.profiles.write(profile, new_document(memory_seqs=(memory,))).seq
            persona = r.profiles.write(profile, new_document("persona.md", kind="persona")).seq
            return Rows(session, r.profiles.ensure(profile), message, memory, scene, persona)

        return await store.write(work)

    return filled


@pytest.fixture
async def rows(fill: Callable[..., Any], scope: Scope) -> Rows:
    filled: Rows = await fill(scope)
    return filled


async def record(store: Store, target: Target, *runs: RunRecord) -> None:
    def work(r: Repositories) -> None:
        for run in runs:
            r.jobs.record(target, run)

    await store.write(work)


async def page(
    store: Store,
    *,
    instance: str = "default",
    before: tuple[int, int] | None = None,
    limit: int = 99,
    **where: Any,
) -> list[Generation]:
    found = await store.read(lambda r: r.generations.page(instance, GenerationFilter(**where), before, limit))
    return list(found)


def ends(found: list[Generation]) -> list[int]:
    return [one.run.finished_at for one in found]


def written(rows: Rows) -> tuple[RunOutput, ...]:
    return (RunOutput("l1", rows.memory, "store", (rows.message,), (), "new"),)


async def test_a_run_is_told_with_its_owner_its_making_and_what_it_wrote(store: Store, rows: Rows) -> None:
    run = replace(RUN, outputs=written(rows))
    await record(store, rows.session, run)

    (found,) = await page(store)

    assert found == Generation(found.run_id, "default", "home", "assistant", "lin", "s1", run)
    assert await store.read(lambda r: r.generations.one("default", found.run_id)) == found


async def test_a_run_about_a_profile_names_no_session(store: Store, rows: Rows) -> None:
    outputs = (RunOutput("l2", rows.scene, "write", (rows.memory,)),)
    await record(store, rows.profile, replace(RUN, kind="l2", outputs=outputs))

    (found,) = await page(store)

    assert (found.team, found.agent, found.user, found.session_id) == ("home", "assistant", "", "")
    assert found.run.outputs == outputs


async def test_runs_come_newest_first_and_those_of_one_moment_the_last_recorded_first(store: Store, rows: Rows) -> None:
    await record(store, rows.session, *(replace(RUN, finished_at=at) for at in (20, 30, 10, 30)))

    found = await page(store)

    assert ends(found) == [30, 30, 20, 10]
    assert found[0].run_id > found[1].run_id
    assert ends(await page(store, limit=2)) == [30, 30]


async def test_pages_neither_skip_nor_repeat_a_run_while_new_ones_come_in(store: Store, rows: Rows) -> None:
    await record(store, rows.session, *(replace(RUN, finished_at=at) for at in (10, 20, 20, 20, 30)))
    known = [one.run_id for one in await page(store)]

    seen: list[int] = []
    before = None
    while some := await page(store, before=before, limit=2):
        seen += [one.run_id for one in some]
        before = (some[-1].run.finished_at, some[-1].run_id)
        await record(store, rows.session, replace(RUN, finished_at=40))

    assert seen == known


async def test_runs_are_found_by_layer_time_and_how_they_ended(store: Store, rows: Rows) -> None:
    await record(store, rows.session, replace(RUN, finished_at=10), replace(RUN, finished_at=20, outcome="retry"))
    await record(store, rows.session, replace(RUN, finished_at=30, outcome="poison"))
    await record(store, rows.profile, replace(RUN, kind="l2", finished_at=40, outcome="nothing"))

    assert ends(await page(store)) == [40, 30, 20, 10]
    assert ends(await page(store, layer="l1")) == [30, 20, 10]
    assert ends(await page(store, failed=True)) == [30, 20]
    assert ends(await page(store, failed=False)) == [40, 10]
    assert ends(await page(store, since=20, until=30)) == [30, 20]


async def test_rules_that_found_nothing_left_nothing_to_tell(store: Store, rows: Rows) -> None:
    by_rules = replace(RUN, provenance=Provenance(), outcome="nothing", finished_at=10)
    await record(store, rows.session, by_rules, replace(by_rules, outcome="items", finished_at=20))

    (found,) = await page(store)

    assert found.run.outcome == "items"
    assert found.run.provenance == Provenance()
    assert await store.read(lambda r: r.generations.one("default", found.run_id - 1)) is None


async def test_another_instances_runs_are_neither_listed_nor_found(
    store: Store, rows: Rows, fill: Callable[..., Any]
) -> None:
    theirs: Rows = await fill(Scope("other", "home", "assistant", "lin"))
    await record(store, rows.session, replace(RUN, outputs=written(rows)))
    await record(store, theirs.session, replace(RUN, outputs=written(theirs)))
    await record(store, theirs.profile, replace(RUN, kind="l2"))

    (ours,) = await page(store)
    others = await page(store, instance="other")

    found = await store.read(lambda r: [r.generations.one("default", one.run_id) for one in others])
    assert found == [None, None]
    assert await store.read(lambda r: r.generations.of_output("default", "l1", theirs.memory)) == ()
    assert await store.read(lambda r: r.generations.names("other", "l1", {rows.memory})) == {}
    assert await store.read(lambda r: r.generations.one("other", ours.run_id)) is None


async def test_rows_that_are_gone_are_left_out(
    store: Store, scope: Scope, rows: Rows, new_memory: Callable[..., NewMemory], new_message: Callable[..., NewMessage]
) -> None:
    def work(r: Repositories) -> tuple[int, int]:
        r.conversations.append(scope, "s1", "", [new_message(message_id="gone")], 0)
        message = max(one.seq for one in r.conversations.undistilled(rows.session, 9))
        memory = r.memories.add(scope, scope.profile("agent"), new_memory(memory_id="m_gone", source_seqs=(message,)))
        return message, memory.seq

    message, memory = await store.write(work)
    kept = RunOutput("l1", rows.memory, "merge", (rows.message, message), (memory,))
    await record(store, rows.session, replace(RUN, outputs=(kept, RunOutput("l1", memory, "store", (message,)))))
    assert len((await page(store))[0].run.outputs) == 2

    await store.write(lambda r: r.erasure.messages(scope, ["gone"], [], None))

    (found,) = await page(store)
    assert found.run.outputs == (replace(kept, inputs=(rows.message,), replaced=()),)


async def test_the_runs_of_a_row_come_newest_first_with_what_they_did_to_it_alone(
    store: Store, scope: Scope, rows: Rows, new_memory: Callable[..., NewMemory]
) -> None:
    other = await store.write(lambda r: r.memories.add(scope, scope.profile("agent"), new_memory("other")).seq)
    mine = RunOutput("l1", rows.memory, "store", (rows.message,))
    support = RunOutput("l1", rows.memory, "support", (rows.message,))
    await record(store, rows.session, replace(RUN, finished_at=10, outputs=(mine, RunOutput("l1", other, "store"))))
    await record(store, rows.session, replace(RUN, finished_at=20, outputs=(support,)))

    found = await store.read(lambda r: r.generations.of_output("default", "l1", rows.memory))

    assert [one.run.outputs for one in found] == [(support,), (mine,)]
    assert await store.read(lambda r: r.generations.of_output("default", "l2", rows.memory)) == ()


async def test_rows_are_called_by_the_ids_they_have_outside(store: Store, scope: Scope, rows: Rows) -> None:
    def document(kind: str, path: str) -> str:
        text = f"default\0home\0assistant\0\0{kind}\0{path}"
        return f"profile:v1:{hashlib.sha256(text.encode()).hexdigest()}"

    def work(r: Repositories) -> list[RowName]:
        asked: list[tuple[Any, int]] = [("l0", rows.message), ("l1", rows.memory), ("l2", rows.scene)]
        return [r.generations.names("default", layer, [seq])[seq] for layer, seq in [*asked, ("l3", rows.persona)]]

    message, memory, scene, persona = await store.read(work)
    live = await store.read(lambda r: r.memories.live_by_seq(scope, [rows.memory])[0])
    assert message.record_id.startswith("msg-")
    assert memory == RowName(live.memory_id, live.version)
    assert scene == RowName(document("scene", "home.md"), 1)
    assert persona == RowName(document("persona", "persona.md"), 1)
    assert await store.read(lambda r: r.generations.names("default", "l2", [rows.persona])) == {}


async def test_a_record_is_found_by_its_id_in_all_its_versions(
    store: Store,
    scope: Scope,
    rows: Rows,
    new_memory: Callable[..., NewMemory],
    new_document: Callable[..., NewDocument],
) -> None:
    profile = scope.profile("agent")

    def work(r: Repositories) -> tuple[int, int, str, str]:
        old = r.memories.live_by_seq(scope, [rows.memory])[0]
        r.memories.retire(scope, old.seq, 5, None)
        newer = r.memories.add(scope, profile, new_memory(memory_id=old.memory_id, version=1)).seq
        scene = r.profiles.write(profile, new_document()).seq
        return newer, scene, old.memory_id, r.generations.names("default", "l2", [scene])[scene].record_id

    memory, scene, memory_id, scene_id = await store.write(work)

    assert await store.read(lambda r: r.generations.rows("default", "l1", memory_id)) == (memory, rows.memory)
    assert await store.read(lambda r: r.generations.rows("default", "l2", scene_id)) == (scene, rows.scene)
    assert await store.read(lambda r: r.generations.rows("other", "l1", memory_id)) == ()
    assert await store.read(lambda r: r.generations.rows("other", "l2", scene_id)) == ()
    assert await store.read(lambda r: r.generations.rows("default", "l3", scene_id)) == ()
    assert await store.read(lambda r: r.generations.rows("default", "l1", "m_unknown")) == ()


async def test_only_failures_that_are_old_enough_are_forgotten(store: Store, rows: Rows) -> None:
    runs = [
        replace(RUN, outcome="retry", finished_at=10, outputs=written(rows)),
        replace(RUN, outcome="poison", finished_at=19),
        replace(RUN, outcome="retry", finished_at=20),
        replace(RUN, outcome="items", finished_at=11),
        replace(RUN, outcome="nothing", finished_at=12),
    ]
    await record(store, rows.session, *runs)

    assert await store.write(lambda r: r.generations.prune(20)) == 2
    assert ends(await page(store)) == [20, 12, 11]
    assert await store.write(lambda r: r.generations.prune(20)) == 0
