"""Of every table, an export has every column, or it says here why not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import apsw
import pytest

from memstrata.memory import Memory
from memstrata.records import archive
from memstrata.records.archive import ArchiveSelection
from memstrata.settings import Settings
from memstrata.store.sqlite.archive.tables import TABLES
from memstrata.store.sqlite.store import DATABASE_NAME, SqliteStore

OpenMemory = Callable[..., AbstractAsyncContextManager[Memory]]

LAYERS = {
    "profiles": archive.ProfileLine,
    "sessions": archive.SessionLine,
    "messages": archive.MessageLine,
    "memories": archive.MemoryLine,
    "documents": archive.DocumentLine,
    "tombstones": archive.TombstoneLine,
    "runs": archive.RunLine,
    "run_outputs": archive.OutputPart,
}
# Under another name, or derived from it.
ELSEWHERE = {
    "profiles": {"id", "instance", "portrayed_memory", "portrayed_document"},  # `portrayed` of the rows
    "sessions": {"id", "scope_id", "cursor", "rules_from"},  # `distilled` and `by_rules` of the messages
    "messages": {"scope_id", "session_key", "message_id"},
    "memories": {"scope_id", "profile_id", "memory_id", "content_hash", "superseded_by"},  # `supersedes`
    "documents": {"profile_id", "kind"},
    "tombstones": {"scope_id"},
    "runs": {"kind", "target"},
    "run_outputs": {"run_id"},
}
INSIDE = {"scopes", "memory_sources", "document_sources", "parked", "spent_messages"}  # of other lines
# Derived again, of this database alone, or soon over.
LEFT_OUT = {
    "vector_models", "memory_vectors", "message_vectors", "jobs", "receipts", "audit",
    "mirror_positions", "mirror_files", "mirror_stale", "sqlite_sequence", "asset_counts",
    "proxy_sessions", "proxy_defaults", "proxy_snapshots", "proxy_ledger", "proxy_turns", "proxy_usage", "proxy_rates",
}  # fmt: skip


def kind_of(line: Any) -> str:
    return str(line.__struct_config__.tag)


async def columns(folder: Path) -> dict[str, set[str]]:
    await (await SqliteStore.open(folder)).close()
    database = apsw.Connection(str(folder / DATABASE_NAME))
    try:
        names = [
            str(name)
            for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
            if not str(name).startswith(("message_terms", "memory_terms", "message_vocabulary", "memory_vocabulary"))
        ]
        return {
            name: {str(row[1]) for row in database.execute(f"PRAGMA table_info({name})").fetchall()} for name in names
        }
    finally:
        database.close()


async def test_no_column_is_left_out_of_an_export_unnoticed(tmp_path: Path) -> None:
    found = await columns(tmp_path)
    copied = {table.name: set(table.columns) for table in TABLES.values()}
    assert set(found) - LEFT_OUT - INSIDE - set(LAYERS) == set(copied)
    for name, fields in copied.items():
        assert found[name] - fields - {"id"} == {"instance"}, name
    for name, line in LAYERS.items():
        assert found[name] - set(line.__struct_fields__) <= ELSEWHERE[name], name


def value_of(hint: Any, column: str, row: int) -> object:
    """Return something that fits a field, and differs from row to row."""
    if get_origin(hint) is Literal:
        return get_args(hint)[0]
    match next((one for one in (str, int, bytes, float) if one in (hint, *get_args(hint))), str).__name__:
        case "int":
            return row
        case "float":
            return row / 4
        case "bytes":
            return f"{column}{row}".encode()
        case _:
            return f"{column} {row} 值"


async def one_row_in_each(memory: Memory) -> None:
    def work(repositories: Any) -> None:
        for table in TABLES.values():
            hints = get_type_hints(table.line)
            for row in (0, 1):
                values = [value_of(hints[column], column, row) for column in table.columns]
                repositories.archive._db.execute(table.insert, ("default", *values))
        # Or the open memory completes them, sooner or later.
        repositories.archive._db.execute("UPDATE forgettings SET complete = 1")

    await memory._store.write(work)


async def chunks(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def exported(memory: Memory) -> bytes:
    return b"".join([block async for block in memory.archives.export(ArchiveSelection("default"))])


async def test_every_table_comes_back_as_it_was(open_memory: OpenMemory, tmp_path: Path) -> None:
    async with open_memory() as memory:
        await one_row_in_each(memory)
        export = await exported(memory)
    async with open_memory(settings=Settings(data_dir=tmp_path / "copy")) as copy:
        report = await copy.archives.import_lines(chunks(export), "default")
        assert report.counts == {kind_of(line): {"added": 2} for line in TABLES}
        assert (await exported(copy)).split(b"\n")[1:] == export.split(b"\n")[1:]


# A row of the others has no name but all that it is.
NAMED = [line for line, table in TABLES.items() if table.key != table.columns]


@pytest.mark.parametrize("line", NAMED, ids=lambda line: kind_of(line))
async def test_a_row_that_is_another_one_here_stays(line: type, open_memory: OpenMemory, tmp_path: Path) -> None:
    table = TABLES[line]
    changed = next(column for column in reversed(table.columns) if column not in (*table.key, *table.moving))
    async with open_memory() as memory:
        await one_row_in_each(memory)
        export = await exported(memory)

        def work(repositories: Any) -> None:
            value = value_of(get_type_hints(line)[changed], changed, 1)
            repositories.archive._db.execute(f"UPDATE {table.name} SET {changed} = ?", (value,))

        await memory._store.write(work)
        before = await exported(memory)
        report = await memory.archives.import_lines(chunks(export), "default")
        assert report.total("added") == 0
        assert report.counts[kind_of(line)]["conflict"] >= 1
        assert (await exported(memory)).split(b"\n")[1:] == before.split(b"\n")[1:]


async def test_what_changed_by_use_alone_is_the_same_row(open_memory: OpenMemory) -> None:
    async with open_memory() as memory:
        await one_row_in_each(memory)
        export = await exported(memory)

        def use(repositories: Any) -> None:
            repositories.archive._db.execute("UPDATE user_keys SET last_used_at = 9")
            repositories.archive._db.execute("UPDATE assets SET last_used_at = 9, usage_count = 9")

        await memory._store.write(use)
        report = await memory.archives.import_lines(chunks(export), "default")
        assert (report.total("added"), report.total("conflict")) == (0, 0)
