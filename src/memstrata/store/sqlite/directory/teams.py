"""Teams in SQLite.

Indexes are named, because SQLite without statistics holds that an instance has ten rows and reads all of it.
"""

from __future__ import annotations

import apsw

from memstrata.records.people import Team
from memstrata.store.directory import DirectoryPage, Window
from memstrata.store.sqlite.connection import query

__all__ = ["SqliteTeams"]

_COLUMNS = "team_id, name, description, owner_user_id, status, metadata, created_at, updated_at"
_ADD = f"INSERT INTO teams (instance, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_GET = f"SELECT {_COLUMNS} FROM teams WHERE instance = ? AND team_id = ?"
_COUNT = "SELECT count(*) FROM teams WHERE instance = ?"
_REPLACE = """
UPDATE teams SET name = ?, description = ?, owner_user_id = ?, status = ?, metadata = ?, updated_at = ?
WHERE instance = ? AND team_id = ?
"""
_REMOVE = "DELETE FROM teams WHERE instance = ? AND team_id = ?"
_REMOVE_WITH = (
    """
    DELETE FROM task_agents WHERE instance = ?1
      AND task_id IN (SELECT t.task_id FROM tasks t INDEXED BY tasks_by_team WHERE t.instance = ?1 AND t.team_id = ?2)
    """,
    "DELETE FROM tasks INDEXED BY tasks_by_team WHERE instance = ?1 AND team_id = ?2",
    "DELETE FROM participations INDEXED BY participations_by_team WHERE instance = ?1 AND team_id = ?2",
    "DELETE FROM team_members WHERE instance = ?1 AND team_id = ?2",
)

_OF_MEMBER = """
FROM team_members m INDEXED BY team_members_by_user CROSS JOIN teams t ON t.instance = m.instance AND t.team_id = m.team_id
WHERE m.instance = ?1 AND m.user_id = ?2 AND m.status = 'active' AND (?3 IS NULL OR t.name = ?3)
"""
_COUNT_OF_MEMBER = f"SELECT count(*) {_OF_MEMBER}"
_PAGE_OF_MEMBER = f"""
SELECT t.team_id, t.name, t.description, t.owner_user_id, t.status, t.metadata, t.created_at, t.updated_at
{_OF_MEMBER} ORDER BY t.created_at DESC, t.team_id DESC LIMIT ?4 OFFSET ?5
"""


class SqliteTeams:
    """See `store.directory.Teams`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def add(self, instance: str, team: Team) -> None:
        t = team
        row = (t.team_id, t.name, t.description, t.owner_user_id, t.status, t.metadata, t.created_at, t.updated_at)
        self._db.execute(_ADD, (instance, *row))

    def get(self, instance: str, team_id: str) -> Team | None:
        rows = query(self._db, _GET, (instance, team_id))
        return Team(*rows[0]) if rows else None

    def count(self, instance: str) -> int:
        return int(query(self._db, _COUNT, (instance,))[0][0])

    def replace(self, instance: str, team: Team) -> None:
        t = team
        values = (t.name, t.description, t.owner_user_id, t.status, t.metadata, t.updated_at, instance, t.team_id)
        self._db.execute(_REPLACE, values)

    def remove(self, instance: str, team_id: str) -> bool:
        for statement in _REMOVE_WITH:
            self._db.execute(statement, (instance, team_id))
        self._db.execute(_REMOVE, (instance, team_id))
        return self._db.changes() > 0

    def page(self, instance: str, member: str, name: str | None, window: Window) -> DirectoryPage[Team]:
        total = query(self._db, _COUNT_OF_MEMBER, (instance, member, name))[0][0]
        rows = query(self._db, _PAGE_OF_MEMBER, (instance, member, name, window.limit, window.offset))
        return DirectoryPage(tuple(Team(*row) for row in rows), total)
