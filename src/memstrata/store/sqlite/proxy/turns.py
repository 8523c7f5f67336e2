"""Turns on their way to the core. A row stays after delivery without its text, so that a turn is never sent again."""

from __future__ import annotations

from typing import Any, Final

import apsw

from memstrata.clock import Instant
from memstrata.records.proxy import NewTurn, ProxySession, Turn, TurnCounts
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.proxy.sessions import SessionRows

__all__ = ["SqliteProxyTurns"]

_MOST_ERROR: Final = 500  # characters
_COLUMNS = """
s.instance, s.user, s.client, s.session, t.turn_id, t.team, t.agent, t.task, t.question, t.answer, t.state, t.complete,
  t.answered, t.opened_at, t.touched_at, t.attempts, t.due_at, t.error
"""
_OF = "FROM proxy_turns t JOIN proxy_sessions s ON s.id = t.session_key"
_READ = f"SELECT {_COLUMNS} {_OF} WHERE t.session_key = ? AND t.turn_id = ?"
_CURRENT = f"SELECT {_COLUMNS} {_OF} WHERE t.state = 'open' AND t.session_key = ? ORDER BY t.id DESC LIMIT 1"
_OPEN = """
INSERT OR IGNORE INTO proxy_turns (turn_id, session_key, team, agent, task, question, answer, state, opened_at, touched_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', 'open', ?7, ?7)
"""
_PROGRESS = """
UPDATE proxy_turns SET answer = coalesce(nullif(?, ''), answer), answered = 1, touched_at = ?
WHERE session_key = ? AND turn_id = ? AND state = 'open'
"""
_CLOSE = """
UPDATE proxy_turns SET answer = ?1, complete = ?2, answered = 1, state = 'ready', touched_at = ?3, due_at = ?3
WHERE session_key = ?4 AND turn_id = ?5 AND state = 'open'
"""
_DROP_OTHERS = "DELETE FROM proxy_turns WHERE state = 'open' AND session_key = ? AND turn_id <> ? AND answered = 0"
_END_OTHERS = """
UPDATE proxy_turns SET state = 'ready', due_at = ?1 WHERE state = 'open' AND session_key = ?2 AND turn_id <> ?3
"""
_DROP_IDLE = "DELETE FROM proxy_turns WHERE state = 'open' AND touched_at < ? AND answered = 0"
_END_IDLE = "UPDATE proxy_turns SET state = 'ready', due_at = ? WHERE state = 'open' AND touched_at < ?"
_FIRST = """
NOT EXISTS (SELECT 1 FROM proxy_turns e WHERE e.state = 'ready' AND e.session_key = t.session_key AND e.id < t.id)
"""
_DUE = f"SELECT {_COLUMNS} {_OF} WHERE t.state = 'ready' AND t.due_at <= ? AND {_FIRST} ORDER BY t.due_at LIMIT ?"
_NEXT = f"SELECT t.due_at FROM proxy_turns t WHERE t.state = 'ready' AND {_FIRST} ORDER BY t.due_at LIMIT 1"
_OLDEST_OPEN = "SELECT touched_at FROM proxy_turns WHERE state = 'open' ORDER BY touched_at LIMIT 1"
_DELIVER = """
UPDATE proxy_turns SET state = 'delivered', question = '', answer = '', error = '' WHERE session_key = ? AND turn_id = ?
"""
_RETRY = """
UPDATE proxy_turns SET attempts = attempts + 1, due_at = ?, error = ?
WHERE session_key = ? AND turn_id = ? AND state = 'ready'
"""
_PARK = """
UPDATE proxy_turns SET state = 'parked', attempts = attempts + 1, error = ?
WHERE session_key = ? AND turn_id = ? AND state = 'ready'
"""
# The second condition says that the index of what waits will do.
_REVIVE = """
UPDATE proxy_turns SET state = 'ready', due_at = ? WHERE state = 'parked' AND state <> 'delivered' AND session_key IN (
  SELECT id FROM proxy_sessions WHERE instance = ?
)
"""
_COUNTS = """
SELECT t.state, count(*), min(t.opened_at) FROM proxy_turns t JOIN proxy_sessions s ON s.id = t.session_key
WHERE t.state <> 'delivered' AND (?1 IS NULL OR s.instance = ?1) GROUP BY t.state
"""


