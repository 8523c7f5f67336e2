"""A scripted model behind a real socket, and all roles of the distiller asking it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC
from functools import partial
from typing import Any

import pytest

from memstrata.distill.calls import CallSettings
from memstrata.distill.protocol import SceneView
from memstrata.llm import ModelChoice, Models, RoleModels, ToolCall
from memstrata.records import Document, MemoryRecord
from memstrata.testing.clock import FakeClock
from memstrata.testing.llm import ScriptedLLM

NOON = 1_770_811_200_000  # 2026-02-11T12:00:00Z


@pytest.fixture
async def model() -> AsyncIterator[ScriptedLLM]:
    async with ScriptedLLM() as server:
        yield server


@pytest.fixture
async def chat(model: ScriptedLLM, clock: FakeClock) -> AsyncIterator[Models]:
    choice = ModelChoice(model.base_url, "scripted", "sk-secret-1", "generic")
    async with Models(RoleModels.all(choice), clock) as models:
        yield models


@pytest.fixture
def memory_of(memory_of: Callable[..., MemoryRecord]) -> Callable[..., MemoryRecord]:
    """Return the builder of stored memories, with the day of these tests."""
    return partial(memory_of, created_at=NOON, updated_at=NOON)


@pytest.fixture
def view_of() -> Callable[..., SceneView]:
    """Return a builder of live scenes: `view_of("tea.md", "# Tea", memory, heat=3)`."""

    def build(path: str, body: str, *memories: MemoryRecord, **given: Any) -> SceneView:
        document = Document(1, "scene", path, 1, body, f"about {path}", 1, "model", NOON, NOON)
        return SceneView(replace(document, **given), memories)

    return build


@pytest.fixture
def call_settings() -> CallSettings:
    return CallSettings(UTC, max_tokens=1_000, timeout_seconds=20.0)


@pytest.fixture
def call_of() -> Callable[..., ToolCall]:
    """Return a builder of tool calls: `call_of("write", path="tea.md", content="…")`."""
    made = 0

    def build(name: str, **arguments: Any) -> ToolCall:
        nonlocal made
        made += 1
        return ToolCall(f"call_{made}", name, json.dumps(arguments, ensure_ascii=False))

    return build
