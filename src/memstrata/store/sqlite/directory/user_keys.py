"""The keys of users in SQLite, by their hash."""

from __future__ import annotations

import hmac
from typing import Any

import apsw

from memstrata.clock import Instant
from memstrata.records.people import User, UserKey
from memstrata.store.directory import DirectoryPage, Window
from memstrata.store.sqlite.connection import query

__all__ = ["SqliteUserKeys"]

_COLUMNS = "key_id, user_id, mask, name, is_default, created_at, expires_at, last_used_at"
_ADD = f"INSERT INTO user_keys (instance, digest, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_GET = f"SELECT {_COLUMNS} FROM user_keys WHERE instance = ? AND key_id = ?"
_OWNER = """
SELECT k.digest, k.key_id, k.user_id, k.mask, k.name, k.is_default, k.created_at, k.expires_at, k.last_used_at,
  u.user_id, u.user_type, u.username, u.status, u.created_at, u.updated_at
FROM user_keys k JOIN users u ON u.instance = k.instance AND u.user_id = k.user_id
WHERE k.instance = ? AND k.digest = ?
"""
_COUNT = "SELECT count(*) FROM user_keys WHERE instance = ? AND user_id = ?"
_PAGE = f"""
SELECT {_COLUMNS} FROM user_keys WHERE instance = ? AND user_id = ?
ORDER BY created_at DESC, key_id DESC LIMIT ? OFFSET ?
"""
_ACTIVE = """
SELECT count(*) FROM user_keys INDEXED BY user_keys_by_user
WHERE instance = ? AND user_id = ? AND (expires_at IS NULL OR expires_at > ?)
"""
_REPLACE = """
UPDATE user_keys SET name = ?, is_default = ?, expires_at = ?, last_used_at = ? WHERE instance = ? AND key_id = ?
"""
_USED = "UPDATE user_keys SET last_used_at = ? WHERE instance = ? AND key_id = ?"
_REMOVE = "DELETE FROM user_keys WHERE instance = ? AND key_id = ? RETURNING user_id, is_default"
_NEW_DEFAULT = """
UPDATE user_keys SET is_default = 1 WHERE instance = ?1 AND key_id = (
  SELECT key_id FROM user_keys WHERE instance = ?1 AND user_id = ?2 ORDER BY created_at DESC, key_id DESC LIMIT 1
)
"""


class SqliteUserKeys:
    """See `store.directory.UserKeys`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def add(self, instance: str, key: UserKey, digest: bytes) -> None:
        k = key
        row = (k.key_id, k.user_id, k.mask, k.name, k.is_default, k.created_at, k.expires_at, k.last_used_at)
        self._db.execute(_ADD, (instance, digest, *row))

    def owner(self, instance: str, digest: bytes) -> tuple[UserKey, User] | None:
        rows = query(self._db, _OWNER, (instance, digest))
        if not rows or not hmac.compare_digest(rows[0][0], digest):
            return None
        return _key(rows[0][1:9]), User(*rows[0][9:])

    def get(self, instance: str, key_id: str) -> UserKey | None:
        rows = query(self._db, _GET, (instance, key_id))
        return _key(rows[0]) if rows else None

    def page(self, instance: str, user_id: str, window: Window) -> DirectoryPage[UserKey]:
        total = query(self._db, _COUNT, (instance, user_id))[0][0]
        rows = query(self._db, _PAGE, (instance, user_id, window.limit, window.offset))
        return DirectoryPage(tuple(_key(row) for row in rows), total)

    def active(self, instance: str, user_id: str, now: Instant) -> int:
        return int(query(self._db, _ACTIVE, (instance, user_id, now))[0][0])

    def replace(self, instance: str, key: UserKey) -> None:
        values = (key.name, key.is_default, key.expires_at, key.last_used_at, instance, key.key_id)
        self._db.execute(_REPLACE, values)

    def used(self, instance: str, key_id: str, now: Instant) -> None:
        self._db.execute(_USED, (now, instance, key_id))

    def remove(self, instance: str, key_id: str) -> bool:
        gone = query(self._db, _REMOVE, (instance, key_id))
        if not gone:
            return False
        user_id, was_default = gone[0]
        if was_default:
            self._db.execute(_NEW_DEFAULT, (instance, user_id))
        return True


def _key(row: tuple[Any, ...]) -> UserKey:
    key_id, user_id, mask, name, is_default, created_at, expires_at, last_used_at = row
    return UserKey(key_id, user_id, mask, name, bool(is_default), created_at, expires_at, last_used_at)
