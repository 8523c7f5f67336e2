"""L0 in SQLite: sessions, messages, receipts."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import apsw

from memstrata.clock import Instant
from memstrata.records import Message, Neighbours, NewMessage, Scope, SessionTarget
from memstrata.store.shapes import MessageFilter, SessionProgress, StoredReceipt
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.counts import KeptCounts, RowCount
from memstrata.store.sqlite.scopes import ScopeNumbers
from memstrata.store.sqlite.terms import TermIndex

__all__ = ["SqliteConversations", "message_terms"]

_COLUMNS = "m.seq, m.message_id, s.session_id, m.task_id, m.role, m.content, m.said_at, m.recorded_at"
_FROM = "messages m JOIN sessions s ON s.id = m.session_key"

_TOUCH_SESSION = """
INSERT INTO sessions (scope_id, session_id, last_message_at) VALUES (?, ?, ?)
ON CONFLICT (scope_id, session_id) DO UPDATE SET last_message_at = max(last_message_at, excluded.last_message_at)
RETURNING id
"""
_SESSION = "SELECT id FROM sessions WHERE scope_id = ? AND session_id = ?"
_ADD = """
INSERT INTO messages (scope_id, session_key, message_id, task_id, role, content, said_at, recorded_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_BY_ID = f"SELECT {_COLUMNS} FROM {_FROM} WHERE m.scope_id = ? AND m.message_id = ? AND m.session_key = ?"
_RECEIPT = "SELECT payload, message_ids FROM receipts WHERE session_key = ? AND idempotency_key = ?"
_KEEP_RECEIPT = """
INSERT INTO receipts (session_key, idempotency_key, payload, message_ids, created_at) VALUES (?, ?, ?, ?, ?)
"""
_PROGRESS = """
SELECT warmup, cursor, scene_name, last_message_at,
  (SELECT count(*) FROM (SELECT 1 FROM messages WHERE session_key = s.id AND seq > s.cursor AND role = 'user' LIMIT ?2)),
  (SELECT count(*) FROM (SELECT 1 FROM messages WHERE session_key = s.id AND seq > s.cursor LIMIT ?2)),
  (SELECT count(*) FROM (SELECT 1 FROM parked WHERE session_key = s.id AND revived = 1 LIMIT ?2))
FROM sessions s WHERE id = ?1
"""
_UNDISTILLED = f"""
SELECT {_COLUMNS} FROM {_FROM} WHERE m.session_key = ?1 AND m.seq > s.cursor ORDER BY m.seq LIMIT ?2
"""
_REVIVED = f"""
SELECT {_COLUMNS} FROM parked p CROSS JOIN {_FROM} WHERE p.session_key = ?1 AND p.revived = 1 AND m.seq = p.message_seq
ORDER BY m.seq LIMIT ?2
"""
_BEFORE = f"""
SELECT {_COLUMNS} FROM {_FROM} WHERE m.session_key = ?1 AND m.seq < ?2 ORDER BY m.seq DESC LIMIT ?3
"""
_ADVANCE = "UPDATE sessions SET cursor = max(cursor, ?), warmup = ?, scene_name = ? WHERE id = ?"
_PENDING = """
SELECT s.id, s.session_id FROM sessions s WHERE s.scope_id = ?1 AND (?2 IS NULL OR s.session_id = ?2)
  AND (EXISTS (SELECT 1 FROM messages m WHERE m.session_key = s.id AND m.seq > s.cursor)
    OR EXISTS (SELECT 1 FROM parked p WHERE p.session_key = s.id AND p.revived = 1))
"""
_PENDING_COUNT = """
SELECT (
  SELECT count(*) FROM sessions s JOIN messages m ON m.session_key = s.id AND m.seq > s.cursor
  WHERE s.scope_id = ?1 AND (?2 IS NULL OR s.session_id = ?2)
) + (
  SELECT count(*) FROM sessions s JOIN parked p ON p.session_key = s.id AND p.revived = 1
  WHERE s.scope_id = ?1 AND (?2 IS NULL OR s.session_id = ?2)
)
"""
_BY_RULES = "UPDATE sessions SET rules_from = coalesce(rules_from, ?) WHERE id = ?"
_FROM_RULES = "UPDATE sessions SET cursor = rules_from - 1, rules_from = NULL WHERE rules_from IS NOT NULL"
# What is distilled again anyway is not put aside as well.
_UNPARK_FROM_RULES = """
DELETE FROM parked WHERE message_seq IN (
  SELECT p.message_seq FROM sessions s CROSS JOIN parked p ON p.session_key = s.id AND p.message_seq >= s.rules_from
  WHERE s.rules_from IS NOT NULL
)
"""
_PARK = """
INSERT OR REPLACE INTO parked (message_seq, session_key, reason, parked_at)
SELECT seq, session_key, ?, ? FROM messages WHERE seq = ? AND +session_key = ?
"""
_PARKED_SESSIONS = """
SELECT DISTINCT s.id, s.session_id FROM sessions s JOIN parked p ON p.session_key = s.id WHERE s.scope_id = ?
"""
_REVIVE = "UPDATE parked SET revived = 1 WHERE session_key = ?"
_UNPARK = "DELETE FROM parked WHERE message_seq = ? AND session_key = ?"
_PARKED_COUNT = """
SELECT count(*) FROM sessions s JOIN parked p ON p.session_key = s.id AND p.revived = 0
WHERE s.scope_id = ?1 AND (?2 IS NULL OR s.session_id = ?2)
"""
_PARKED_REASON = """
SELECT p.reason FROM sessions s JOIN parked p ON p.session_key = s.id AND p.revived = 0
WHERE s.scope_id = ?1 AND (?2 IS NULL OR s.session_id = ?2) ORDER BY p.parked_at DESC, p.message_seq DESC LIMIT 1
"""
# `+` keeps the planner from walking the whole scope where single rows are asked for.
_BY_SEQ = f"""
SELECT {_COLUMNS} FROM {_FROM} WHERE +m.scope_id = ? AND m.seq IN (SELECT value FROM json_each(?)) ORDER BY m.seq
"""
_AROUND = f"""
SELECT {_COLUMNS} FROM messages h CROSS JOIN messages m ON m.session_key = h.session_key AND {{side}}
JOIN sessions s ON s.id = m.session_key WHERE +h.scope_id = ?1 AND h.seq = ?2 ORDER BY {{order}} LIMIT ?3
"""
_JUST_BEFORE = _AROUND.format(side="m.seq < h.seq", order="m.seq DESC")
_JUST_AFTER = _AROUND.format(side="m.seq > h.seq", order="m.seq")
_SIZE = "SELECT count(*) FROM messages WHERE scope_id = ?"
_MATCH = f"""
SELECT {_COLUMNS}, -f.rank FROM message_terms f CROSS JOIN messages m ON m.seq = f.rowid JOIN sessions s ON s.id = m.session_key
WHERE message_terms MATCH ? AND {{where}} ORDER BY f.rank LIMIT ?
"""


def message_terms(connection: apsw.Connection, kept: KeptCounts) -> TermIndex:
    """Return the keyword index of messages."""
    return TermIndex(connection, "message_terms", "message_vocabulary", kept)


class SqliteConversations:
    """See `store.protocol.Conversations`."""

    def __init__(self, connection: apsw.Connection, scopes: ScopeNumbers, kept: KeptCounts) -> None:
        self._db = connection
        self._scopes = scopes
        self._terms = message_terms(connection, kept)
        self._sizes = RowCount(connection, _SIZE, kept)

    def receipt(self, scope: Scope, session_id: str, key: str) -> StoredReceipt | None:
        target = self.target(scope, session_id)
        rows = query(self._db, _RECEIPT, (target.key, key)) if target else []
        return StoredReceipt(rows[0][0], tuple(json.loads(rows[0][1]))) if rows else None

    def keep_receipt(
        self, target: SessionTarget, key: str, payload: bytes, message_ids: Sequence[str], now: Instant
    ) -> None:
        self._db.execute(_KEEP_RECEIPT, (target.key, key, payload, json.dumps(message_ids), now))

    def by_id(self, scope: Scope, session_id: str, message_ids: Collection[str]) -> Mapping[str, Message]:
        target = self.target(scope, session_id)
        if target is None:
            return {}
        scope_id = self._scopes.find(scope)
        found = (query(self._db, _BY_ID, (scope_id, one, target.key)) for one in message_ids)
        return {rows[0][1]: Message(*rows[0]) for rows in found if rows}

    def append(
        self, scope: Scope, session_id: str, task_id: str, messages: Sequence[NewMessage], now: Instant
    ) -> SessionTarget:
        scope_id = self._scopes.ensure(scope)
        key = query(self._db, _TOUCH_SESSION, (scope_id, session_id, now))[0][0]
        self._db.executemany(
            _ADD,
            [(scope_id, key, m.message_id, task_id, m.role, m.content, m.said_at, m.recorded_at) for m in messages],
        )
        # AUTOINCREMENT numbers the rows of one writer one after the other.
        first = self._db.last_insert_rowid() - len(messages) + 1
        self._terms.add_all(scope_id, [(first + place, m.terms) for place, m in enumerate(messages)])
        return SessionTarget(key, scope, session_id)

    def target(self, scope: Scope, session_id: str) -> SessionTarget | None:
        scope_id = self._scopes.find(scope)
        rows = query(self._db, _SESSION, (scope_id, session_id)) if scope_id else []
        return SessionTarget(rows[0][0], scope, session_id) if rows else None

    def progress(self, target: SessionTarget, count_up_to: int) -> SessionProgress:
        rows = query(self._db, _PROGRESS, (target.key, count_up_to))
        if not rows:  # deleted meanwhile: nothing waits
            return SessionProgress(0, 0, 1, 0, "", 0)
        warmup, cursor, scene_name, last_message_at, rounds, messages, revived = rows[0]
        rounds, messages = (min(waiting + revived, count_up_to) for waiting in (rounds, messages))
        return SessionProgress(rounds, messages, warmup, cursor, scene_name, last_message_at)

    def undistilled(self, target: SessionTarget, limit: int) -> tuple[Message, ...]:
        rows = query(self._db, _REVIVED, (target.key, limit)) or query(self._db, _UNDISTILLED, (target.key, limit))
        return tuple(Message(*row) for row in rows)

    def before(self, target: SessionTarget, seq: int, limit: int) -> tuple[Message, ...]:
        rows = query(self._db, _BEFORE, (target.key, seq, limit))
        return tuple(Message(*row) for row in reversed(rows))

    def advance(self, target: SessionTarget, cursor: int, warmup: int, scene_name: str) -> None:
        self._db.execute(_ADVANCE, (cursor, warmup, scene_name, target.key))

    def distilled_by_rules(self, target: SessionTarget, first_seq: int) -> None:
        self._db.execute(_BY_RULES, (first_seq, target.key))

    def start_again_from_rules(self) -> int:
        self._db.execute(_UNPARK_FROM_RULES)
        self._db.execute(_FROM_RULES)
        return self._db.changes()

    def park(self, target: SessionTarget, message_seq: int, reason: str, now: Instant) -> None:
        self._db.execute(_PARK, (reason, now, message_seq, target.key))

    def revive(self, scope: Scope) -> tuple[SessionTarget, ...]:
        rows = query(self._db, _PARKED_SESSIONS, (self._scopes.find(scope),))
        self._db.executemany(_REVIVE, [(key,) for key, _ in rows])
        return tuple(SessionTarget(key, scope, name) for key, name in rows)

    def unpark(self, target: SessionTarget, message_seqs: Collection[int]) -> None:
        self._db.executemany(_UNPARK, [(seq, target.key) for seq in message_seqs])

    def parked_count(self, scope: Scope, session_id: str | None) -> int:
        return int(query(self._db, _PARKED_COUNT, (self._scopes.find(scope), session_id))[0][0])

    def parked_reason(self, scope: Scope, session_id: str | None) -> str:
        rows = query(self._db, _PARKED_REASON, (self._scopes.find(scope), session_id))
        return str(rows[0][0]) if rows else ""

    def pending_sessions(self, scope: Scope, session_id: str | None) -> tuple[SessionTarget, ...]:
        rows = query(self._db, _PENDING, (self._scopes.find(scope), session_id))
        return tuple(SessionTarget(key, scope, name) for key, name in rows)

    def pending_count(self, scope: Scope, session_id: str | None) -> int:
        return int(query(self._db, _PENDING_COUNT, (self._scopes.find(scope), session_id))[0][0])

    def page(self, scope: Scope, where: MessageFilter, limit: int, offset: int) -> tuple[Message, ...]:
        clause, values = self._where(scope, where)
        sql = f"SELECT {_COLUMNS} FROM {_FROM} WHERE {clause} ORDER BY m.said_at DESC, m.seq DESC LIMIT ? OFFSET ?"
        return tuple(Message(*row) for row in query(self._db, sql, (*values, limit, offset)))

    def count(self, scope: Scope, where: MessageFilter) -> int:
        clause, values = self._where(scope, where)
        return int(query(self._db, f"SELECT count(*) FROM {_FROM} WHERE {clause}", values)[0][0])

    def by_seq(self, scope: Scope, seqs: Collection[int]) -> tuple[Message, ...]:
        values = (self._scopes.find(scope), json.dumps(list(seqs)))
        return tuple(Message(*row) for row in query(self._db, _BY_SEQ, values))

    def around(self, scope: Scope, seq: int, before: int, after: int) -> Neighbours:
        scope_id = self._scopes.find(scope)
        earlier = query(self._db, _JUST_BEFORE, (scope_id, seq, before))
        later = query(self._db, _JUST_AFTER, (scope_id, seq, after))
        return Neighbours(tuple(Message(*row) for row in reversed(earlier)), tuple(Message(*row) for row in later))

    def chosen(self, scope: Scope, seqs: Collection[int], where: MessageFilter) -> tuple[Message, ...]:
        clause, values = self._where(scope, where)
        clause = re.sub(r"\+?m\.(scope_id|session_key)", r"+m.\1", clause)  # single rows are asked for
        sql = f"""
        SELECT {_COLUMNS} FROM json_each(?) j CROSS JOIN messages m ON m.seq = j.value
        JOIN sessions s ON s.id = m.session_key WHERE {clause}
        """
        return tuple(Message(*row) for row in query(self._db, sql, (json.dumps(list(seqs)), *values)))

    def seqs(self, scope: Scope, where: MessageFilter) -> tuple[int, ...]:
        clause, values = self._where(scope, where)
        return tuple(row[0] for row in query(self._db, f"SELECT m.seq FROM messages m WHERE {clause}", values))

    def size(self, scope: Scope) -> int:
        return self._sizes.of(self._scopes.find(scope))

    def frequencies(self, scope: Scope, terms: Collection[str]) -> Mapping[str, int]:
        scope_id = self._scopes.find(scope)
        return self._terms.frequencies(scope_id, terms) if scope_id else {}

    def merge_terms(self) -> bool:
        return self._terms.merge_step()

    def match(
        self, scope: Scope, terms: Sequence[str], where: MessageFilter, limit: int
    ) -> tuple[tuple[Message, float], ...]:
        scope_id = self._scopes.find(scope)
        if scope_id is None or not terms:
            return ()
        clause, values = self._where(scope, where)
        sql = _MATCH.format(where=clause)
        rows = query(self._db, sql, (self._terms.expression(scope_id, terms), *values, limit))
        return tuple((Message(*row[:-1]), row[-1]) for row in rows)

    def _where(self, scope: Scope, where: MessageFilter) -> tuple[str, tuple[Any, ...]]:
        # `+` keeps the planner from walking the whole scope by time when one session is asked for.
        scope_clause = "m.scope_id = ?" if where.session_id is None else "+m.scope_id = ?"
        clauses: list[tuple[str, Any]] = [(scope_clause, self._scopes.find(scope))]
        if where.session_id is not None:
            target = self.target(scope, where.session_id)
            clauses.append(("m.session_key = ?", target.key if target else None))
        if where.task_id is not None:
            clauses.append(("m.task_id = ?", where.task_id))
        if where.since is not None:
            clauses.append(("m.said_at >= ?", where.since))
        if where.until is not None:
            clauses.append(("m.said_at <= ?", where.until))
        return " AND ".join(c for c, _ in clauses), tuple(v for _, v in clauses)
