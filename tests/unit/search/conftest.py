"""Rows as the store gives them, for tests that need no store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memstrata.records import MemoryRecord, Message
from memstrata.search.leg import LegHit
from memstrata.text.analyser import index_terms


@pytest.fixture
def said() -> Callable[..., Message]:
    """Return a builder of messages: `said(7, "I moved", said_at=0)`."""

    def build(seq: int, content: str = "hello", said_at: int = 0) -> Message:
        return Message(seq, f"m{seq}", "s", "", "user", content, said_at, 0)

    return build


@pytest.fixture
def hit(said: Callable[..., Message]) -> Callable[..., LegHit[Message]]:
    """Return a builder of what a leg found: `hit(7, 0.5, "I moved")`; without a text it resembles no other."""

    def build(seq: int, score: float, content: str = "") -> LegHit[Message]:
        text = content or f"text{seq}"
        return LegHit(said(seq, text), score, lambda: index_terms(text))

    return build


@pytest.fixture
def remembered() -> Callable[..., MemoryRecord]:
    """Return a builder of memories: `remembered(priority=90, updated_at=0)`."""

    def build(**given: Any) -> MemoryRecord:
        usual: dict[str, Any] = {
            "seq": 1,
            "memory_id": "m_1",
            "version": 0,
            "content": "lives in Lisbon",
            "type": "episodic",
            "priority": 75,
            "scene_name": "",
            "applies_to": "always",
            "slot": "",
            "session_id": "s",
            "task_id": "",
            "origin": "model",
            "happened_from": None,
            "happened_to": None,
            "metadata": {},
            "created_at": 0,
            "updated_at": 0,
            "valid_to": None,
            "superseded_by": None,
        }
        return MemoryRecord(**{**usual, **given})

    return build
