"""Policies by the part of an instance that they are set for. In a row, an empty name is wider than any; NULL says nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import apsw

from memstrata.records import Scope
from memstrata.records.policy import EffectivePolicy, Policy
from memstrata.store.sqlite.connection import query

__all__ = ["SqlitePolicies"]

T = TypeVar("T")

_COLUMNS = "instance, team, agent, user, redact_secrets, retention_days, updated_by, updated_at"
# What is said for a user holds before what is said for an agent, and that before what is said for a team.
_NARROWEST_FIRST = "user = '', agent = '', team = ''"
_FOR = f"""
SELECT {_COLUMNS} FROM policies WHERE instance = ? AND team IN ('', ?) AND agent IN ('', ?) AND user IN ('', ?)
ORDER BY {_NARROWEST_FIRST}
"""
_ONE = f"SELECT {_COLUMNS} FROM policies WHERE instance = ? AND team = ? AND agent = ? AND user = ?"
_PUT = f"""
INSERT INTO policies ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET redact_secrets = excluded.redact_secrets, retention_days = excluded.retention_days,
  updated_by = excluded.updated_by, updated_at = excluded.updated_at
"""
_REMOVE = "DELETE FROM policies WHERE instance = ? AND team = ? AND agent = ? AND user = ?"
_LIST = f"SELECT {_COLUMNS} FROM policies WHERE instance = ? ORDER BY team, agent, user LIMIT ? OFFSET ?"
_SCOPES = """
SELECT c.instance, c.team, c.agent, c.user FROM scopes c
WHERE EXISTS (SELECT 1 FROM messages m WHERE m.scope_id = c.id)
  OR EXISTS (SELECT 1 FROM memories m WHERE m.scope_id = c.id AND m.valid_to IS NULL)
"""
_ANY_RETENTION = "SELECT 1 FROM policies WHERE retention_days > 0 LIMIT 1"


class SqlitePolicies:
    """See `store.forgetting.Policies`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def effective(self, instance: str, team: str, agent: str, user: str) -> EffectivePolicy:
        rows = self._rows(_FOR, (instance, team, agent, user))
        return EffectivePolicy(_first(row.redact_secrets for row in rows), _first(row.retention_days for row in rows))

    def one(self, instance: str, team: str, agent: str, user: str) -> Policy | None:
        rows = self._rows(_ONE, (instance, team, agent, user))
        return rows[0] if rows else None

    def put(self, policy: Policy) -> None:
        owner = (policy.instance, policy.team, policy.agent, policy.user)
        if policy.redact_secrets is None and policy.retention_days is None:
            self._db.execute(_REMOVE, owner)
            return
        self._db.execute(
            _PUT, (*owner, policy.redact_secrets, policy.retention_days, policy.updated_by, policy.updated_at)
        )

    def page(self, instance: str, limit: int, offset: int) -> tuple[tuple[Policy, ...], int]:
        total = query(self._db, "SELECT count(*) FROM policies WHERE instance = ?", (instance,))[0][0]
        return tuple(self._rows(_LIST, (instance, limit, offset))), int(total)

    def retained(self, default_days: int) -> tuple[tuple[Scope, int], ...]:
        if default_days == 0 and not query(self._db, _ANY_RETENTION):
            return ()
        found = []
        for row in query(self._db, _SCOPES):
            scope = Scope(*row)
            days = self.effective(*row).retention_days
            if days := default_days if days is None else days:
                found.append((scope, days))
        return tuple(found)

    def _rows(self, sql: str, values: tuple[str | int, ...]) -> list[Policy]:
        return [
            Policy(instance, team, agent, user, None if redacts is None else bool(redacts), days, by, at)
            for instance, team, agent, user, redacts, days, by, at in query(self._db, sql, values)
        ]


def _first(values: Iterable[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)
