"""The audit trail in its table. The end of the chain is kept in memory: a row costs one insertion and no reading."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from memstrata.errors import Misconfigured, NotFound
from memstrata.records.audit import GENESIS, AuditEntry, AuditFilter, AuditHead, AuditRow, chained, mark
from memstrata.store.sqlite.connection import open_reader, query
from memstrata.store.sqlite.errors import translated

__all__ = ["SqliteAudit", "opened_audit"]

_COLUMNS = "seq, at, instance, actor, action, owner, subject, hash"
_ADD = f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_LAST = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1"
_AFTER = f"SELECT {_COLUMNS} FROM audit WHERE seq > ? ORDER BY seq LIMIT ?"
_PAGE = f"""
SELECT {_COLUMNS} FROM audit WHERE instance = ?1 AND seq < ?2
  AND (?3 IS NULL OR action = ?3 OR (substr(?3, -1) = '.' AND substr(action, 1, length(?3)) = ?3))
  AND (?4 IS NULL OR instr(owner, ?4) > 0 OR instr(actor, ?4) > 0 OR instr(subject, ?4) > 0)
  AND at >= coalesce(?5, at) AND at <= coalesce(?6, at)
ORDER BY seq DESC LIMIT ?7
"""
_IS_THERE = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'audit'"
_NEWEST = 2**63 - 1


class SqliteAudit:
    """See `store.audit.Audit`. `forget_end` after a transaction that did not happen."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection
        self._end: AuditHead | None = None

    def append(self, entry: AuditEntry) -> None:
        end = self._end or self.head()
        seq = end.seq + 1
        digest = chained(end.hash, seq, entry)
        row = (seq, entry.at, entry.instance, entry.actor, entry.action, entry.owner, entry.subject, digest)
        self._db.execute(_ADD, row)
        self._end = AuditHead(seq, digest)

    def forget_end(self) -> None:
        self._end = None

    def head(self) -> AuditHead:
        rows = query(self._db, _LAST)
        return AuditHead(*rows[0]) if rows else AuditHead(0, GENESIS)

    def after(self, seq: int, limit: int) -> tuple[AuditRow, ...]:
        return tuple(_row(row) for row in query(self._db, _AFTER, (seq, limit)))

    def page(self, where: AuditFilter, before: int | None, limit: int) -> tuple[AuditRow, ...]:
        user = None if where.user is None else mark(where.instance, where.user)
        before = _NEWEST if before is None else before
        values = (where.instance, before, where.action, user, where.since, where.until, limit)
        return tuple(_row(row) for row in query(self._db, _PAGE, values))


def _row(row: tuple[Any, ...]) -> AuditRow:
    seq, at, instance, actor, action, owner, subject, digest = row
    return AuditRow(seq, AuditEntry(at, instance, actor, action, owner, subject), digest)


@contextmanager
def opened_audit(file: Path) -> Iterator[SqliteAudit]:
    """Read the trail of a database file, whoever has it open. Raises NotFound without one, Misconfigured, Unavailable."""
    if not file.exists():
        raise NotFound(f"there is no database {file}")
    with translated(f"read {file}"):
        connection = open_reader(file)
        try:
            if not query(connection, _IS_THERE):
                raise Misconfigured(
                    f"{file} was last used by a version without an audit trail; start this one on it once"
                )
            yield SqliteAudit(connection)
        finally:
            connection.close()
