"""The backends that pass these tests. A new one is one more entry here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest

from memstrata.store.protocol import Store
from memstrata.store.sqlite.store import DATABASE_NAME, SqliteStore

BACKENDS: Mapping[str, Callable[[Path], Awaitable[Store]]] = {"sqlite": SqliteStore.open}


@pytest.fixture(params=sorted(BACKENDS))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened = await BACKENDS[request.param](tmp_path)
    yield opened
    await opened.close()


Plans = Mapping[str, list[str]]


@pytest.fixture
async def plans_of(tmp_path: Path) -> Callable[[Callable[[apsw.Connection], object]], Plans]:
    """Return a way to see the plan of every statement that a piece of work gives to SQLite."""
    await (await SqliteStore.open(tmp_path)).close()

    def plans(work: Callable[[apsw.Connection], object]) -> Plans:
        statements: dict[str, Any] = {}
        connection = apsw.Connection(str(tmp_path / DATABASE_NAME))

        def keep(_: apsw.Cursor, sql: str, values: Any) -> bool:
            statements[sql] = values
            return True

        connection.exec_trace = keep
        work(connection)
        connection.exec_trace = None
        found = {
            sql: [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
            for sql, values in statements.items()
        }
        connection.close()
        return found

    return plans
