"""The backends that pass these tests. A new one is one more entry here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from memstrata.store.protocol import Store
from memstrata.store.sqlite.store import SqliteStore

BACKENDS: Mapping[str, Callable[[Path], Awaitable[Store]]] = {"sqlite": SqliteStore.open}


@pytest.fixture(params=sorted(BACKENDS))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened = await BACKENDS[request.param](tmp_path)
    yield opened
    await opened.close()
