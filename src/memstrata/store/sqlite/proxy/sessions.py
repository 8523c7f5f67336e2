"""Rows of clients' sessions: the number that everything else of a session hangs on, and how long it is kept."""

from __future__ import annotations

from typing import Final

import apsw

from memstrata.clock import Instant
from memstrata.records.proxy import ProxySession
from memstrata.store.sqlite.connection import query

__all__ = ["NAMED", "SessionRows", "SqliteProxySessions", "named"]

NAMED: Final = "instance = ? AND user = ? AND client = ? AND session = ?"
_FIND = f"SELECT id FROM proxy_sessions WHERE {NAMED}"
_ENSURE = """
INSERT INTO proxy_sessions (instance, user, client, session, created_at, touched_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)
ON CONFLICT DO UPDATE SET touched_at = max(touched_at, excluded.touched_at) RETURNING id
"""
_TOUCH = f"UPDATE proxy_sessions SET touched_at = max(touched_at, ?) WHERE {NAMED}"
_REMOVE = f"DELETE FROM proxy_sessions WHERE {NAMED}"
_SWEEP = """
DELETE FROM proxy_sessions WHERE id IN (
  SELECT s.id FROM proxy_sessions s WHERE s.touched_at < ?
    AND NOT EXISTS (SELECT 1 FROM proxy_turns t WHERE t.state = 'open' AND t.session_key = s.id)
    AND NOT EXISTS (SELECT 1 FROM proxy_turns t WHERE t.state = 'ready' AND t.session_key = s.id)
  ORDER BY s.touched_at LIMIT ?
)
"""


def named(session: ProxySession) -> tuple[str, str, str, str]:
    """Return the parts of a session in the order of `NAMED`."""
    return session.instance, session.user, session.client, session.session


class SessionRows:
    """Numbers of sessions, by all four parts of their name."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def find(self, session: ProxySession) -> int | None:
        """Return the number of a session that is known."""
        rows = query(self._db, _FIND, named(session))
        return int(rows[0][0]) if rows else None

    def ensure(self, session: ProxySession, now: Instant) -> int:
        """Return the number of a session, new or not; it was touched now."""
        return int(query(self._db, _ENSURE, (*named(session), now))[0][0])


class SqliteProxySessions:
    """See `store.proxy.ProxySessions`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def touch(self, session: ProxySession, now: Instant) -> None:
        self._db.execute(_TOUCH, (now, *named(session)))

    def remove(self, session: ProxySession) -> bool:
        self._db.execute(_REMOVE, named(session))
        return self._db.changes() > 0

    def sweep(self, before: Instant, limit: int) -> int:
        self._db.execute(_SWEEP, (before, limit))
        return self._db.changes()
