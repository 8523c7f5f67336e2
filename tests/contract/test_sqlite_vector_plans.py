"""What is counted and looked for among vectors is told by indexes: the table itself is as large as all vectors together."""

from __future__ import annotations

import re

import apsw
import pytest

from memstrata.store.shapes import VectorKind
from memstrata.store.sqlite import vectors
from memstrata.store.sqlite.store import SqliteStore


def plan(store: SqliteStore, sql: str) -> list[str]:
    connection = apsw.Connection(str(store.file), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        bindings = (1,) * len(set(re.findall(r"\?\d?", sql)))
        return [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)]
    finally:
        connection.close()


@pytest.mark.parametrize("kind", ["memories", "messages"])
async def test_no_vector_is_read_to_count_them_or_to_find_what_lacks_one(store: SqliteStore, kind: VectorKind) -> None:
    table = vectors._TABLES[kind]
    stored = vectors._STORED.format(table=table)
    for sql in (vectors._missing(kind), vectors._coverage(kind), f"SELECT count(*) {stored}", f"SELECT seq {stored}"):
        steps = [step for step in plan(store, sql) if table in step or re.search(r"\bv\b", step)]
        assert steps
        # The rows of refused texts are read: they are few, and hold no vector.
        assert all("USING COVERING INDEX" in step or f"INDEX {table}_refused" in step for step in steps), (sql, steps)
