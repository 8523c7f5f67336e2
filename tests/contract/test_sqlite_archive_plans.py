"""An export walks each table once, in its order; an import looks every line up by an index."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from memstrata.store.sqlite.archive import documents, memories, messages, reader, runs, writer
from memstrata.store.sqlite.archive.tables import TABLES
from memstrata.store.sqlite.store import DATABASE_NAME, SqliteStore

WALKED = {"_MESSAGE_LINES": "m", "_MEMORY_LINES": "m", "_DOCUMENT_LINES": "d", "_RUN_LINES": "r"}
LOOK_UPS = {
    f"{module.__name__.rpartition('.')[2]}{name}": sql
    for module in (documents, memories, messages, runs, writer)
    for name, sql in vars(module).items()
    if name.isupper() and isinstance(sql, str) and ("SELECT" in sql or "UPDATE" in sql)
}


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[apsw.Connection]:
    await (await SqliteStore.open(tmp_path)).close()
    connection = apsw.Connection(str(tmp_path / DATABASE_NAME))
    yield connection
    connection.close()


def plan(database: apsw.Connection, sql: str) -> list[str]:
    highest = max([int(part) for part in re.findall(r"\?(\d+)", sql)], default=0)
    values = (None,) * (highest or sql.count("?"))
    return [str(row[3]) for row in database.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()]


@pytest.mark.parametrize(("name", "alias"), WALKED.items())
async def test_the_rows_of_an_export_are_neither_sorted_nor_walked_again(
    name: str, alias: str, database: apsw.Connection
) -> None:
    steps = plan(database, getattr(reader, name))
    # Lists inside a line are short and may be sorted; the walk itself comes first and is in the order of the file.
    assert steps[0] == f"SCAN {alias}"
    walks = [step for step in steps if step.startswith("SCAN") and "VIRTUAL TABLE" not in step and "USING" not in step]
    assert {step for step in walks if not step.startswith("SCAN (subquery")} == {f"SCAN {alias}"}
    assert "USE TEMP B-TREE FOR ORDER BY" not in steps


@pytest.mark.parametrize("name", LOOK_UPS)
async def test_a_line_is_looked_up_by_an_index(name: str, database: apsw.Connection) -> None:
    steps = plan(database, LOOK_UPS[name])
    assert not [step for step in steps if step.startswith("SCAN") and "sqlite_sequence" not in step], steps


@pytest.mark.parametrize("line", TABLES, ids=lambda line: line.__name__)
async def test_a_row_of_a_table_is_looked_up_by_an_index(line: type, database: apsw.Connection) -> None:
    table = TABLES[line]
    for columns in (table.key, *table.rivals):
        steps = plan(database, table.find(columns))
        assert all(step.startswith("SEARCH") for step in steps), steps
