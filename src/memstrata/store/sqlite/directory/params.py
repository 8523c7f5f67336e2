"""What users set for themselves, in SQLite."""

from __future__ import annotations

from collections.abc import Mapping

import apsw

from memstrata.store.sqlite.connection import query

__all__ = ["SqliteParams"]

_OF = "SELECT name, value FROM user_params WHERE instance = ? AND user_id = ? AND module = ?"
_PUT = "INSERT OR REPLACE INTO user_params (instance, user_id, module, name, value) VALUES (?, ?, ?, ?, ?)"


class SqliteParams:
    """See `store.directory.Params`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def of(self, instance: str, user_id: str, module: str) -> Mapping[str, str]:
        return dict(query(self._db, _OF, (instance, user_id, module)))

    def put(self, instance: str, user_id: str, module: str, values: Mapping[str, str]) -> None:
        for name, value in values.items():
            self._db.execute(_PUT, (instance, user_id, module, name, value))
