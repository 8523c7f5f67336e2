"""The keyword index: FTS5 tables whose tokens carry their scope.

A term is stored as `<scope number in base 36>_<term>`. So a query touches only its own scope's postings, filters need no
join over foreign rows, and document frequencies are those of the scope. Rows are keyed by the base row's `seq`, which
makes deleting one independent of the table's size. Measured in `docs/retrieval.md`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence

import apsw

from memstrata.store.sqlite.connection import query

__all__ = ["TermIndex"]

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_FREQUENT = 2_000  # counting a term's rows walks its postings, so the count of a frequent one is kept for a while
_KEPT_SECONDS = 30.0
_KEPT_TERMS = 20_000


class TermIndex:
    """One FTS5 table and its vocabulary."""

    def __init__(self, connection: apsw.Connection, table: str, vocabulary: str) -> None:
        self._connection = connection
        self._add = f"INSERT INTO {table} (rowid, terms) VALUES (?, ?)"
        self._remove = f"DELETE FROM {table} WHERE rowid = ?"
        self._frequencies = f"SELECT term, doc FROM {vocabulary} WHERE term IN (SELECT value FROM json_each(?))"
        self._kept: dict[str, tuple[float, int]] = {}

    def add(self, scope_id: int, seq: int, terms: Sequence[str]) -> None:
        self.add_all(scope_id, [(seq, terms)])

    def add_all(self, scope_id: int, rows: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Index several rows, given by seq and terms."""
        prefix = _prefix(scope_id)
        between = f" {prefix}"
        self._connection.executemany(self._add, [(seq, prefix + between.join(terms)) for seq, terms in rows if terms])

    def remove(self, seq: int) -> None:
        self._connection.execute(self._remove, (seq,))

    def frequencies(self, scope_id: int, terms: Collection[str]) -> Mapping[str, int]:
        """Return in how many rows of the scope each term stands; absent terms are left out."""
        now = time.monotonic()
        tokens = {_prefix(scope_id) + term: term for term in terms}
        found = {token: kept for token in tokens if (kept := self._kept_count(token, now)) is not None}
        asked = json.dumps([token for token in tokens if token not in found])
        for token, count in query(self._connection, self._frequencies, (asked,)):
            found[token] = count
            self._keep(token, count, now)
        return {tokens[token]: count for token, count in found.items()}

    def expression(self, scope_id: int, terms: Sequence[str]) -> str:
        """Return the FTS5 query that matches rows with any of the terms. Terms are quoted: they are data."""
        prefix = _prefix(scope_id)
        return " OR ".join(f'"{prefix}{term}"' for term in terms)

    def _kept_count(self, token: str, now: float) -> int | None:
        at, count = self._kept.get(token, (0.0, 0))
        return count if count and now - at < _KEPT_SECONDS else None

    def _keep(self, token: str, count: int, now: float) -> None:
        if count >= _FREQUENT:
            if len(self._kept) >= _KEPT_TERMS:
                self._kept.clear()
            self._kept[token] = (now, count)


def _prefix(scope_id: int) -> str:
    digits = ""
    while scope_id:
        scope_id, digit = divmod(scope_id, 36)
        digits = _DIGITS[digit] + digits
    return f"{digits or '0'}_"
