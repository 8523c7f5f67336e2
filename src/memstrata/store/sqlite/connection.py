"""How a connection to the database file is set up; one writes, several read."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

__all__ = ["open_reader", "open_writer", "query", "time_limit"]

# No memory mapping: each connection's map of the file would count as resident memory of its own.
_COMMON = ("PRAGMA foreign_keys = ON", "PRAGMA temp_store = MEMORY", "PRAGMA mmap_size = 0")
# Secure: what is deleted is overwritten, also inside of pages that are rewritten. From the first row on, or it holds for
# later ones alone. FULL: a commit that was acknowledged survives a power cut. Group commit is what makes it affordable.
_WRITER = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA wal_autocheckpoint = 8000",  # the writer does it earlier when nobody writes
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA cache_size = -32768",
)
_READER = ("PRAGMA query_only = ON", "PRAGMA cache_size = -4096")
_BUSY_MILLISECONDS = 5_000
_STEPS_BETWEEN_LOOKS = 20_000


def open_writer(file: Path) -> apsw.Connection:
    """Open the connection that writes; creates the file."""
    connection = apsw.Connection(str(file))
    _prepare(connection, _COMMON + _WRITER)
    return connection


def open_reader(file: Path) -> apsw.Connection:
    """Open a connection that can only read."""
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)
    _prepare(connection, _COMMON + _READER)
    return connection


def query(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return all rows of one statement. Columns are as the schema says; apsw cannot know their types."""
    return connection.execute(sql, tuple(values)).fetchall()


def _prepare(connection: apsw.Connection, pragmas: tuple[str, ...]) -> None:
    connection.set_busy_timeout(_BUSY_MILLISECONDS)
    for pragma in pragmas:
        # One statement a call, fetched to its end: apsw stops a multi-statement execute at the first row.
        query(connection, pragma)


@contextmanager
def time_limit(connection: apsw.Connection, seconds: float) -> Iterator[None]:
    """Interrupt statements of the block that are still running after `seconds`."""
    deadline = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_LOOKS)
    try:
        yield
    finally:
        connection.set_progress_handler(None)
