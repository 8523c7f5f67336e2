"""Agents in SQLite, and who may see which: decided in the query, so that a page and its total agree.

Indexes are named, because SQLite without statistics holds that an instance has ten rows and reads all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from memstrata.records.agents import Agent
from memstrata.store.directory import AgentFilter, DirectoryPage, Window
from memstrata.store.sqlite.connection import query

__all__ = ["SqliteAgents"]

_COLUMNS = """agent_id, team_id, owner_user_id, name, description, prompt, visibility, status, metadata, created_at,
updated_at"""
_ADD = f"INSERT INTO agents (instance, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_GET = f"SELECT {_COLUMNS} FROM agents WHERE instance = ? AND agent_id = ?"
_REPLACE = """
UPDATE agents SET team_id = ?, owner_user_id = ?, name = ?, description = ?, prompt = ?, visibility = ?, status = ?,
metadata = ?, updated_at = ? WHERE instance = ? AND agent_id = ?
"""
_OF_TEAM = f"SELECT {_COLUMNS} FROM agents WHERE instance = ? AND team_id = ? ORDER BY created_at, agent_id"
_OWNED_BY = f"SELECT {_COLUMNS} FROM agents WHERE instance = ? AND owner_user_id = ? ORDER BY created_at, agent_id"
_REMOVE_REST = (
    "DELETE FROM bindings WHERE instance = ? AND agent_id = ?",
    "DELETE FROM task_agents INDEXED BY task_agents_by_agent WHERE instance = ? AND agent_id = ?",
    "DELETE FROM participations INDEXED BY participations_by_agent WHERE instance = ? AND agent_id = ?",
    """
    DELETE FROM grants INDEXED BY grants_by_subject WHERE instance = ? AND subject_type = 'agent' AND subject_id = ?
    """,
)
_REMOVE = "DELETE FROM agents WHERE instance = ? AND agent_id = ?"

# A page names the newest ids first and fetches their rows, long prompts and all, only then: the index alone decides.
_CHOSEN = "SELECT instance, agent_id, created_at FROM agents a {index} WHERE {where}"
_PAGE = f"""
SELECT {", ".join(f"o.{column.strip()}" for column in _COLUMNS.split(","))}
FROM ({_CHOSEN} ORDER BY created_at DESC, agent_id DESC LIMIT ? OFFSET ?) c
CROSS JOIN agents o ON o.instance = c.instance AND o.agent_id = c.agent_id
ORDER BY o.created_at DESC, o.agent_id DESC
"""
_COUNT = "SELECT count(*) FROM agents a {index} WHERE {where}"

# The teams of a viewer are looked up once for a query. A grant to a role holds for who has that role in the agent's team.
_MEMBER = """
SELECT team_id FROM team_members INDEXED BY team_members_by_user
WHERE instance = ? AND user_id = ? AND status = 'active'
"""
_GRANTED = """
SELECT 1 FROM grants g INDEXED BY grants_by_asset WHERE g.instance = a.instance
  AND g.asset_id = 'chat_memory-' || a.team_id || '-' || a.agent_id AND g.permission IN ('read', 'use')
  AND g.effect = ?
  AND (g.subject_type = 'user' AND g.subject_id = ?
    OR g.subject_type = 'team_role' AND g.subject_id = (
      SELECT m.role FROM team_members m
      WHERE m.instance = a.instance AND m.team_id = a.team_id AND m.user_id = ? AND m.status = 'active'))
"""
_SEEN = f"""
(a.owner_user_id = ?
  OR a.visibility IN ('team', 'agent', 'task') AND a.team_id IN ({_MEMBER})
  OR a.visibility = 'restricted' AND a.team_id IN ({_MEMBER})
    AND (a.team_id IN ({_MEMBER} AND role = 'admin') OR EXISTS ({_GRANTED}) AND NOT EXISTS ({_GRANTED})))
"""
_GET_SEEN = f"SELECT {_COLUMNS} FROM agents a WHERE a.instance = ? AND a.agent_id = ? AND {_SEEN}"


class SqliteAgents:
    """See `store.directory.Agents`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def add(self, instance: str, agent: Agent) -> None:
        a = agent
        told = (a.name, a.description, a.prompt, a.visibility, a.status, a.metadata, a.created_at, a.updated_at)
        self._db.execute(_ADD, (instance, a.agent_id, a.team_id, a.owner_user_id, *told))

    def get(self, instance: str, agent_id: str) -> Agent | None:
        rows = query(self._db, _GET, (instance, agent_id))
        return Agent(*rows[0]) if rows else None

    def seen(self, instance: str, agent_id: str, viewer: str) -> Agent | None:
        rows = query(self._db, _GET_SEEN, (instance, agent_id, *_seen_by(instance, viewer)))
        return Agent(*rows[0]) if rows else None

    def replace(self, instance: str, agent: Agent) -> None:
        a = agent
        told = (a.name, a.description, a.prompt, a.visibility, a.status, a.metadata, a.updated_at)
        self._db.execute(_REPLACE, (a.team_id, a.owner_user_id, *told, instance, a.agent_id))

    def remove(self, instance: str, agent_id: str) -> bool:
        for statement in _REMOVE_REST:
            self._db.execute(statement, (instance, agent_id))
        self._db.execute(_REMOVE, (instance, agent_id))
        return self._db.changes() > 0

    def page(self, instance: str, where: AgentFilter, window: Window) -> DirectoryPage[Agent]:
        clauses, values = _narrowed(instance, where)
        chosen = {"where": " AND ".join(clauses), "index": _index(where)}
        rows = query(self._db, _PAGE.format(**chosen), (*values, window.limit, window.offset))
        total = query(self._db, _COUNT.format(**chosen), values)[0][0]
        return DirectoryPage(tuple(Agent(*row) for row in rows), total)

    def of_team(self, instance: str, team_id: str) -> tuple[Agent, ...]:
        return self._all(_OF_TEAM, (instance, team_id))

    def owned_by(self, instance: str, user_id: str) -> tuple[Agent, ...]:
        return self._all(_OWNED_BY, (instance, user_id))

    def _all(self, sql: str, values: Sequence[str]) -> tuple[Agent, ...]:
        return tuple(Agent(*row) for row in query(self._db, sql, values))


def _index(where: AgentFilter) -> str:
    if where.owner_user_id is not None:
        return "INDEXED BY agents_by_owner"
    return "" if where.team_id is None else "INDEXED BY agents_by_team"


def _narrowed(instance: str, where: AgentFilter) -> tuple[list[str], list[Any]]:
    clauses, values = ["a.instance = ?"], list[Any]([instance])
    for column, value in (
        ("team_id", where.team_id),
        ("owner_user_id", where.owner_user_id),
        ("status", where.status),
        ("name", where.name),
    ):
        if value is not None:
            clauses.append(f"a.{column} = ?")
            values.append(value)
    if where.viewer is not None:
        clauses.append(_SEEN)
        values += _seen_by(instance, where.viewer)
    return clauses, values


def _seen_by(instance: str, viewer: str) -> tuple[str, ...]:
    """The values of `_SEEN`."""
    member = (instance, viewer)
    return viewer, *member, *member, *member, "allow", viewer, viewer, "deny", viewer, viewer