class SqliteProxyTurns:
    """See `store.proxy.ProxyTurns`."""

    def __init__(self, connection: apsw.Connection, rows: SessionRows) -> None:
        self._db = connection
        self._rows = rows

    def read(self, session: ProxySession, turn_id: str) -> Turn | None:
        return self._one(_READ, self._rows.find(session), turn_id)

    def current(self, session: ProxySession) -> Turn | None:
        return self._one(_CURRENT, self._rows.find(session))

    def open(self, number: int, turn: NewTurn, now: Instant) -> None:
        """Add a turn to the session of that number if it is new; then those that were open end."""
        owner = (turn.turn_id, number, turn.team, turn.agent, turn.task)
        self._db.execute(_OPEN, (*owner, turn.question, now))
        if self._db.changes():
            self._db.execute(_DROP_OTHERS, (number, turn.turn_id))
            self._db.execute(_END_OTHERS, (now, number, turn.turn_id))

    def progress(self, session: ProxySession, turn_id: str, answer: str, now: Instant) -> bool:
        return self._changed(_PROGRESS, answer, now, self._rows.find(session), turn_id)

    def close(self, session: ProxySession, turn_id: str, answer: str, now: Instant, *, complete: bool) -> bool:
        return self._changed(_CLOSE, answer, complete, now, self._rows.find(session), turn_id)

    def close_idle(self, before: Instant, now: Instant) -> int:
        self._db.execute(_DROP_IDLE, (before,))
        dropped = self._db.changes()
        self._db.execute(_END_IDLE, (now, before))
        return dropped + self._db.changes()

    def due(self, now: Instant, limit: int) -> tuple[Turn, ...]:
        return tuple(_turn(row) for row in query(self._db, _DUE, (now, limit)))

    def next_due(self) -> Instant | None:
        return self._instant(_NEXT)

    def oldest_open(self) -> Instant | None:
        return self._instant(_OLDEST_OPEN)

    def deliver(self, session: ProxySession, turn_id: str) -> None:
        self._db.execute(_DELIVER, (self._rows.find(session), turn_id))

    def retry(self, session: ProxySession, turn_id: str, due_at: Instant, error: str) -> None:
        self._db.execute(_RETRY, (due_at, error[:_MOST_ERROR], self._rows.find(session), turn_id))

    def park(self, session: ProxySession, turn_id: str, error: str) -> None:
        self._db.execute(_PARK, (error[:_MOST_ERROR], self._rows.find(session), turn_id))

    def revive(self, instance: str, now: Instant) -> int:
        self._db.execute(_REVIVE, (now, instance))
        return self._db.changes()

    def counts(self, instance: str | None = None) -> TurnCounts:
        rows = {state: (count, oldest) for state, count, oldest in query(self._db, _COUNTS, (instance,))}
        return TurnCounts({state: count for state, (count, _) in rows.items()}, rows.get("ready", (0, None))[1])

    def _one(self, sql: str, *values: str | int | None) -> Turn | None:
        rows = query(self._db, sql, values)
        return _turn(rows[0]) if rows else None

    def _changed(self, sql: str, *values: str | int | bool | None) -> bool:
        self._db.execute(sql, values)
        return self._db.changes() > 0

    def _instant(self, sql: str) -> Instant | None:
        rows = query(self._db, sql)
        return int(rows[0][0]) if rows else None


def _turn(row: tuple[Any, ...]) -> Turn:
    turn_id, team, agent, task, question, answer, state, complete, answered, *rest = row[4:]
    session = ProxySession(*row[:4])
    return Turn(turn_id, session, team, agent, task, question, answer, state, bool(complete), bool(answered), *rest)
