"""The system block of each session: put once, and then only what the user asks for."""

from __future__ import annotations

import apsw

from memstrata.records.proxy import ProxySession, ProxySnapshot
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.proxy.sessions import SessionRows

__all__ = ["SqliteProxySnapshots"]

_READ = "SELECT block, sha256, created_at FROM proxy_snapshots WHERE session_key = ?"
_PUT = "INSERT OR IGNORE INTO proxy_snapshots (session_key, block, sha256, created_at) VALUES (?, ?, ?, ?)"
_REPLACE = "INSERT OR REPLACE INTO proxy_snapshots (session_key, block, sha256, created_at) VALUES (?, ?, ?, ?)"


class SqliteProxySnapshots:
    """See `store.proxy.ProxySnapshots`."""

    def __init__(self, connection: apsw.Connection, rows: SessionRows) -> None:
        self._db = connection
        self._rows = rows

    def read(self, session: ProxySession) -> ProxySnapshot | None:
        number = self._rows.find(session)
        return None if number is None else self._read(number)

    def put_if_absent(self, session: ProxySession, snapshot: ProxySnapshot) -> ProxySnapshot:
        number = self._put(_PUT, session, snapshot)
        kept = self._read(number)
        assert kept is not None
        return kept

    def replace(self, session: ProxySession, snapshot: ProxySnapshot) -> None:
        self._put(_REPLACE, session, snapshot)

    def _read(self, number: int) -> ProxySnapshot | None:
        for block, sha256, created_at in query(self._db, _READ, (number,)):
            return ProxySnapshot(bytes(block), sha256, created_at)
        return None

    def _put(self, sql: str, session: ProxySession, snapshot: ProxySnapshot) -> int:
        number = self._rows.ensure(session, snapshot.created_at)
        self._db.execute(sql, (number, snapshot.block, snapshot.sha256, snapshot.created_at))
        return number
