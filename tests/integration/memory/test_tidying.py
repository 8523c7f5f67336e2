"""What the writer does while nobody writes: searches get faster, later writers wait for less, and nothing else changes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import apsw
import pytest

from memstrata.records import NewMemory, Scope
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import MemoryFilter
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.store import SqliteStore
from memstrata.store.sqlite.writer import Writer

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
Build = Callable[..., NewMemory]

# The number of a segment stands in the upper bits of the numbers of its pages (sqlite3.c, fts5_index: FTS5_SEGMENT_ROWID).
SEGMENTS = "SELECT count(DISTINCT id >> 37) FROM memory_terms_data WHERE id > 10"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path)
    yield opened
    await opened.close()


def _add(scope: Scope, memory: NewMemory, r: Repositories) -> None:
    r.memories.add(scope, scope.profile("agent"), memory)


async def test_segments_of_single_commits_are_joined_and_every_row_is_still_found(
    store: SqliteStore, scope: Scope, new_memory: Build, eventually: Eventually
) -> None:
    contents = ["Lin keeps bees", "Lin sold the bees", "bees need heather"]
    for content in contents:
        await store.write(partial(_add, scope, new_memory(content)))

    with closing(apsw.Connection(str(store.file), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        await eventually(lambda: query(connection, SEGMENTS) == [(1,)])

    found = await store.read(lambda r: r.memories.match(scope, ["bee"], MemoryFilter(), 10))
    assert sorted(row.content for row, _ in found) == sorted(contents)


async def test_the_log_is_written_back_while_nobody_writes(
    store: SqliteStore, scope: Scope, new_memory: Build, eventually: Eventually
) -> None:
    before = store.file.stat().st_size
    await store.write(partial(_add, scope, new_memory("bees " * 100_000)))
    await eventually(lambda: store.file.stat().st_size > before + 400_000)


class Untidy:
    """Repositories that cannot tidy."""

    def __init__(self) -> None:
        self.tried = 0

    def rolled_back(self) -> None:
        pass

    def tidy(self) -> bool:
        self.tried += 1
        raise apsw.FullError("database or disk is full")


async def test_a_writer_that_cannot_tidy_says_so_and_goes_on_writing(
    eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    repositories = Untidy()
    writer = Writer(lambda: (apsw.Connection(":memory:"), repositories))  # type: ignore[arg-type, return-value]
    writer.start()
    try:
        await eventually(lambda: "not tidied" in caplog.text)
        assert await writer.write(lambda _: "written") == "written"
        assert (repositories.tried, writer.health().state) == (1, "ok")
    finally:
        await writer.close()
