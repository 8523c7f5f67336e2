"""The keyword index: FTS5 tables whose tokens carry their scope.

A term is stored as `<scope number in base 36>_<term>`. So a query touches only its own scope's postings, filters need no
join over foreign rows, and document frequencies are those of the scope. Rows are keyed by the base row's `seq`, which
makes deleting one independent of the table's size. Measured in `docs/retrieval.md`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

import apsw

from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.counts import KeptCounts

__all__ = ["TermIndex"]

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LEAST_MERGED = 2  # segments of one level; FTS5 itself joins four
_PAGES_A_STEP = 100
_CHANGES_OF_NO_STEP = 1
_FREQUENT = 200  # counting a term's rows walks its postings


class TermIndex:
    """One FTS5 table and its vocabulary."""

    def __init__(self, connection: apsw.Connection, table: str, vocabulary: str, kept: KeptCounts) -> None:
        self._connection = connection
        self._table = table
        self._kept = kept
        self._add = f"INSERT INTO {table} (rowid, terms) VALUES (?, ?)"
        self._merging = f"SELECT 1 FROM {table}_config WHERE k = 'usermerge' AND v = {_LEAST_MERGED}"
        self._merge_few = f"INSERT INTO {table} ({table}, rank) VALUES ('usermerge', {_LEAST_MERGED})"
        self._merge = f"INSERT INTO {table} ({table}, rank) VALUES ('merge', {_PAGES_A_STEP})"
        self._remove = f"DELETE FROM {table} WHERE rowid = ?"
        self._frequencies = f"SELECT term, doc FROM {vocabulary} WHERE term IN (SELECT value FROM json_each(?))"

    def add(self, scope_id: int, seq: int, terms: Sequence[str]) -> None:
        self.add_all(scope_id, [(seq, terms)])

    def add_all(self, scope_id: int, rows: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Index several rows, given by seq and terms."""
        prefix = _prefix(scope_id)
        between = f" {prefix}"
        self._connection.executemany(self._add, [(seq, prefix + between.join(terms)) for seq, terms in rows if terms])

    def remove(self, seq: int) -> None:
        self._connection.execute(self._remove, (seq,))

    def merge_step(self) -> bool:
        """Join some segments that commits have left, for some milliseconds; return whether there may be more to join.

        A search looks for each of its terms in all segments: of ten, which a hundred thousand rows leave, two remain, and a
        question's words are counted in a third of the time.
        """
        if not query(self._connection, self._merging):
            query(self._connection, self._merge_few)
        before = self._connection.total_changes()
        query(self._connection, self._merge)
        return self._connection.total_changes() - before > _CHANGES_OF_NO_STEP

    def frequencies(self, scope_id: int, terms: Collection[str]) -> Mapping[str, int]:
        """Return in how many rows of the scope each term stands; absent terms are left out."""
        tokens = {_prefix(scope_id) + term: term for term in terms}
        found = {token: count for token in tokens if (count := self._kept.get((self._table, token))) is not None}
        asked = json.dumps([token for token in tokens if token not in found])
        for token, count in query(self._connection, self._frequencies, (asked,)):
            found[token] = count
            if count >= _FREQUENT:
                self._kept.keep((self._table, token), count)
        return {tokens[token]: count for token, count in found.items()}

    def expression(self, scope_id: int, terms: Sequence[str]) -> str:
        """Return the FTS5 query that matches rows with any of the terms. Terms are quoted: they are data."""
        prefix = _prefix(scope_id)
        return " OR ".join(f'"{prefix}{term}"' for term in terms)


def _prefix(scope_id: int) -> str:
    digits = ""
    while scope_id:
        scope_id, digit = divmod(scope_id, 36)
        digits = _DIGITS[digit] + digits
    return f"{digits or '0'}_"
