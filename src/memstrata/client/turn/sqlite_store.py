"""A watermark store in one SQLite file, shared by all processes of a machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memstrata.client.turn.store import InThread

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SqliteWatermarkStore"]

BUSY_SECONDS = 0.8
_TABLE = """
CREATE TABLE IF NOT EXISTS turn_capture (key TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at REAL) WITHOUT ROWID
"""
_GET = "SELECT value FROM turn_capture WHERE key = ? AND (expires_at IS NULL OR expires_at > ?)"
_PUT = "INSERT OR REPLACE INTO turn_capture (key, value, expires_at) VALUES (?, ?, ?)"
_EXPIRE = "DELETE FROM turn_capture WHERE expires_at <= ?"
_DELETE = "DELETE FROM turn_capture WHERE key = ?"
_KEYS = """
SELECT key FROM turn_capture WHERE key >= ? AND key < ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY key
"""
_PAST_ASCII = "\x7f"


class SqliteWatermarkStore(InThread):
    """Texts in a file that needs no server. It may be on a local disk only, as SQLite's locks require."""

    def __init__(self, path: str | Path, now: Callable[[], float] = time.time) -> None:
        """The file is made when it is first used. `now` gives seconds since 1970."""
        super().__init__(_File(Path(path), now))


class _File:
    """One connection for each call: safe in every thread, and after a fork."""

    def __init__(self, path: Path, now: Callable[[], float]) -> None:
        self._path = path
        self._now = now

    def get(self, key: str) -> str | None:
        with self._connected() as db:
            row = db.execute(_GET, (key, self._now())).fetchone()
        return None if row is None else str(row[0])

    def put(self, key: str, value: str, ttl_seconds: int | None) -> None:
        now = self._now()
        with self._connected() as db, db:
            db.execute(_EXPIRE, (now,))
            db.execute(_PUT, (key, value, None if ttl_seconds is None else now + ttl_seconds))

    def delete(self, key: str) -> None:
        with self._connected() as db, db:
            db.execute(_DELETE, (key,))

    def keys(self, prefix: str) -> Sequence[str]:
        with self._connected() as db:
            return [str(row[0]) for row in db.execute(_KEYS, (prefix, prefix + _PAST_ASCII, self._now()))]

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        import sqlite3  # not every Python has it, and few programs need it here

        with closing(sqlite3.connect(self._path, timeout=BUSY_SECONDS)) as db:
            # Changing the mode waits for nobody. Who finds the file locked leaves it: another process is making it, and
            # the mode lasts in the file; until then a rollback journal is as safe.
            if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                with suppress(sqlite3.OperationalError):
                    db.execute("PRAGMA journal_mode=WAL")
            db.execute(_TABLE)
            yield db
