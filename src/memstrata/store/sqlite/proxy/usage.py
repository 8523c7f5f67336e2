"""Tokens that went through the proxy: one row for each day, user and model."""

from __future__ import annotations

import apsw

from memstrata.records.proxy import ProxyTokens, ProxyUsage
from memstrata.store.sqlite.connection import query

__all__ = ["SqliteProxyUsages"]

_ADD = """
INSERT INTO proxy_usage (instance, day, user, model, requests, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens,
  output_tokens = output_tokens + excluded.output_tokens,
  cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
  cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens
"""
_LINES = """
SELECT instance, user, model, day, requests, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens
FROM proxy_usage WHERE instance = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR user = ?4) ORDER BY day, user, model
"""


class SqliteProxyUsages:
    """See `store.proxy.ProxyUsages`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def add(self, instance: str, user: str, model: str, day: str, tokens: ProxyTokens) -> None:
        used = (tokens.requests, tokens.input, tokens.output, tokens.cache_read, tokens.cache_write)
        self._db.execute(_ADD, (instance, day, user, model, *used))

    def lines(self, instance: str, first_day: str, last_day: str, user: str | None = None) -> tuple[ProxyUsage, ...]:
        rows = query(self._db, _LINES, (instance, first_day, last_day, user))
        return tuple(
            ProxyUsage(owner, name, model, day, ProxyTokens(*tokens)) for owner, name, model, day, *tokens in rows
        )
