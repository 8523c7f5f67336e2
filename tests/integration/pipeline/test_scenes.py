"""L2: when scenes are written, and what code makes of a draft."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from memstrata.distill.protocol import SceneDraft, SceneRequest, SceneWrite
from memstrata.memory import Memory, MessageInput
from memstrata.records import Provenance, RunOutput, RunRecord, Scope
from memstrata.store.protocol import Repositories
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import EchoDistiller, FakeClock

Open = Callable[..., AbstractAsyncContextManager[Memory]]
Settled = Callable[[Memory, Scope], Awaitable[None]]


async def distilled(memory: Memory, scope: Scope, settled: Settled, text: str, session: str) -> None:
    """Say something in a new session, so that L1 runs at once."""
    await memory.add(scope, session, [MessageInput("user", text)])
    await settled(memory, scope)


async def l2_due(memory: Memory, scope: Scope) -> int | None:
    return (await memory.status(scope)).layers["l2"].next_due_at


async def test_l2_follows_the_first_l1_after_the_delay(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller, settled: Settled
) -> None:
    async with open_memory(l2_delay_seconds=10) as memory:
        await distilled(memory, scope, settled, "fact one", "s1")
        assert await l2_due(memory, scope) == clock.now() + 10_000
        clock.advance(4)
        await distilled(memory, scope, settled, "fact two", "s2")
        assert await l2_due(memory, scope) == clock.now() + 6_000  # later memories do not put it off

        clock.advance(5.999)
        await settled(memory, scope)
        assert distiller.calls["consolidate"] == 0
        clock.advance(0.001)
        await settled(memory, scope)
        assert distiller.calls["consolidate"] == 1
        assert (await memory.status(scope)).layers["l2"].pending == 0


async def test_l2_keeps_its_distance_from_the_last_success(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller, settled: Settled
) -> None:
    async with open_memory(l2_delay_seconds=10, l2_min_interval_seconds=900) as memory:
        await distilled(memory, scope, settled, "fact one", "s1")
        clock.advance(10)
        await settled(memory, scope)
        done_at = clock.now()
        clock.advance(20)
        await distilled(memory, scope, settled, "fact two", "s2")

        assert await l2_due(memory, scope) == done_at + 900_000
        clock.advance(880)
        await settled(memory, scope)
        assert distiller.calls["consolidate"] == 2


async def test_a_memory_of_an_active_agent_does_not_wait_longer_than_the_most(
    open_memory: Open, scope: Scope, clock: FakeClock, settled: Settled
) -> None:
    async with open_memory(l2_min_interval_seconds=7_200, l2_max_interval_seconds=3_600) as memory:
        await distilled(memory, scope, settled, "fact one", "s1")
        clock.advance(10)
        await settled(memory, scope)
        clock.advance(20)
        await distilled(memory, scope, settled, "fact two", "s2")

        assert await l2_due(memory, scope) == clock.now() + 3_600_000


async def test_a_long_line_of_memories_is_consumed_in_portions(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller, settled: Settled
) -> None:
    """What was consumed is exactly what was shown."""
    async with open_memory(batch_messages=20, l2_min_interval_seconds=900) as memory:
        texts = [f"{word} {number}" for word in ("tea", "rain", "moon") for number in range(20)]
        for start in range(0, 60, 20):
            await memory.add(scope, f"s{start}", [MessageInput("user", text) for text in texts[start : start + 20]])
        await settled(memory, scope)
        assert (await memory.status(scope)).layers["l2"].pending == 60

        clock.advance(10)
        await settled(memory, scope)
        assert (await memory.status(scope)).layers["l2"].pending == 10
        clock.advance(900)
        await settled(memory, scope)
        assert (await memory.status(scope)).layers["l2"].pending == 0
        assert distiller.calls["consolidate"] == 2


async def test_memories_that_a_run_did_not_look_at_wait_for_the_next(
    open_memory: Open, scope: Scope, clock: FakeClock, tmp_path: Path, settled: Settled
) -> None:
    writer = Writer()
    async with open_memory(distiller=writer, l2_min_interval_seconds=900) as memory:
        writer.draft = lambda request: SceneDraft(
            (SceneWrite("tea.md", f"Seen: {len(request.memories)}", "", (request.memories[0].seq,)),),
            unseen=tuple(one.seq for one in request.memories[2:]),
        )
        await memory.add(scope, "s1", [MessageInput("user", f"{word} is here") for word in ("tea", "rain", "moon")])
        await settled(memory, scope)
        clock.advance(10)
        await settled(memory, scope)
        assert (await memory.status(scope)).layers["l2"].pending == 1

    run = (await kept_rows(tmp_path, scope)).run
    assert (run.from_seq, run.to_seq) == (1, 2)

    async with open_memory(distiller=writer, l2_min_interval_seconds=900) as memory:
        clock.advance(900)
        await settled(memory, scope)
        assert (await memory.status(scope)).layers["l2"].pending == 0
        scene = await memory.read_scene(scope, "tea.md")
        assert scene is not None
        assert scene.body == "Seen: 1"


async def test_a_run_that_looked_at_nothing_is_tried_again(open_memory: Open, scope: Scope, settled: Settled) -> None:
    writer = Writer()
    async with open_memory(distiller=writer, l2_delay_seconds=0) as memory:
        writer.draft = lambda request: SceneDraft(
            (SceneWrite("tea.md", "Tea.", "", (request.memories[0].seq,)),),
            unseen=tuple(one.seq for one in request.memories),
        )
        await memory.add(scope, "s1", [MessageInput("user", "I drink green tea")])
        await settled(memory, scope)
        assert (await memory.status(scope)).layers["l2"].last_outcome == "retry"
        assert await memory.scenes(scope) == ()


async def test_how_a_scene_came_about_is_kept_with_the_run(open_memory: Open, scope: Scope, tmp_path: Path) -> None:
    writer = Writer()
    made = Provenance("a-model", notes=("write 'x': refused",))
    async with open_memory(distiller=writer, l2_min_interval_seconds=0) as memory:
        drafts: list[tuple[str, tuple[str, ...]]] = [("tea.md", ()), ("rain.md", ()), ("tea.md", ("rain.md",))]
        for number, (path, absorbs) in enumerate(drafts):
            write = SceneWrite(path, f"Text {number}", "", (number + 1,), absorbs)
            writer.draft = partial(_always, SceneDraft((write,), provenance=made))
            await memory.add(scope, f"s{number}", [MessageInput("user", f"fact number {number}")])
            await memory.flush(scope)

    kept = await kept_rows(tmp_path, scope)
    assert kept.run.provenance == made
    (newest, oldest), (rain,) = kept.versions["tea.md"], kept.versions["rain.md"]
    assert kept.run.outputs == (RunOutput("l2", newest, "write", (3,), (oldest, rain)),)


def _always(draft: SceneDraft, _: SceneRequest) -> SceneDraft:
    return draft


@dataclass(frozen=True)
class Kept:
    """What a closed memory has left: the run that wrote tea.md last, and row numbers by path, newest version first."""

    run: RunRecord
    versions: dict[str, tuple[int, ...]]


async def kept_rows(folder: Path, scope: Scope) -> Kept:
    profile = scope.profile("agent")

    def work(r: Repositories) -> Kept:
        versions = {
            path: tuple(document.seq for document, _ in r.profiles.versions(profile, "scene", path))
            for path in ("tea.md", "rain.md")
        }
        (generation,) = r.generations.of_output(scope.instance, "l2", versions["tea.md"][0])
        return Kept(generation.run, versions)

    store = await SqliteStore.open(folder)
    try:
        return await store.read(work)
    finally:
        await store.close()


async def test_heat_and_times_of_a_scene_are_counted_by_code(open_memory: Open, scope: Scope, clock: FakeClock) -> None:
    """Invariant 7: new 1, update +1, merge sum + 1; created stays, updated moves."""
    writer = Writer()
    async with open_memory(distiller=writer, l2_min_interval_seconds=0) as memory:
        born = clock.now()
        heats = []
        drafts: list[tuple[str, tuple[str, ...]]] = [
            ("tea.md", ()),
            ("tea.md", ()),
            ("rain.md", ()),
            ("tea.md", ("rain.md", "unknown.md")),
        ]
        for number, draft in enumerate(drafts):
            writer.writes = [draft]
            await memory.add(scope, f"s{number}", [MessageInput("user", f"fact number {number}")])
            clock.advance(60)
            await memory.flush(scope)
            heats.append({scene.path: scene.heat for scene in await memory.scenes(scope)})

        assert heats == [{"tea.md": 1}, {"tea.md": 2}, {"tea.md": 2, "rain.md": 1}, {"tea.md": 4}]
        (scene,) = await memory.scenes(scope)
        assert (scene.created_at, scene.updated_at) == (born + 60_000, clock.now())
        assert scene.version == 3


async def test_a_draft_of_scenes_is_held_to_what_it_was_shown(
    open_memory: Open, scope: Scope, settled: Settled, clock: FakeClock
) -> None:
    """Invariants 5, 6 and 8: no unsafe path, no text without evidence, no foreign evidence, nothing written twice."""
    writer = Writer()
    async with open_memory(distiller=writer) as memory:
        writer.draft = lambda request: SceneDraft(
            (
                SceneWrite("../escape.md", "outside", "", (request.memories[0].seq,)),
                SceneWrite("no-evidence.md", "made up", "", (999_999,)),
                SceneWrite("too-long.md", "long " * 400, "", (request.memories[0].seq,)),
                SceneWrite("tea.md", "Green tea.", "tea\nwith a second line", (request.memories[0].seq, 999_999)),
                SceneWrite("tea.md", "Black tea.", "", (request.memories[0].seq,)),
            ),
            removals=("unknown.md",),
        )
        await memory.add(scope, "s1", [MessageInput("user", "I drink green tea")])
        await memory.flush(scope)

        (scene,) = await memory.scenes(scope)
        assert (scene.path, scene.body, scene.summary) == ("tea.md", "Green tea.", "tea with a second line")
        (memory_of,) = (await memory.memories(scope)).items
        assert (await memory.trace(scope, memory_of.memory_id)).scenes == (scene,)


async def test_a_scene_that_a_person_wrote_is_neither_replaced_absorbed_nor_removed(
    open_memory: Open, scope: Scope
) -> None:
    writer = Writer()
    async with open_memory(distiller=writer, l2_min_interval_seconds=0) as memory:
        writer.writes = [("tea.md", ()), ("rain.md", ())]
        await memory.add(scope, "s1", [MessageInput("user", "fact one")])
        await memory.flush(scope)
        human = await memory.write_scene(scope, "tea.md", "Only Lin writes here.", summary="by hand")

        writer.writes = [("tea.md", ()), ("rain.md", ("tea.md",))]
        writer.removals = ("tea.md",)
        await memory.add(scope, "s2", [MessageInput("user", "fact two")])
        await memory.flush(scope)

        assert await memory.read_scene(scope, "tea.md") == human
        assert {scene.path for scene in await memory.scenes(scope)} == {"tea.md", "rain.md", "tea-2.md"}


async def test_a_scene_that_a_person_edits_while_l2_runs_keeps_the_persons_text(
    open_memory: Open, scope: Scope, clock: FakeClock, eventually: Callable[..., Awaitable[None]], settled: Settled
) -> None:
    writer = Writer()
    async with open_memory(distiller=writer, l2_min_interval_seconds=0) as memory:
        writer.writes = [("tea.md", ())]
        await memory.add(scope, "s1", [MessageInput("user", "fact one")])
        await memory.flush(scope)
        await memory.add(scope, "s2", [MessageInput("user", "fact two")])
        await settled(memory, scope)
        with writer.paused("consolidate"):
            clock.advance(10)
            await eventually(lambda: writer.calls["consolidate"] == 2)
            human = await memory.write_scene(scope, "tea.md", "Only Lin writes here.")
        await settled(memory, scope)
        assert (await memory.status(scope)).layers["l2"].pending == 1  # nothing was consumed for nothing

        clock.advance(5)
        await settled(memory, scope)
        assert await memory.read_scene(scope, "tea.md") == human
        assert {scene.path for scene in await memory.scenes(scope)} == {"tea.md", "tea-2.md"}


async def test_a_removed_scene_is_restored_with_the_next_version(open_memory: Open, scope: Scope) -> None:
    """Invariant 8: versions are kept."""
    writer = Writer()
    async with open_memory(distiller=writer, l2_min_interval_seconds=0) as memory:
        writer.writes = [("tea.md", ()), ("rain.md", ())]
        await memory.add(scope, "s1", [MessageInput("user", "fact one")])
        await memory.flush(scope)
        writer.writes, writer.removals = [("tea.md", ())], ("rain.md",)
        await memory.add(scope, "s2", [MessageInput("user", "fact two")])
        await memory.flush(scope)
        assert {scene.path for scene in await memory.scenes(scope)} == {"tea.md"}

        writer.writes, writer.removals = [("rain.md", ())], ()
        await memory.add(scope, "s3", [MessageInput("user", "fact three")])
        await memory.flush(scope)
        again = await memory.read_scene(scope, "rain.md")
        assert again is not None
        assert again.version == 2


async def test_what_is_deleted_leaves_the_scenes_and_they_are_written_anew(open_memory: Open, scope: Scope) -> None:
    """Invariant 10: scenes and persona are derived again without the deleted part."""
    async with open_memory() as memory:
        secret = MessageInput("user", "the code is 4711", message_id="secret")
        await memory.add(scope, "s1", [secret, MessageInput("user", "I drink green tea")])
        await memory.flush(scope)
        assert "4711" in (await memory.scenes(scope))[0].body

        deletion = await memory.delete_messages(scope, message_ids=["secret"])
        assert (deletion.messages, deletion.memories, deletion.documents) == (1, 1, 2)
        assert await memory.scenes(scope) == ()
        assert await memory.persona(scope) is None

        await memory.flush(scope)
        (scene,) = await memory.scenes(scope)
        assert scene.body == "- I drink green tea"
        persona = await memory.persona(scope)
        assert persona is not None
        assert persona.body == "A person with 1 notes."


class Writer(EchoDistiller):
    """Writes the scenes that a test names, from all memories that it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[tuple[str, tuple[str, ...]]] = []
        self.removals: tuple[str, ...] = ()
        self.draft: Callable[[SceneRequest], SceneDraft] | None = None

    async def consolidate(self, request: SceneRequest) -> Any:
        answer = await super().consolidate(request)
        if not isinstance(answer, SceneDraft):
            return answer
        if self.draft is not None:
            return self.draft(request)
        seqs = answer.writes[0].memory_seqs
        return SceneDraft(
            tuple(SceneWrite(path, f"About {path}", "summary", seqs, absorbs) for path, absorbs in self.writes),
            self.removals,
        )


async def test_scenes_and_persona_that_a_deletion_took_along_come_back_without_waiting_for_the_interval(
    open_memory: Open, scope: Scope, clock: FakeClock, settled: Settled
) -> None:
    async with open_memory(l2_delay_seconds=10, l2_min_interval_seconds=900) as memory:
        await distilled(memory, scope, settled, "a secret", "s1")
        await distilled(memory, scope, settled, "a fact", "s2")
        clock.advance(10)
        await settled(memory, scope)
        assert await memory.persona(scope) is not None

        await memory.delete_messages(scope, session_ids=["s1"])
        await settled(memory, scope)

        assert [scene.body for scene in await memory.scenes(scope)] == ["- a fact"]
        persona = await memory.persona(scope)
        assert persona is not None
        assert persona.body == "A person with 1 notes."
