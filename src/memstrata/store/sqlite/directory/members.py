"""The members of teams in SQLite."""

from __future__ import annotations

import apsw

from memstrata.records.people import Member
from memstrata.store.directory import DirectoryPage, Window
from memstrata.store.sqlite.connection import query

__all__ = ["SqliteMembers"]

_PUT = """
INSERT INTO team_members (instance, team_id, user_id, member_id, role, status, joined_at) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET role = excluded.role, status = excluded.status
"""
_SELECT = """
SELECT m.member_id, m.team_id, m.user_id, m.role, m.status, m.joined_at, coalesce(u.username, '')
FROM team_members m LEFT JOIN users u ON u.instance = m.instance AND u.user_id = m.user_id
WHERE m.instance = ? AND m.team_id = ?
"""
_GET = f"{_SELECT} AND m.user_id = ?"
_PAGE = f"{_SELECT} ORDER BY m.joined_at DESC, m.user_id DESC LIMIT ? OFFSET ?"
_COUNT = "SELECT count(*) FROM team_members WHERE instance = ? AND team_id = ?"
_REMOVE = "DELETE FROM team_members WHERE instance = ? AND team_id = ? AND user_id = ?"


class SqliteMembers:
    """See `store.directory.MemberRows`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def put(self, instance: str, member: Member) -> None:
        m = member
        self._db.execute(_PUT, (instance, m.team_id, m.user_id, m.member_id, m.role, m.status, m.joined_at))

    def get(self, instance: str, team_id: str, user_id: str) -> Member | None:
        rows = query(self._db, _GET, (instance, team_id, user_id))
        return Member(*rows[0]) if rows else None

    def page(self, instance: str, team_id: str, window: Window) -> DirectoryPage[Member]:
        total = query(self._db, _COUNT, (instance, team_id))[0][0]
        rows = query(self._db, _PAGE, (instance, team_id, window.limit, window.offset))
        return DirectoryPage(tuple(Member(*row) for row in rows), total)

    def remove(self, instance: str, team_id: str, user_id: str) -> bool:
        self._db.execute(_REMOVE, (instance, team_id, user_id))
        return self._db.changes() > 0
