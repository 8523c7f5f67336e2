"""How many rows a scope has, for the statistics of ranking.

Counting walks an index, so a large scope's count is kept for a while; ranking takes its logarithm and does not notice.
"""

from __future__ import annotations

import time

import apsw

from memstrata.store.sqlite.connection import query

__all__ = ["RowCount"]

_SMALL = 2_000
_KEPT_SECONDS = 60.0


class RowCount:
    """Row counts by scope, exact while small."""

    def __init__(self, connection: apsw.Connection, sql: str) -> None:
        self._connection = connection
        self._sql = sql
        self._kept: dict[int, tuple[float, int]] = {}

    def of(self, scope_id: int | None) -> int:
        """Return the number of rows; a count above 2,000 may be a minute old."""
        if scope_id is None:
            return 0
        now = time.monotonic()
        kept = self._kept.get(scope_id)
        if kept is not None and now - kept[0] < _KEPT_SECONDS:
            return kept[1]
        count = int(query(self._connection, self._sql, (scope_id,))[0][0])
        if count > _SMALL:
            self._kept[scope_id] = (now, count)
        return count
