"""What most tests of the core start from: a scope, a clock that is moved, a predictable distiller, rows to store.

Builders are fixtures that return callables, so that a test names only what it is about.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings

from memstrata.memory import Memory
from memstrata.records import MemoryRecord, NewDocument, NewMemory, NewMessage, Scope
from memstrata.search import Finder, Meaning
from memstrata.settings import EmbeddingSettings, PipelineSettings, RecallSettings, Settings
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import EchoDistiller, FakeClock
from memstrata.text.analyser import index_terms

DEADLINE_SECONDS = 20.0  # far beyond what any condition needs; reached only by a test that fails
LOOK_AGAIN_SECONDS = 0.005
NOON = 1_767_614_400_000  # 2026-01-05T12:00:00Z

# The gate judges a change, so it tries the same examples each time. `--hypothesis-profile=searching` looks for new ones.
hypothesis_settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis_settings.register_profile("searching", max_examples=2_000, deadline=None, print_blob=True)
hypothesis_settings.load_profile("repeatable")


@pytest.fixture
def scope() -> Scope:
    return Scope("default", "home", "assistant", "lin")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def distiller() -> EchoDistiller:
    return EchoDistiller()


@pytest.fixture
def open_memory(
    tmp_path: Path, clock: FakeClock, distiller: EchoDistiller
) -> Callable[..., AbstractAsyncContextManager[Memory]]:
    """Return a way to open the test's own data folder: `async with open_memory(every_n=3) as memory`.

    Keywords are settings of the pipeline; `settings`, `distiller` and `clock` take the place of the test's own, and
    `embedder` is what vectors come from.
    """

    @asynccontextmanager
    async def opened(**given: Any) -> AsyncIterator[Memory]:
        own = {"distiller": given.pop("distiller", distiller), "clock": given.pop("clock", clock)}
        own["embedder"] = given.pop("embedder", None)
        settings = given.pop("settings", None) or Settings(data_dir=tmp_path, pipeline=PipelineSettings(**given))
        # A clock that stands still ends no wait: what never comes about must fail the test, not hold it up.
        async with asyncio.timeout(2 * DEADLINE_SECONDS), Memory.open(settings=settings, **own) as memory:
            async with asyncio.timeout(DEADLINE_SECONDS):
                yield memory

    return opened


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path)
    yield opened
    await opened.close()


@pytest.fixture
def finder_of(clock: FakeClock, tmp_path: Path) -> Callable[..., Finder]:
    """Return a builder of the search over a store, by words alone: `finder_of(store)`. Keywords are of RecallSettings."""

    def build(store: SqliteStore, **given: Any) -> Finder:
        meaning = Meaning(None, store, store.vector_rows, EmbeddingSettings(), clock, tmp_path)
        return Finder(store, clock, UTC, RecallSettings(**given), meaning)

    return build


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]:
    """Return a way to wait until a condition holds; a condition that never does fails the test."""

    async def wait(condition: Callable[[], bool | Awaitable[bool]]) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while True:
                holds = condition()
                if await holds if inspect.isawaitable(holds) else holds:
                    return
                await asyncio.sleep(LOOK_AGAIN_SECONDS)

    return wait


@pytest.fixture
def new_message() -> Callable[..., NewMessage]:
    """Return a builder of accepted messages: `new_message("I live in Lisbon", said_at=0)`."""
    made = 0

    def build(content: str = "hello", **given: Any) -> NewMessage:
        nonlocal made
        made += 1
        usual = {"message_id": f"msg-{made}", "role": "user", "said_at": NOON, "recorded_at": NOON}
        return NewMessage(**{**usual, "content": content, "terms": index_terms(content), **given})

    return build


@pytest.fixture
def new_memory() -> Callable[..., NewMemory]:
    """Return a builder of memory versions: `new_memory("lives in Lisbon", slot="residence", source_seqs=(1,))`."""
    made = 0

    def build(content: str = "lives in Lisbon", **given: Any) -> NewMemory:
        nonlocal made
        made += 1
        usual: dict[str, Any] = {
            "memory_id": f"m_{made}",
            "version": 0,
            "type": "episodic",
            "priority": 80,
            "scene_name": "",
            "applies_to": "always",
            "slot": "",
            "session_id": "s1",
            "task_id": "",
            "origin": "model",
            "happened_from": None,
            "happened_to": None,
            "metadata": {},
            "created_at": NOON,
            "updated_at": NOON,
            "source_seqs": (),
        }
        return NewMemory(**{**usual, "content": content, "terms": index_terms(content), **given})

    return build


@pytest.fixture
def memory_of() -> Callable[..., MemoryRecord]:
    """Return a builder of stored memories: `memory_of(11, "Lin drinks green tea", type="persona")`."""

    def build(seq: int, content: str, **given: Any) -> MemoryRecord:
        usual: dict[str, Any] = {
            "memory_id": f"m_{seq}",
            "version": 0,
            "type": "persona",
            "priority": 80,
            "scene_name": "",
            "applies_to": "always",
            "slot": "",
            "session_id": "s1",
            "task_id": "",
            "origin": "model",
            "happened_from": None,
            "happened_to": None,
            "metadata": {},
            "created_at": NOON,
            "updated_at": NOON,
            "valid_to": None,
            "superseded_by": None,
        }
        return MemoryRecord(seq=seq, content=content, **{**usual, **given})

    return build


@pytest.fixture
def new_document() -> Callable[..., NewDocument]:
    """Return a builder of scenes: `new_document("home.md", "text", memory_seqs=(1,))`."""

    def build(path: str = "home.md", body: str = "## Home", **given: Any) -> NewDocument:
        usual: dict[str, Any] = {
            "kind": "scene",
            "summary": "where Lin lives",
            "heat": 1,
            "origin": "model",
            "created_at": NOON,
            "updated_at": NOON,
            "memory_seqs": (),
        }
        return NewDocument(**{**usual, "path": path, "body": body, **given})

    return build
