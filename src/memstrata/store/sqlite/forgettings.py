"""Receipts of what was forgotten. One that is not complete says what is still to be done after a crash."""

from __future__ import annotations

import json
from collections.abc import Collection

import apsw

from memstrata.records.forgetting import ForgettingReceipt, ForgottenCounts
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.erasure_reach import IN

__all__ = ["SqliteForgettings"]

_ADD = """
INSERT INTO forgettings (forgetting_id, instance, selector, counts, actor, at, complete) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_COLUMNS = "forgetting_id, instance, selector, counts, actor, at, complete"
_ONE = f"SELECT {_COLUMNS} FROM forgettings WHERE instance = ? AND forgetting_id = ?"
_UNFINISHED = "SELECT forgetting_id FROM forgettings WHERE complete = 0"
_COMPLETE = f"UPDATE forgettings SET complete = 1 WHERE forgetting_id {IN}"


class SqliteForgettings:
    """See `store.forgetting.Forgettings`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def add(self, receipt: ForgettingReceipt) -> None:
        self._db.execute(
            _ADD,
            (
                receipt.forgetting_id,
                receipt.instance,
                json.dumps(dict(receipt.selector), ensure_ascii=False),
                json.dumps(dict(receipt.counts.by_layer())),
                receipt.actor,
                receipt.at,
                receipt.complete,
            ),
        )

    def one(self, instance: str, forgetting_id: str) -> ForgettingReceipt | None:
        for found in query(self._db, _ONE, (instance, forgetting_id)):
            name, owner, selector, counts, actor, at, complete = found
            counted = ForgottenCounts(**json.loads(counts))
            return ForgettingReceipt(name, owner, json.loads(selector), counted, actor, at, bool(complete))
        return None

    def unfinished(self) -> tuple[str, ...]:
        return tuple(row[0] for row in query(self._db, _UNFINISHED))

    def complete(self, forgetting_ids: Collection[str]) -> None:
        self._db.execute(_COMPLETE, (json.dumps(list(forgetting_ids)),))
