"""The users of an instance in SQLite."""

from __future__ import annotations

import json
from typing import Any

import apsw

from memstrata.records.people import User
from memstrata.store.directory import DirectoryPage, UserFilter, Window
from memstrata.store.sqlite.connection import query

__all__ = ["SqliteUsers"]

_COLUMNS = "user_id, user_type, username, status, created_at, updated_at"
_ADD = f"INSERT INTO users (instance, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_GET = f"SELECT {_COLUMNS} FROM users WHERE instance = ? AND user_id = ?"
_COUNT = "SELECT count(*) FROM users WHERE instance = ?"
_REMOVE = "DELETE FROM users WHERE instance = ? AND user_id = ?"

# What is nothing without its user. What the user owns stays, see `store.directory.Users.remove`.
_REMOVE_WITH = (
    "DELETE FROM user_keys INDEXED BY user_keys_by_user WHERE instance = ? AND user_id = ?",
    "DELETE FROM team_members INDEXED BY team_members_by_user WHERE instance = ? AND user_id = ?",
    "DELETE FROM user_params WHERE instance = ? AND user_id = ?",
    "DELETE FROM grants INDEXED BY grants_by_subject WHERE instance = ? AND subject_type = 'user' AND subject_id = ?",
)

_OF_TEAM = """
user_id IN (SELECT m.user_id FROM team_members m WHERE m.instance = ? AND m.team_id = ? AND m.status = 'active')
"""


class SqliteUsers:
    """See `store.directory.Users`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def add(self, instance: str, user: User) -> None:
        u = user
        row = (u.user_id, u.user_type, u.username, u.status, u.created_at, u.updated_at)
        self._db.execute(_ADD, (instance, *row))

    def get(self, instance: str, user_id: str) -> User | None:
        rows = query(self._db, _GET, (instance, user_id))
        return User(*rows[0]) if rows else None

    def count(self, instance: str) -> int:
        return int(query(self._db, _COUNT, (instance,))[0][0])

    def page(self, instance: str, where: UserFilter, window: Window) -> DirectoryPage[User]:
        clauses, values = _narrowed(instance, where)
        condition = " AND ".join(clauses)
        total = query(self._db, f"SELECT count(*) FROM users WHERE {condition}", values)[0][0]
        rows = query(
            self._db,
            f"SELECT {_COLUMNS} FROM users WHERE {condition} ORDER BY created_at DESC, user_id DESC LIMIT ? OFFSET ?",
            (*values, window.limit, window.offset),
        )
        return DirectoryPage(tuple(User(*row) for row in rows), total)

    def remove(self, instance: str, user_id: str) -> bool:
        for statement in _REMOVE_WITH:
            self._db.execute(statement, (instance, user_id))
        self._db.execute(_REMOVE, (instance, user_id))
        return self._db.changes() > 0


def _narrowed(instance: str, where: UserFilter) -> tuple[list[str], list[Any]]:
    clauses, values = ["instance = ?"], list[Any]([instance])
    if where.team_id is not None:
        clauses.append(_OF_TEAM)
        values += [instance, where.team_id]
    if where.user_ids is not None:
        clauses.append("user_id IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(where.user_ids))
    for column, value in (("username", where.username), ("status", where.status), ("user_type", where.user_type)):
        if value is not None:
            clauses.append(f"{column} = ?")
            values.append(value)
    return clauses, values
