"""Builders of the records that a distiller sees, with what a test does not care about filled in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from memstrata.clock import Instant
from memstrata.distill.protocol import MessageBatch, SceneRequest, SceneView
from memstrata.records import Document, MemoryDraft, MemoryRecord, Message, Profile, Role, Scope

SAID_AT: Instant = int(datetime(2026, 2, 11, 12, 14, tzinfo=UTC).timestamp() * 1000)  # a Wednesday

BatchOf = Callable[..., MessageBatch]
MemoryOf = Callable[..., MemoryRecord]
ViewOf = Callable[..., SceneView]


def _batch(
    *contents: str, role: Role = "user", background: tuple[str, ...] = (), previous_scene: str = ""
) -> MessageBatch:
    def message(seq: int, content: str) -> Message:
        return Message(seq, f"msg-{seq}", "s", "", role, content, SAID_AT, SAID_AT)

    before = tuple(message(seq, content) for seq, content in enumerate(background, 1))
    new = tuple(message(seq, content) for seq, content in enumerate(contents, len(before) + 1))
    return MessageBatch(Scope("i", "t", "a", "u"), "s", previous_scene, before, new)


def _view(path: str, *memories: MemoryRecord, **changes: Any) -> SceneView:
    document = Document(1, "scene", path, 1, "body", "summary", 1, "rules", SAID_AT, SAID_AT)
    return SceneView(replace(document, **changes), memories)


@pytest.fixture
def batch_of() -> BatchOf:
    """A batch of user messages with the given texts, seqs counted from 1 through background and messages."""
    return _batch


@pytest.fixture
def memory_of(memory_of: MemoryOf) -> MemoryOf:
    """Return the builder of stored memories, with the day and the distiller of these tests."""
    return partial(memory_of, priority=60, session_id="s", origin="rules", created_at=SAID_AT, updated_at=SAID_AT)


@pytest.fixture
def view_of() -> ViewOf:
    return _view


@pytest.fixture
def draft_of() -> Callable[..., MemoryDraft]:
    def draft(content: str = "The user likes tea", **changes: Any) -> MemoryDraft:
        return replace(MemoryDraft(content, "persona", 60, (1,)), **changes)

    return draft


@pytest.fixture
def request_of() -> Callable[..., SceneRequest]:
    def request(
        memories: tuple[MemoryRecord, ...] = (),
        scenes: tuple[SceneView, ...] = (),
        *,
        language: str = "en",
        max_scenes: int = 15,
    ) -> SceneRequest:
        return SceneRequest(Profile("i", "t", "a"), language, memories, scenes, max_scenes, SAID_AT)

    return request
