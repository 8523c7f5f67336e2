"""Counts for the statistics of ranking, kept for a while.

Counting a scope's rows, or the rows that hold a frequent term, walks an index. Ranking takes logarithms and does not notice
a count of half a minute ago, so large ones are kept, and kept for all connections together; small ones are always exact.
"""

from __future__ import annotations

import time
from collections.abc import Hashable

import apsw

from memstrata.store.sqlite.connection import query

__all__ = ["KeptCounts", "RowCount"]

_SECONDS = 30.0
_MOST = 50_000


class KeptCounts:
    """Counts by whatever names them. Threads share it: an entry that two of them write is the same twice."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[float, int]] = {}

    def get(self, name: Hashable) -> int | None:
        """Return a count that is still good, or None."""
        kept = self._kept.get(name)
        return kept[1] if kept is not None and time.monotonic() - kept[0] < _SECONDS else None

    def keep(self, name: Hashable, count: int) -> None:
        if len(self._kept) >= _MOST:
            self._kept.clear()
        self._kept[name] = (time.monotonic(), count)


class RowCount:
    """Row counts by scope, exact while small."""

    _SMALL = 2_000

    def __init__(self, connection: apsw.Connection, sql: str, kept: KeptCounts) -> None:
        self._connection = connection
        self._sql = sql
        self._kept = kept

    def of(self, scope_id: int | None) -> int:
        """Return the number of rows; a large count may be half a minute old."""
        if scope_id is None:
            return 0
        count = self._kept.get((self._sql, scope_id))
        if count is None:
            count = int(query(self._connection, self._sql, (scope_id,))[0][0])
            if count > self._SMALL:
                self._kept.keep((self._sql, scope_id), count)
        return count
