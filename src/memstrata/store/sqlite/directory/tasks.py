"""Tasks in SQLite, the agents linked to them, and the log of who took part.

Indexes are named, because SQLite without statistics holds that an instance has ten rows and reads all of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw

from memstrata.records.agents import Participation, Task, TaskAgent
from memstrata.store.directory import DirectoryPage, ParticipationFilter, TaskFilter, Window
from memstrata.store.sqlite.connection import query

__all__ = ["SqliteTasks"]

_COLUMNS = """task_id, team_id, creator_user_id, title, description, source_type, source_url, status, auto_assign,
risk_level, metadata, created_at, updated_at"""
_ADD = f"INSERT INTO tasks (instance, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_GET = f"SELECT {_COLUMNS} FROM tasks WHERE instance = ? AND task_id = ?"
_REPLACE = """
UPDATE tasks SET title = ?, description = ?, source_type = ?, source_url = ?, status = ?, auto_assign = ?,
risk_level = ?, metadata = ?, updated_at = ? WHERE instance = ? AND task_id = ?
"""
_REMOVE_REST = (
    "DELETE FROM task_agents WHERE instance = ? AND task_id = ?",
    "DELETE FROM participations INDEXED BY participations_by_task WHERE instance = ? AND task_id = ?",
)
_REMOVE = "DELETE FROM tasks WHERE instance = ? AND task_id = ?"

# A page names the newest ids first and fetches their rows only then: the index alone decides.
_PAGE = f"""
SELECT {", ".join(f"o.{column.strip()}" for column in _COLUMNS.split(","))}
FROM (
  SELECT instance, task_id, created_at FROM tasks t {{index}} WHERE {{where}}
  ORDER BY created_at DESC, task_id DESC LIMIT ? OFFSET ?
) c
CROSS JOIN tasks o ON o.instance = c.instance AND o.task_id = c.task_id
ORDER BY o.created_at DESC, o.task_id DESC
"""
_COUNT = "SELECT count(*) FROM tasks t {index} WHERE {where}"
_SEEN = """
(t.creator_user_id = ? OR t.team_id IN (
  SELECT team_id FROM team_members INDEXED BY team_members_by_user
  WHERE instance = ? AND user_id = ? AND status = 'active'))
