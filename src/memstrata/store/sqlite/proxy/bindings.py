"""What sessions are bound to, by version; and what a user's sessions are bound to by default."""

from __future__ import annotations

import apsw

from memstrata.clock import Instant
from memstrata.records.proxy import Bound, DefaultBinding, MainPrompt, ProxySession
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.proxy.sessions import NAMED, SessionRows, named

__all__ = ["SqliteProxyBindings"]

_READ = f"""
SELECT outcome, team, agent, task, form, recall_off, write_off, main_tools, main_system, main_first, version, created_at,
  touched_at
FROM proxy_sessions WHERE {NAMED} AND outcome <> ''
"""
_PUT = """
UPDATE proxy_sessions SET outcome = ?, team = ?, agent = ?, task = ?, form = ?, recall_off = ?, write_off = ?,
  version = version + 1
WHERE id = ? AND version = ?
"""
_NOTE = "UPDATE proxy_sessions SET main_tools = ?, main_system = ?, main_first = ? WHERE id = ?"
_DEFAULT = "SELECT team, agent, task FROM proxy_defaults WHERE instance = ? AND user = ?"
_PUT_DEFAULT = """
INSERT INTO proxy_defaults (instance, user, team, agent, task) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET team = excluded.team, agent = excluded.agent, task = excluded.task
"""
_DROP_DEFAULT = "DELETE FROM proxy_defaults WHERE instance = ? AND user = ?"


class SqliteProxyBindings:
    """See `store.proxy.ProxyBindings`."""

    def __init__(self, connection: apsw.Connection, rows: SessionRows) -> None:
        self._db = connection
        self._rows = rows

    def read(self, session: ProxySession) -> Bound | None:
        for row in query(self._db, _READ, named(session)):
            outcome, team, agent, task, form, recall_off, write_off = row[:7]
            main, kept = MainPrompt(*row[7:10]), row[10:]
            return Bound(outcome, team, agent, task, bytes(form), bool(recall_off), bool(write_off), main, *kept)
        return None

    def put(self, session: ProxySession, bound: Bound, expected_version: int, now: Instant) -> bool:
        number = self._rows.ensure(session, now)
        what = (bound.outcome, bound.team, bound.agent, bound.task, bound.form, bound.recall_off, bound.write_off)
        self._db.execute(_PUT, (*what, number, expected_version))
        return self._db.changes() > 0

    def note_main(self, session: ProxySession, main: MainPrompt, now: Instant) -> None:
        self._db.execute(_NOTE, (main.tools, main.system, main.first, self._rows.ensure(session, now)))

    def default(self, instance: str, user: str) -> DefaultBinding | None:
        rows = query(self._db, _DEFAULT, (instance, user))
        return DefaultBinding(*rows[0]) if rows else None

    def put_default(self, instance: str, user: str, binding: DefaultBinding | None) -> None:
        if binding is None:
            self._db.execute(_DROP_DEFAULT, (instance, user))
        else:
            self._db.execute(_PUT_DEFAULT, (instance, user, binding.team, binding.agent, binding.task))
