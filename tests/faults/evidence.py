"""What a data folder says when nobody has it open: problems of its database, and what its mirror files hold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.store import DATABASE_NAME

__all__ = ["database_problems", "mirrored_messages", "run_count"]

_MESSAGES = "SELECT seq FROM messages WHERE session_key = ? ORDER BY seq"
_RUNS = (
    "SELECT from_seq, to_seq FROM runs WHERE kind = 'l1' AND outcome IN ('items', 'nothing') AND target = ? ORDER BY id"
)


def database_problems(folder: Path) -> list[str]:
    """Return what contradicts itself in the database of a folder: pages, indexes, cursors, and who was distilled when."""
    connection = apsw.Connection(str(folder / DATABASE_NAME))
    try:
        return [*_damage(connection), *_index_gaps(connection), *_cursor_gaps(connection)]
    finally:
        connection.close()


def run_count(folder: Path) -> Counter[str]:
    """Return how many runs of each layer succeeded."""
    connection = apsw.Connection(str(folder / DATABASE_NAME))
    try:
        return Counter(kind for (kind,) in query(connection, "SELECT kind FROM runs WHERE outcome <> 'retry'"))
    finally:
        connection.close()


def mirrored_messages(folder: Path) -> Counter[tuple[str, str]]:
    """Return (message id, text) of every line of every conversation file, of all instances."""
    lines: Counter[tuple[str, str]] = Counter()
    for file in folder.rglob("conversations/*.jsonl"):
        lines.update((line["id"], line["content"]) for line in _lines(file))
    return lines


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as text:
        for line in text:
            yield json.loads(line)


def _damage(connection: apsw.Connection) -> Iterator[str]:
    for pragma in ("integrity_check", "foreign_key_check"):
        for row in query(connection, f"PRAGMA {pragma}"):
            if row != ("ok",):
                yield f"{pragma}: {row}"
    for table in ("message_terms", "memory_terms"):
        try:
            query(connection, f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
        except apsw.Error as error:
            yield f"{table}: {error}"


def _index_gaps(connection: apsw.Connection) -> Iterator[str]:
    for table, live in (("message", "messages"), ("memory", "memories WHERE valid_to IS NULL")):
        for one, other in ((f"{table}_terms", live), (live, f"{table}_terms")):
            columns = ["rowid" if name.endswith("_terms") else "seq" for name in (one, other)]
            sql = f"SELECT {columns[0]} FROM {one} EXCEPT SELECT {columns[1]} FROM {other}"
            if rows := query(connection, sql):
                yield f"in {one} but not in {other}: {rows[:5]}"


def _cursor_gaps(connection: apsw.Connection) -> Iterator[str]:
    """Successful runs of a session never overlap, go forward only, and cover all up to its cursor."""
    for key, cursor in query(connection, "SELECT id, cursor FROM sessions"):
        runs = query(connection, _RUNS, (key,))
        for (_, before), (start, end) in zip([(0, 0), *runs], runs, strict=False):
            if not before < start <= end:
                yield f"session {key}: a run of {start}–{end} after one up to {before}"
        for (seq,) in query(connection, _MESSAGES, (key,)):
            times = sum(start <= seq <= end for start, end in runs)
            if times != (seq <= cursor):
                yield f"session {key}: message {seq} was distilled {times} times, the cursor is {cursor}"
