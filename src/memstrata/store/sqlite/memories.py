"""L1 in SQLite: memories in versions, with what they cite."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import apsw

from memstrata.clock import Instant, day_of
from memstrata.records import MemoryRecord, Message, NewMemory, Profile, Scope
from memstrata.store.shapes import MemoryFilter
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.counts import KeptCounts, RowCount
from memstrata.store.sqlite.scopes import ScopeNumbers
from memstrata.store.sqlite.terms import TermIndex

__all__ = ["COLUMNS", "SqliteMemories", "content_hash", "memory_from_row", "memory_terms"]

COLUMNS = (
    "m.seq, m.memory_id, m.version, m.content, m.type, m.priority, m.scene_name, m.applies_to, m.slot, m.session_id,"
    " m.task_id, m.origin, m.happened_from, m.happened_to, m.metadata, m.created_at, m.updated_at, m.valid_to,"
    " m.superseded_by"
)
_ADD = """
INSERT INTO memories (scope_id, profile_id, memory_id, version, type, content, content_hash, priority, scene_name,
  applies_to, slot, session_id, task_id, origin, happened_from, happened_to, metadata, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADD_SOURCE = """
INSERT OR IGNORE INTO memory_sources (memory_seq, message_seq) SELECT ?, seq FROM messages WHERE seq = ? AND scope_id = ?
"""
_RETIRE = "UPDATE memories SET valid_to = ?, superseded_by = ? WHERE seq = ? AND scope_id = ? AND valid_to IS NULL"
_STALE_DAY = """
INSERT INTO mirror_stale (kind, instance, name) VALUES ('records', ?, ?) ON CONFLICT DO UPDATE SET marks = marks + 1
"""
_SELECT = f"SELECT {COLUMNS} FROM memories m WHERE m.scope_id = ?"
# `+` keeps the planner from walking the whole scope where single rows are asked for.
_LIVE = f"SELECT {COLUMNS} FROM memories m WHERE +m.scope_id = ? AND m.memory_id = ? AND m.valid_to IS NULL"
_LIVE_BY_SEQ = f"""
SELECT {COLUMNS} FROM memories m
WHERE +m.scope_id = ? AND m.seq IN (SELECT value FROM json_each(?)) AND m.valid_to IS NULL ORDER BY m.seq
"""
_BY_CONTENT = f"{_SELECT} AND m.content_hash = ? AND m.valid_to IS NULL ORDER BY m.seq LIMIT 1"
_BY_SLOT = f"{_SELECT} AND m.slot = ? AND m.slot <> '' AND m.valid_to IS NULL ORDER BY m.seq"
_REPLACED = f"""
WITH RECURSIVE chain (seq) AS (
  SELECT seq FROM memories WHERE superseded_by = ?2 UNION SELECT m.seq FROM memories m JOIN chain c ON m.superseded_by = c.seq
)
SELECT {COLUMNS} FROM chain c CROSS JOIN memories m ON m.seq = c.seq WHERE m.scope_id = ?1 ORDER BY m.seq DESC
"""
_CITING = f"""
SELECT DISTINCT {COLUMNS} FROM json_each(?2) j CROSS JOIN memory_sources c ON c.message_seq = j.value
CROSS JOIN memories m ON m.seq = c.memory_seq WHERE m.scope_id = ?1 AND m.valid_to IS NULL ORDER BY m.seq
"""
_VERSIONS = f"""
WITH RECURSIVE chain (seq) AS (
  SELECT seq FROM memories WHERE memory_id = ?2 AND +scope_id = ?1
  UNION SELECT m.seq FROM chain c CROSS JOIN memories m ON m.superseded_by = c.seq
)
SELECT {COLUMNS} FROM chain c CROSS JOIN memories m ON m.seq = c.seq WHERE m.scope_id = ?1 ORDER BY m.seq DESC
"""
_ELSEWHERE = """
SELECT s.agent FROM memories m JOIN scopes s ON s.id = m.scope_id
WHERE m.memory_id = ? AND m.valid_to IS NULL AND s.instance = ? AND s.team = ?
"""
_BURIED = "SELECT 1 FROM tombstones WHERE scope_id = ? AND content_hash = ? AND up_to >= ?"
_SPENT = """
SELECT s.message_seq FROM spent_messages s JOIN messages m ON m.seq = s.message_seq
WHERE s.message_seq IN (SELECT value FROM json_each(?)) AND +m.scope_id = ?
"""
_SOURCES = """
SELECT m.seq, m.message_id, s.session_id, m.task_id, m.role, m.content, m.said_at, m.recorded_at
FROM memory_sources c JOIN messages m ON m.seq = c.message_seq JOIN sessions s ON s.id = m.session_key
WHERE c.memory_seq = ? AND m.scope_id = ? ORDER BY m.seq
"""
_SIZE = "SELECT count(*) FROM memories WHERE scope_id = ? AND valid_to IS NULL"
_MATCH = f"""
SELECT {COLUMNS}, -f.rank FROM memory_terms f CROSS JOIN memories m ON m.seq = f.rowid
WHERE memory_terms MATCH ? AND {{where}} ORDER BY f.rank LIMIT ?
"""


def content_hash(content: str) -> bytes:
    """Return what two memories share when they say the same, spacing and case aside."""
    return hashlib.blake2b(
        " ".join(content.casefold().split()).encode("utf-8", "surrogatepass"), digest_size=16
    ).digest()


def memory_terms(connection: apsw.Connection, kept: KeptCounts) -> TermIndex:
    """Return the keyword index of live memories."""
    return TermIndex(connection, "memory_terms", "memory_vocabulary", kept)


def memory_from_row(row: Sequence[Any]) -> MemoryRecord:
    """Return the record of a row selected with COLUMNS."""
    metadata = row[14]
    return MemoryRecord(*(*row[:14], {} if metadata == "{}" else json.loads(metadata), *row[15:19]))


class SqliteMemories:
    """See `store.protocol.Memories`."""

    def __init__(self, connection: apsw.Connection, scopes: ScopeNumbers, kept: KeptCounts) -> None:
        self._db = connection
        self._scopes = scopes
        self._terms = memory_terms(connection, kept)
        self._sizes = RowCount(connection, _SIZE, kept)

    def add(self, scope: Scope, profile: Profile, memory: NewMemory) -> MemoryRecord:
        m = memory
        scope_id = self._scopes.ensure(scope)
        row = (
            *(scope_id, self._scopes.ensure(profile), m.memory_id, m.version, m.type, m.content),
            *(
                content_hash(m.content),
                m.priority,
                m.scene_name,
                m.applies_to,
                m.slot,
                m.session_id,
                m.task_id,
                m.origin,
            ),
            *(m.happened_from, m.happened_to, json.dumps(dict(m.metadata), ensure_ascii=False)),
            *(m.created_at, m.updated_at),
        )
        self._db.execute(_ADD, row)
        seq = self._db.last_insert_rowid()
        self._terms.add(scope_id, seq, m.terms)
        self.add_sources(scope, seq, m.source_seqs)
        return memory_from_row(query(self._db, f"{_SELECT} AND m.seq = ?", (scope_id, seq))[0])

    def retire(self, scope: Scope, seq: int, now: Instant, superseded_by: int | None) -> bool:
        self._db.execute(_RETIRE, (now, superseded_by, seq, self._scopes.find(scope)))
        retired = self._db.changes() == 1
        if retired:
            self._terms.remove(seq)
            self._db.execute("DELETE FROM memory_vectors WHERE seq = ?", (seq,))
            if superseded_by is None or superseded_by < seq:  # no later line of the mirror will tell of it
                updated_at = query(self._db, "SELECT updated_at FROM memories WHERE seq = ?", (seq,))[0][0]
                self._db.execute(_STALE_DAY, (scope.instance, day_of(updated_at)))
        return retired

    def add_sources(self, scope: Scope, seq: int, message_seqs: Collection[int]) -> None:
        scope_id = self._scopes.find(scope)
        for message_seq in message_seqs:
            self._db.execute(_ADD_SOURCE, (seq, message_seq, scope_id))

    def live(self, scope: Scope, memory_id: str) -> MemoryRecord | None:
        return self._first(_LIVE, self._scopes.find(scope), memory_id)

    def kept_elsewhere(self, scope: Scope, memory_id: str) -> Literal["user", "agent"] | None:
        rows = query(self._db, _ELSEWHERE, (memory_id, scope.instance, scope.team))
        if not rows:
            return None
        return "user" if rows[0][0] == scope.agent else "agent"

    def live_by_seq(self, scope: Scope, seqs: Collection[int]) -> tuple[MemoryRecord, ...]:
        return self._all(_LIVE_BY_SEQ, self._scopes.find(scope), json.dumps(list(seqs)))

    def by_content(self, scope: Scope, content: str) -> MemoryRecord | None:
        return self._first(_BY_CONTENT, self._scopes.find(scope), content_hash(content))

    def by_slot(self, scope: Scope, slot: str) -> tuple[MemoryRecord, ...]:
        return self._all(_BY_SLOT, self._scopes.find(scope), slot)

    def citing(self, scope: Scope, message_seqs: Collection[int]) -> tuple[MemoryRecord, ...]:
        return self._all(_CITING, self._scopes.find(scope), json.dumps(list(message_seqs)))

    def versions(self, scope: Scope, memory_id: str) -> tuple[MemoryRecord, ...]:
        return self._all(_VERSIONS, self._scopes.find(scope), memory_id)

    def buried(self, scope: Scope, content: str, newest_source: int) -> bool:
        values = (self._scopes.find(scope), content_hash(content), newest_source)
        return bool(query(self._db, _BURIED, values))

    def spent(self, scope: Scope, message_seqs: Collection[int]) -> frozenset[int]:
        values = (json.dumps(list(message_seqs)), self._scopes.find(scope))
        return frozenset(row[0] for row in query(self._db, _SPENT, values))

    def page(self, scope: Scope, where: MemoryFilter, limit: int, offset: int) -> tuple[MemoryRecord, ...]:
        clause, values = self._where(scope, where)
        sql = f"SELECT {COLUMNS} FROM memories m WHERE {clause} ORDER BY m.updated_at DESC, m.seq DESC LIMIT ? OFFSET ?"
        return self._all(sql, *values, limit, offset)

    def count(self, scope: Scope, where: MemoryFilter) -> int:
        clause, values = self._where(scope, where)
        return int(query(self._db, f"SELECT count(*) FROM memories m WHERE {clause}", values)[0][0])

    def chosen(self, scope: Scope, seqs: Collection[int], where: MemoryFilter) -> tuple[MemoryRecord, ...]:
        clause, values = self._where(scope, where)
        clause = clause.replace("m.scope_id", "+m.scope_id")  # single rows are asked for
        sql = f"SELECT {COLUMNS} FROM json_each(?) j CROSS JOIN memories m ON m.seq = j.value WHERE {clause}"
        return self._all(sql, json.dumps(list(seqs)), *values)

    def seqs(self, scope: Scope, where: MemoryFilter) -> tuple[int, ...]:
        clause, values = self._where(scope, where)
        return tuple(row[0] for row in query(self._db, f"SELECT m.seq FROM memories m WHERE {clause}", values))

    def sources(self, scope: Scope, seq: int) -> tuple[Message, ...]:
        return tuple(Message(*row) for row in query(self._db, _SOURCES, (seq, self._scopes.find(scope))))

    def replaced(self, scope: Scope, seq: int) -> tuple[MemoryRecord, ...]:
        return self._all(_REPLACED, self._scopes.find(scope), seq)

    def size(self, scope: Scope) -> int:
        return self._sizes.of(self._scopes.find(scope))

    def frequencies(self, scope: Scope, terms: Collection[str]) -> Mapping[str, int]:
        scope_id = self._scopes.find(scope)
        return self._terms.frequencies(scope_id, terms) if scope_id else {}

    def merge_terms(self) -> bool:
        return self._terms.merge_step()

    def match(
        self, scope: Scope, terms: Sequence[str], where: MemoryFilter, limit: int
    ) -> tuple[tuple[MemoryRecord, float], ...]:
        scope_id = self._scopes.find(scope)
        if scope_id is None or not terms:
            return ()
        clause, values = self._where(scope, where)
        sql = _MATCH.format(where=clause)
        rows = query(self._db, sql, (self._terms.expression(scope_id, terms), *values, limit))
        return tuple((memory_from_row(row), row[-1]) for row in rows)

    def _first(self, sql: str, *values: Any) -> MemoryRecord | None:
        found = self._all(sql, *values)
        return found[0] if found else None

    def _all(self, sql: str, *values: Any) -> tuple[MemoryRecord, ...]:
        return tuple(memory_from_row(row) for row in query(self._db, sql, values))

    def _where(self, scope: Scope, where: MemoryFilter) -> tuple[str, tuple[Any, ...]]:
        clauses: list[tuple[str, Any]] = [("m.scope_id = ?", self._scopes.find(scope))]
        if where.type is not None:
            clauses.append(("m.type = ?", where.type))
        if where.task_id is not None:
            clauses.append(("m.task_id = ?", where.task_id))
        if where.since is not None:
            clauses.append(("m.updated_at >= ?", where.since))
        if where.until is not None:
            clauses.append(("m.updated_at <= ?", where.until))
        return " AND ".join(["m.valid_to IS NULL", *(c for c, _ in clauses)]), tuple(v for _, v in clauses)
