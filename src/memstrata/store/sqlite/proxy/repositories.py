"""All repositories of the proxy on one connection."""

from __future__ import annotations

import apsw

from memstrata.store.sqlite.proxy.bindings import SqliteProxyBindings
from memstrata.store.sqlite.proxy.ledger import SqliteProxyLedger
from memstrata.store.sqlite.proxy.rates import SqliteProxyRates
from memstrata.store.sqlite.proxy.sessions import SessionRows, SqliteProxySessions
from memstrata.store.sqlite.proxy.snapshots import SqliteProxySnapshots
from memstrata.store.sqlite.proxy.turns import SqliteProxyTurns
from memstrata.store.sqlite.proxy.usage import SqliteProxyUsages

__all__ = ["SqliteProxy"]


class SqliteProxy:
    """See `store.proxy.ProxyRepositories`."""

    def __init__(self, connection: apsw.Connection) -> None:
        rows = SessionRows(connection)
        self.sessions = SqliteProxySessions(connection)
        self.bindings = SqliteProxyBindings(connection, rows)
        self.snapshots = SqliteProxySnapshots(connection, rows)
        self.turns = SqliteProxyTurns(connection, rows)
        self.ledger = SqliteProxyLedger(connection, rows, self.turns)
        self.usage = SqliteProxyUsages(connection)
        self.rates = SqliteProxyRates(connection)
