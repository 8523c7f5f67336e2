"""Whatever happened to a memory, its export imported elsewhere is the same memory: same file, same answers, no new work."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstrata.errors import Conflict, NotFound
from memstrata.memory import Memory, MessageInput, Scope
from memstrata.records import ProfileScope
from memstrata.records.archive import ArchiveSelection
from memstrata.records.forgetting import Forgetting
from memstrata.settings import PipelineSettings, Settings
from memstrata.testing import EchoDistiller, FakeClock

Step = tuple[str, Scope, str]
INSTANCE = "default"
LIN, WEI = (Scope(INSTANCE, "home", "assistant", user) for user in ("lin", "伟"))
TEXTS = (
    "I live in Lisbon",
    "我不吃花生",
    "my sister plays the cello",
    "line\u2028break \U0001f375 \x00",
    "以后都用中文",
)
SELECTIONS = (
    ArchiveSelection(INSTANCE),
    ArchiveSelection(INSTANCE, user="lin"),
    ArchiveSelection(INSTANCE, "home", "assistant", "lin"),
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("add", "add", "add", "flush", "correct", "undo", "delete", "forget", "scene", "tick")),
        st.sampled_from((LIN, WEI)),
        st.sampled_from(TEXTS),
    ),
    min_size=1,
    max_size=14,
)


async def flushed(memory: Memory, clock: FakeClock, scope: Scope) -> None:
    """Distill while time passes: a step that was disturbed is tried again after a while."""
    flushing = asyncio.create_task(memory.flush(scope))
    while not flushing.done():
        clock.advance(1)
        await asyncio.wait([flushing], timeout=0.005)
    await flushing


async def perform(memory: Memory, clock: FakeClock, verb: str, scope: Scope, text: str) -> None:
    known = [one.memory_id for one in (await memory.memories(scope)).items]
    match verb:
        case "add":
            await memory.add(scope, f"session {len(text) % 2}", [MessageInput("user", text)], task_id="t")
        case "flush":
            await flushed(memory, clock, scope)
        case "scene":
            for scene in (await memory.scenes(scope))[:1]:
                await memory.write_scene(scope, scene.path, text)
        case "forget":
            await memory.forget(Forgetting(INSTANCE, "home", "assistant", scope.user, session_ids=("session 1",)))
        case "tick":
            clock.advance(1_234)
        case _ if not known:
            return
        case "correct":
            await memory.update_memory(scope, known[0], f"{text}!")
        case "undo":
            try:
                await memory.undo(scope, known[-1])
            except (Conflict, NotFound):
                return
        case "delete":
            await memory.delete_memories(scope, [known[0]])


def opened(
    folder: str, clock: FakeClock, profile_scope: ProfileScope, *, distills: bool = False
) -> AbstractAsyncContextManager[Memory]:
    pipeline = PipelineSettings(
        enabled=distills, profile_scope=profile_scope, l2_delay_seconds=0.0, l2_min_interval_seconds=0.0
    )
    return Memory.open(
        settings=Settings(data_dir=Path(folder), pipeline=pipeline), distiller=EchoDistiller(), clock=clock
    )


async def exported(memory: Memory, selection: ArchiveSelection) -> bytes:
    return b"".join([block async for block in memory.archives.export(selection)])


async def chunked(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 1_000):
        yield data[start : start + 1_000]


def body(export: bytes) -> list[bytes]:
    return export.split(b"\n")[1:]


async def answers(memory: Memory, scope: Scope) -> list[object]:
    page = await memory.memories(scope)
    found = await memory.recall(scope, "Lisbon 花生 cello")
    waiting = [(layer.pending, layer.parked) for layer in (await memory.status(scope)).layers.values()]
    told: list[object] = [page, found.prepend_context, found.append_system_context, waiting]
    for one in page.items:
        told += [await memory.history(scope, one.memory_id), await memory.trace(scope, one.memory_id)]
    return told


async def check(steps: list[Step], last: list[str], profile_scope: ProfileScope) -> None:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as root:
        clock = FakeClock()
        async with opened(first, clock, profile_scope, distills=True) as memory:
            for step in steps:
                await perform(memory, clock, *step)
        # What is said now waits: nothing distills it, here or in the copies.
        async with opened(first, clock, profile_scope) as memory:
            for text in last:
                await perform(memory, clock, "add", LIN, text)
            exports = [await exported(memory, selection) for selection in SELECTIONS]
            before = [await answers(memory, scope) for scope in (LIN, WEI)]
        for number, (selection, export) in enumerate(zip(SELECTIONS, exports, strict=True)):
            async with opened(f"{root}/{number}", clock, profile_scope) as copy:
                foreseen = await copy.archives.import_lines(chunked(export), INSTANCE, dry_run=True)
                report = await copy.archives.import_lines(chunked(export), INSTANCE)
                assert report.problems == ()
                assert foreseen.counts == report.counts
                assert body(await exported(copy, selection)) == body(export)
                again = await copy.archives.import_lines(chunked(export), INSTANCE)
                assert (again.total("added"), again.total("conflict")) == (0, 0)
                assert body(await exported(copy, selection)) == body(export)
                if number == 0:
                    assert [await answers(copy, scope) for scope in (LIN, WEI)] == before


@given(STEPS, st.lists(st.sampled_from(TEXTS), max_size=2), st.sampled_from(("agent", "agent_user")))
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
def test_an_export_imported_into_an_empty_folder_is_exported_byte_for_byte(
    steps: list[Step], last: list[str], profile_scope: ProfileScope
) -> None:
    asyncio.run(check(steps, last, profile_scope))


def test_the_export_of_a_user_names_nobody_else() -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            clock = FakeClock()
            async with opened(folder, clock, "agent", distills=True) as memory:
                for scope, text in ((LIN, "I live in Lisbon"), (WEI, "a secret of his")):
                    await perform(memory, clock, "add", scope, text)
                    await flushed(memory, clock, scope)
                export = await exported(memory, SELECTIONS[1])
        assert b"Lisbon" in export
        assert "伟".encode() not in export
        assert b"secret" not in export
        assert {json.loads(line)["kind"] for line in body(export) if line} == {
            "session",
            "message",
            "memory",
            "run",
            "end",
        }

    asyncio.run(run())