"""

_LINK_COLUMNS = "link_id, task_id, agent_id, role_in_task, created_at"
_LINK = f"""
INSERT INTO task_agents (instance, {_LINK_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (instance, task_id, agent_id) DO UPDATE SET role_in_task = excluded.role_in_task
RETURNING {_LINK_COLUMNS}
"""
_UNLINK = "DELETE FROM task_agents WHERE instance = ? AND task_id = ? AND agent_id = ?"
_LINKED = f"SELECT {_LINK_COLUMNS} FROM task_agents WHERE instance = ? AND task_id = ? AND agent_id = ?"
_LINKS = f"""
SELECT {_LINK_COLUMNS} FROM task_agents WHERE instance = ? AND task_id = ?
ORDER BY created_at DESC, link_id DESC LIMIT ? OFFSET ?
"""
_COUNT_LINKS = "SELECT count(*) FROM task_agents WHERE instance = ? AND task_id = ?"

_LINE_COLUMNS = "log_id, team_id, task_id, agent_id, user_id, source, metadata, created_at, updated_at"
_TOOK_PART = f"INSERT INTO participations (instance, {_LINE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_LINES = f"""
SELECT {", ".join(f"o.{column}" for column in _LINE_COLUMNS.split(", "))}
FROM (
  SELECT instance, log_id, created_at FROM {{lines}}
  ORDER BY created_at DESC, log_id DESC LIMIT ? OFFSET ?
) c
CROSS JOIN participations o ON o.instance = c.instance AND o.log_id = c.log_id
ORDER BY o.created_at DESC, o.log_id DESC
"""
_OF_TEAM = "participations INDEXED BY participations_by_team WHERE {where}"
_NEWEST_OF_EACH = f"""
(SELECT instance, log_id, created_at,
  row_number() OVER (PARTITION BY user_id ORDER BY created_at DESC, log_id DESC) AS place
  FROM {_OF_TEAM}) WHERE place = 1
"""
_COUNT_LINES = f"SELECT count(*) FROM {_OF_TEAM}"
_COUNT_USERS = f"SELECT count(DISTINCT user_id) FROM {_OF_TEAM}"


class SqliteTasks:
    """See `store.directory.Tasks`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def add(self, instance: str, task: Task) -> None:
        row = (task.task_id, task.team_id, task.creator_user_id, *_told(task), task.created_at, task.updated_at)
        self._db.execute(_ADD, (instance, *row))

    def get(self, instance: str, task_id: str) -> Task | None:
        rows = query(self._db, _GET, (instance, task_id))
        return _task(rows[0]) if rows else None

    def replace(self, instance: str, task: Task) -> None:
        self._db.execute(_REPLACE, (*_told(task), task.updated_at, instance, task.task_id))

    def remove(self, instance: str, task_id: str) -> bool:
        for statement in _REMOVE_REST:
            self._db.execute(statement, (instance, task_id))
        self._db.execute(_REMOVE, (instance, task_id))
        return self._db.changes() > 0

    def page(self, instance: str, where: TaskFilter, window: Window) -> DirectoryPage[Task]:
        clauses, values = _equal(
            "t.",
            ("instance", instance),
            ("team_id", where.team_id),
            ("creator_user_id", where.creator_user_id),
            ("status", where.status),
            ("title", where.title),
        )
        if where.viewer is not None:
            clauses.append(_SEEN)
            values += [where.viewer, instance, where.viewer]
        chosen = {"where": " AND ".join(clauses), "index": _index(where)}
        rows = query(self._db, _PAGE.format(**chosen), (*values, window.limit, window.offset))
        total = query(self._db, _COUNT.format(**chosen), values)[0][0]
        return DirectoryPage(tuple(_task(row) for row in rows), total)

    def link(self, instance: str, link: TaskAgent) -> TaskAgent:
        row = (link.link_id, link.task_id, link.agent_id, link.role_in_task, link.created_at)
        return TaskAgent(*query(self._db, _LINK, (instance, *row))[0])

    def unlink(self, instance: str, task_id: str, agent_id: str) -> bool:
        self._db.execute(_UNLINK, (instance, task_id, agent_id))
        return self._db.changes() > 0

    def linked(self, instance: str, task_id: str, agent_id: str) -> TaskAgent | None:
        rows = query(self._db, _LINKED, (instance, task_id, agent_id))
        return TaskAgent(*rows[0]) if rows else None

    def links(self, instance: str, task_id: str, window: Window) -> DirectoryPage[TaskAgent]:
        rows = query(self._db, _LINKS, (instance, task_id, window.limit, window.offset))
        total = query(self._db, _COUNT_LINKS, (instance, task_id))[0][0]
        return DirectoryPage(tuple(TaskAgent(*row) for row in rows), total)

    def took_part(self, instance: str, line: Participation) -> None:
        p = line
        row = (p.log_id, p.team_id, p.task_id, p.agent_id, p.user_id, p.source, p.metadata, p.created_at, p.updated_at)
        self._db.execute(_TOOK_PART, (instance, *row))

    def participations(self, instance: str, where: ParticipationFilter, window: Window) -> DirectoryPage[Participation]:
        clauses, values = _equal(
            "",
            ("instance", instance),
            ("team_id", where.team_id),
            ("task_id", where.task_id),
            ("agent_id", where.agent_id),
            ("user_id", where.user_id),
        )
        for clause, value in (("created_at >= ?", where.since), ("created_at <= ?", where.until)):
            if value is not None:
                clauses.append(clause)
                values.append(value)
        condition = " AND ".join(clauses)
        lines, count = (_NEWEST_OF_EACH, _COUNT_USERS) if where.dedupe else (_OF_TEAM, _COUNT_LINES)
        page = _LINES.format(lines=lines.format(where=condition))
        rows = query(self._db, page, (*values, window.limit, window.offset))
        total = query(self._db, count.format(where=condition), values)[0][0]
        return DirectoryPage(tuple(Participation(*row) for row in rows), total)


def _index(where: TaskFilter) -> str:
    if where.creator_user_id is not None:
        return "INDEXED BY tasks_by_creator"
    return "" if where.team_id is None else "INDEXED BY tasks_by_team"


def _told(task: Task) -> tuple[str | bool, ...]:
    """The columns that a change may touch, in their order."""
    t = task
    return t.title, t.description, t.source_type, t.source_url, t.status, t.auto_assign, t.risk_level, t.metadata


def _task(row: tuple[Any, ...]) -> Task:
    return Task(*(*row[:8], bool(row[8]), *row[9:]))


def _equal(prefix: str, *wanted: tuple[str, str | None]) -> tuple[list[str], list[Any]]:
    """What the columns must be, where anything is wanted of them."""
    given: Iterable[tuple[str, str]] = ((column, value) for column, value in wanted if value is not None)
    clauses, values = list[str](), list[Any]()
    for column, value in given:
        clauses.append(f"{prefix}{column} = ?")
        values.append(value)
    return clauses, values
