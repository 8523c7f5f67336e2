"""What went through in the last seconds, by second."""

from __future__ import annotations

import apsw

from memstrata.clock import Instant
from memstrata.records.proxy import RateKey, RateSum
from memstrata.store.sqlite.connection import query

__all__ = ["SqliteProxyRates"]

_ADD = """
INSERT INTO proxy_rates (instance, key, model, second, requests, input_tokens) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens
"""
_SUM = """
SELECT coalesce(sum(requests), 0), coalesce(sum(input_tokens), 0), min(second) * 1000 FROM proxy_rates
WHERE instance = ? AND key = ? AND model = ? AND second > ?
"""


class SqliteProxyRates:
    """See `store.proxy.ProxyRates`. Instants count by their second."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def add(self, key: RateKey, at: Instant, requests: int, input_tokens: int) -> None:
        self._db.execute(_ADD, (key.instance, key.key, key.model, at // 1000, requests, input_tokens))

    def sum(self, key: RateKey, after: Instant) -> RateSum:
        return RateSum(*query(self._db, _SUM, (key.instance, key.key, key.model, after // 1000))[0])

    def prune(self, before: Instant) -> int:
        self._db.execute("DELETE FROM proxy_rates WHERE second < ?", (before // 1000,))
        return self._db.changes()
