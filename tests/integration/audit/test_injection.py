"""What goes into a prompt is noted, row by row and version by version, behind the answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from memstrata.audit import trail as trails
from memstrata.errors import Unavailable
from memstrata.ids import document_id
from memstrata.memory import Memory, MessageInput
from memstrata.records import PERSONA_PATH, Scope
from memstrata.records.audit import GATEWAY, AuditFilter, AuditRow, mark
from memstrata.settings import PipelineSettings, RecallSettings, Settings
from memstrata.store.audit import acting
from memstrata.testing import FakeClock

Open = Callable[..., AbstractAsyncContextManager[Memory]]


async def injections(memory: Memory) -> tuple[AuditRow, ...]:
    return await memory.audit.page(AuditFilter("default", action="recall.inject"))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    pipeline = PipelineSettings(every_n=1, l2_delay_seconds=0.0)
    return Settings(data_dir=tmp_path, pipeline=pipeline, recall=RecallSettings(limit=5))


async def filled(memory: Memory, scope: Scope) -> None:
    for text in ("Lin drinks green tea every morning", "Lin keeps green tea leaves in a tin"):
        await memory.add(scope, "s", [MessageInput("user", text)])
        await memory.flush(scope)


async def test_what_was_rendered_gets_a_row_with_versions(open_memory: Open, settings: Settings, scope: Scope) -> None:
    async with open_memory(settings=settings) as memory:
        await filled(memory, scope)
        with acting(GATEWAY):
            recall = await memory.recall(scope, "green tea")
        await memory.audit.flush()
        (row,) = await injections(memory)
        scene, persona = recall.scenes[0], recall.persona

    assert persona is not None
    assert len(recall.hits) == 2
    assert row.entry.actor == "gateway"
    profile = ("default", "home", "assistant", "")
    marks = [mark("default", document_id(*profile, kind, path)) for kind, path in (
        ("scene", scene.path), ("persona", PERSONA_PATH),
    )]  # fmt: skip
    told = json.loads(row.entry.subject)
    assert set(told.pop("memory")) == {f"{hit.item.memory_id}@{hit.item.version}" for hit in recall.hits}
    assert told == {"scene": [f"{marks[0]}@{scene.version}"], "persona": [f"{marks[1]}@{persona.version}"]}


async def test_what_was_found_and_not_rendered_is_not_noted(
    open_memory: Open, settings: Settings, scope: Scope
) -> None:
    async with open_memory(settings=settings) as memory:
        await filled(memory, scope)
        recall = await memory.recall(scope, "green tea", include=["memories"], max_tokens=75)
        shown = [line for line in recall.prepend_context.splitlines() if line.startswith("- [")]
        await memory.audit.flush()
        (row,) = await injections(memory)
    assert len(recall.hits) == 2
    assert len(json.loads(row.entry.subject)["memory"]) == len(shown) == 1


async def test_an_empty_recall_leaves_no_row(open_memory: Open, settings: Settings, scope: Scope) -> None:
    async with open_memory(settings=settings) as memory:
        await memory.recall(scope, "green tea")
        await memory.audit.flush()
        assert await injections(memory) == ()


async def test_a_recall_does_not_wait_for_its_row(
    open_memory: Open, settings: Settings, scope: Scope, clock: FakeClock, eventually: Callable[..., Awaitable[None]]
) -> None:
    async with open_memory(settings=settings) as memory:
        await filled(memory, scope)
        await memory.recall(scope, "green tea")
        assert await injections(memory) == ()

        async def is_there() -> bool:
            return len(await injections(memory)) == 1

        clock.advance(1.0)
        await eventually(is_there)


async def test_rows_that_wait_are_written_at_the_end(open_memory: Open, settings: Settings, scope: Scope) -> None:
    async with open_memory(settings=settings) as memory:
        await filled(memory, scope)
        await asyncio.gather(*(memory.recall(scope, "green tea") for _ in range(20)))
    async with open_memory(settings=settings) as memory:
        assert len(await injections(memory)) == 20
        assert (await memory.audit.verify()).head == "same"


async def test_rows_that_are_lost_are_counted_in_health_and_in_the_trail(
    open_memory: Open, settings: Settings, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trails, "_MOST_WAITING", 3)
    async with open_memory(settings=settings) as memory:
        await filled(memory, scope)
        for _ in range(5):
            await memory.recall(scope, "green tea")
        details = (await memory.health()).components["audit"].details
        await memory.audit.flush()
        (lost,) = await memory.audit.page(AuditFilter("", action="recall.lost"))
        assert (details["waiting"], details["lost"]) == (3, 2)
        assert json.loads(lost.entry.subject) == {"rows": 2}
        assert len(await injections(memory)) == 3


async def test_a_store_that_cannot_write_costs_no_row_once_it_can(
    open_memory: Open, settings: Settings, scope: Scope
) -> None:
    async with open_memory(settings=settings) as memory:
        await filled(memory, scope)
        await memory.recall(scope, "green tea")
        whole: Any = memory.audit._store

        class Full:
            """A store whose disk is full."""

            read = whole.read

            async def write(self, _: object) -> None:
                raise Unavailable("the disk is full")

        memory.audit._store = Full()  # type: ignore[assignment]
        await memory.audit.flush()
        part = (await memory.health()).components["audit"]
        memory.audit._store = whole
        await memory.audit.flush()

        assert (part.state, part.details["failures"], part.details["waiting"]) == ("reduced", 1, 1)
        assert "disk is full" in part.reason
        assert len(await injections(memory)) == 1
        assert (await memory.health()).components["audit"].state == "ok"
