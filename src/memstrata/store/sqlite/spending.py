"""What models cost, in SQLite: one row for each day, owner and role."""

from __future__ import annotations

import apsw

from memstrata.records import Spending, SpendKey, Usage
from memstrata.store.sqlite.connection import query

__all__ = ["SqliteSpendings"]

_ADD = """
INSERT INTO spending (instance, day, team, agent, user, role, prompt_tokens, completion_tokens, cached_tokens, calls, estimated)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET prompt_tokens = prompt_tokens + excluded.prompt_tokens,
  completion_tokens = completion_tokens + excluded.completion_tokens,
  cached_tokens = cached_tokens + excluded.cached_tokens, calls = calls + excluded.calls,
  estimated = max(estimated, excluded.estimated)
"""
_USED = "SELECT coalesce(sum(prompt_tokens + completion_tokens), 0) FROM spending WHERE instance = ? AND day = ?"
_LINES = """
SELECT instance, team, agent, user, role, day, prompt_tokens, completion_tokens, cached_tokens, calls, estimated
FROM spending WHERE instance = ? AND day BETWEEN ? AND ? ORDER BY day, team, agent, user, role
"""


class SqliteSpendings:
    """See `store.protocol.Spendings`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def add(self, spending: Spending) -> None:
        key, used = spending.key, spending.usage
        owner = (key.instance, key.day, key.team, key.agent, key.user, key.role)
        tokens = (used.prompt_tokens, used.completion_tokens, used.cached_tokens)
        self._db.execute(_ADD, (*owner, *tokens, used.calls, used.estimated))

    def used_tokens(self, instance: str, day: str) -> int:
        return int(query(self._db, _USED, (instance, day))[0][0])

    def lines(self, instance: str, first_day: str, last_day: str) -> tuple[Spending, ...]:
        rows = query(self._db, _LINES, (instance, first_day, last_day))
        return tuple(Spending(SpendKey(*row[:6]), _usage(*row[6:])) for row in rows)


def _usage(prompt: int, completion: int, cached: int, calls: int, estimated: int) -> Usage:
    return Usage(prompt, completion, cached, calls, bool(estimated))
