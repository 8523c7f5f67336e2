"""Assets in SQLite, their bindings to agents and the grants to them. Who may do what is decided in `permissions`.

A page is chosen from an index alone and only then reads its rows. Its total is not counted row by row: what the roles allow
is known from `asset_counts`, and is set right for the few assets that are the user's own, expire, or have a grant.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import apsw

from memstrata.clock import Instant
from memstrata.records.assets import Asset, AssetType, Binding, Grant, Permission
from memstrata.store.directory import AssetFilter, DirectoryPage, Window
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.directory.permissions import (
    ALLOWED,
    DECISION,
    GRANTED,
    GRANTED_IN_TEAM,
    GRANTED_ON_ONE,
    UNGRANTED_ALLOWED,
    UNOWNED_ALLOWED,
)

__all__ = ["SqliteAssets"]

_COLUMNS = """a.asset_id, a.team_id, a.asset_type, a.name, a.description, a.owner_user_id, a.source_type, a.source_ref,
a.version, a.visibility, a.status, a.confidence, a.expires_at, a.last_used_at, a.usage_count, a.content_ref, a.metadata,
a.created_at, a.updated_at"""
_ADD = f"""
INSERT INTO assets (instance, {_COLUMNS.replace("a.", "")}, expires_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_GET = f"SELECT {_COLUMNS} FROM assets a WHERE a.instance = ? AND a.asset_id = ?"
_REPLACE = """
UPDATE assets SET name = ?, description = ?, owner_user_id = ?, source_type = ?, source_ref = ?, version = ?,
visibility = ?, status = ?, confidence = ?, expires_at = ?, content_ref = ?, metadata = ?, updated_at = ?, expires_ms = ?
WHERE instance = ? AND asset_id = ?
"""
_REMOVE_REST = (
    "DELETE FROM bindings INDEXED BY bindings_by_asset WHERE instance = ? AND asset_id = ?",
    "DELETE FROM grants INDEXED BY grants_by_asset WHERE instance = ? AND asset_id = ?",
)
_REMOVE = "DELETE FROM assets WHERE instance = ? AND asset_id = ?"
_TOUCH = "UPDATE assets SET usage_count = usage_count + 1, last_used_at = ? WHERE instance = ? AND asset_id = ?"
_OF_TEAM = f"""
SELECT {_COLUMNS} FROM assets a WHERE a.instance = ? AND a.team_id = ? ORDER BY a.created_at, a.asset_id
"""

_PLACED = "LEFT JOIN places p ON p.team_id = a.team_id"
_NEAR = (
    "(p.team_id IS NOT NULL OR a.owner_user_id = :user)"  # what the rules say as well, but later: it spares their work
)
_NEWEST, _OLDEST = (f"ORDER BY a.created_at {way}, a.asset_id {way}" for way in ("DESC", "ASC"))
_PAGE = f"""
{{known}} SELECT {_COLUMNS} FROM (
  SELECT a.asset_id FROM assets a INDEXED BY {{index}} {{placed}} WHERE {{where}} {{order}} LIMIT :limit OFFSET :offset
) chosen CROSS JOIN assets a ON a.instance = :instance AND a.asset_id = chosen.asset_id {_NEWEST}
"""
_COUNT = "{known} SELECT count(*) FROM assets a INDEXED BY {index} {placed} WHERE {where}"
# All assets of the user's teams by what they are, as if none were the user's own or granted; then what owning changes, what
# expires one day, and what grants change.
_COUNT_OF_TEAMS = f"""
{{known}} SELECT
  (SELECT ifnull(sum(a.assets), 0) FROM places p
   CROSS JOIN (SELECT *, '' AS owner_user_id, NULL AS expires_ms FROM asset_counts) a
   WHERE a.team_id = p.team_id AND {{where}} AND {{unowned}})
+ (SELECT ifnull(sum({{ungranted}} - {{unowned}}), 0) FROM assets a INDEXED BY assets_by_owner {_PLACED}
   WHERE a.owner_user_id = :user AND a.expires_ms IS NULL AND {{where}})
+ (SELECT count(*) FROM assets a INDEXED BY assets_expiring {_PLACED}
   WHERE a.expires_ms IS NOT NULL AND {{where}} AND {{ungranted}})
+ (SELECT ifnull(sum({{granted}} - {{ungranted}}), 0)
   FROM (SELECT DISTINCT asset_id FROM granted) touched
   CROSS JOIN assets a ON a.instance = :instance AND a.asset_id = touched.asset_id {_PLACED}
   WHERE {{where}})
"""
_REASON = f"""
{GRANTED_ON_ONE} SELECT {DECISION}, p.role,
  (SELECT min(grant_id) FROM granted g WHERE g.asset_id = a.asset_id AND g.effect = 'deny'),
  (SELECT min(grant_id) FROM granted g WHERE g.asset_id = a.asset_id AND g.effect = 'allow')
FROM assets a {_PLACED} WHERE a.instance = :instance AND a.asset_id = :asset_id
"""
_AVAILABLE = "a.status <> 'archived' AND ifnull(a.expires_ms > :now, 1)"

_BINDING = """b.binding_id, b.agent_id, b.asset_id, b.asset_type, b.injection_mode, b.priority, b.created_by,
b.created_at"""
_BIND = f"INSERT INTO bindings (instance, {_BINDING.replace('b.', '')}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_UNBIND = "DELETE FROM bindings WHERE instance = ? AND agent_id = ?"
_BINDINGS = f"""
SELECT {_BINDING} FROM bindings b WHERE b.instance = ? AND b.agent_id = ?
ORDER BY b.created_at DESC, b.asset_id DESC LIMIT ? OFFSET ?
"""
_COUNT_BINDINGS = "SELECT count(*) FROM bindings WHERE instance = ? AND agent_id = ?"
_BOUND = f"""
{GRANTED} SELECT {{columns}} FROM bindings b CROSS JOIN assets a ON a.instance = :instance AND a.asset_id = b.asset_id {_PLACED}
WHERE b.instance = :instance AND b.agent_id = :agent AND {{where}}
  AND a.asset_type NOT IN (SELECT value FROM json_each(:hidden))
"""
_LAST_BOUND = "ORDER BY b.created_at DESC, b.asset_id DESC LIMIT :limit OFFSET :offset"
_COUNTS = f"""
{GRANTED} SELECT b.agent_id, b.asset_type, count(*)
FROM json_each(:agents) asked CROSS JOIN bindings b ON b.instance = :instance AND b.agent_id = asked.value
CROSS JOIN assets a ON a.instance = :instance AND a.asset_id = b.asset_id
LEFT JOIN agents o ON o.instance = :instance AND o.agent_id = b.agent_id {_PLACED}
WHERE (:asset_id IS NULL OR b.asset_id = :asset_id) AND {{where}} GROUP BY b.agent_id, b.asset_type
"""

_GRANT = "grant_id, asset_id, subject_type, subject_id, permission, effect, granted_by, created_at, updated_at"
_KEEP_GRANT = f"""
INSERT INTO grants (instance, {_GRANT}, team_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
  (SELECT team_id FROM assets WHERE instance = ?1 AND asset_id = ?3))
ON CONFLICT (instance, asset_id, subject_type, subject_id, permission)
DO UPDATE SET effect = excluded.effect, granted_by = excluded.granted_by, updated_at = excluded.updated_at
RETURNING {_GRANT}
"""
_GRANTED_BY_ID = f"SELECT {_GRANT} FROM grants WHERE instance = ? AND grant_id = ?"
_REVOKE = "DELETE FROM grants WHERE instance = ? AND grant_id = ?"
_GRANTS = f"""
SELECT {_GRANT} FROM grants INDEXED BY grants_by_asset WHERE instance = ? AND asset_id = ?
ORDER BY created_at DESC, grant_id DESC LIMIT ? OFFSET ?
"""
_COUNT_GRANTS = "SELECT count(*) FROM grants WHERE instance = ? AND asset_id = ?"


class SqliteAssets:
    """See `store.directory.Assets`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def add(self, instance: str, asset: Asset, expires: Instant | None) -> None:
        a = asset
        about = (
            a.asset_id,
            a.team_id,
            a.asset_type,
            a.name,
            a.description,
            a.owner_user_id,
            a.source_type,
            a.source_ref,
        )
        state = (a.version, a.visibility, a.status, a.confidence, a.expires_at, a.last_used_at, a.usage_count)
        self._db.execute(
            _ADD, (instance, *about, *state, a.content_ref, a.metadata, a.created_at, a.updated_at, expires)
        )

    def get(self, instance: str, asset_id: str) -> Asset | None:
        rows = query(self._db, _GET, (instance, asset_id))
        return Asset(*rows[0]) if rows else None

    def replace(self, instance: str, asset: Asset, expires: Instant | None) -> None:
        a = asset
        about = (a.name, a.description, a.owner_user_id, a.source_type, a.source_ref, a.version)
        state = (a.visibility, a.status, a.confidence, a.expires_at, a.content_ref, a.metadata, a.updated_at, expires)
        self._db.execute(_REPLACE, (*about, *state, instance, a.asset_id))

    def remove(self, instance: str, asset_id: str) -> bool:
        for statement in _REMOVE_REST:
            self._db.execute(statement, (instance, asset_id))
        self._db.execute(_REMOVE, (instance, asset_id))
        return self._db.changes() > 0

    def touch(self, instance: str, asset_ids: Collection[str], now: Instant) -> None:
        self._db.executemany(_TOUCH, [(now, instance, one) for one in asset_ids])

    def page(self, instance: str, where: AssetFilter, window: Window, now: Instant) -> DirectoryPage[Asset]:
        clauses, values = _narrowed(where)
        values |= {
            "instance": instance,
            "user": where.viewer,
            "action": where.action,
            "agent": where.agent_id,
            "now": now,
        }
        narrowed = " AND ".join(clauses)
        parts = {"known": "", "placed": "", "where": narrowed, "index": _index(where)}
        if where.viewer is not None:
            known = GRANTED if where.team_id is None else GRANTED_IN_TEAM
            seen = f"{narrowed} AND {_NEAR} AND {_seen(ALLOWED, where)}"
            parts |= {"known": known, "placed": _PLACED, "where": seen}
        if where.viewer is None or where.owner_user_id is not None:
            total_sql = _COUNT.format_map(parts)
        else:
            total_sql = _COUNT_OF_TEAMS.format(
                known=parts["known"],
                where=narrowed,
                granted=_seen(ALLOWED, where),
                ungranted=_seen(UNGRANTED_ALLOWED, where),
                unowned=UNOWNED_ALLOWED,
            )
        total = self._ask(total_sql, values)[0][0]
        limit, offset, order = _part(window, total)
        rows = self._ask(_PAGE.format_map(parts | {"order": order}), values | {"limit": limit, "offset": offset})
        return DirectoryPage(tuple(Asset(*row) for row in rows), total)

    def of_team(self, instance: str, team_id: str) -> tuple[Asset, ...]:
        return tuple(Asset(*row) for row in query(self._db, _OF_TEAM, (instance, team_id)))

    def reason(
        self, instance: str, asset_id: str, user_id: str, action: Permission, agent_id: str | None, now: Instant
    ) -> tuple[bool, str]:
        about = {"user": user_id, "action": action, "agent": agent_id, "now": now}
        rows = self._ask(_REASON, {"instance": instance, "asset_id": asset_id, **about})
        if not rows:
            return False, "asset_not_available"
        decision, role, denying, allowing = rows[0]
        match decision:
            case "owner":
                return True, "owner"
            case "role_default":
                return True, f"role_default:{role}"
            case "acl":
                return True, f"acl:{allowing}"
            case "acl_deny":
                return False, f"acl_deny:{denying}"
            case _:
                return False, decision

    def bind(self, instance: str, agent_id: str, bindings: Sequence[Binding]) -> None:
        self._db.execute(_UNBIND, (instance, agent_id))
        for one in bindings:
            self.add_binding(instance, one)

    def add_binding(self, instance: str, binding: Binding) -> None:
        b = binding
        how = (b.asset_type, b.injection_mode, b.priority, b.created_by, b.created_at)
        self._db.execute(_BIND, (instance, b.binding_id, b.agent_id, b.asset_id, *how))

    def bindings(self, instance: str, agent_id: str, window: Window) -> DirectoryPage[Binding]:
        rows = query(self._db, _BINDINGS, (instance, agent_id, window.limit, window.offset))
        total = query(self._db, _COUNT_BINDINGS, (instance, agent_id))[0][0]
        return DirectoryPage(tuple(Binding(*row) for row in rows), total)

    def bound(
        self,
        instance: str,
        agent_id: str,
        viewer: str | None,
        window: Window,
        now: Instant,
        hidden_types: Sequence[AssetType] = (),
    ) -> DirectoryPage[tuple[Binding, Asset]]:
        values = {
            "instance": instance,
            "user": viewer,
            "action": "read",
            "agent": agent_id,
            "now": now,
            "hidden": json.dumps(hidden_types),
            "limit": window.limit,
            "offset": window.offset,
        }
        seen = _AVAILABLE if viewer is None else ALLOWED
        rows = self._ask(_BOUND.format(columns=f"{_BINDING}, {_COLUMNS}", where=seen) + _LAST_BOUND, values)
        total = self._ask(_BOUND.format(columns="count(*)", where=seen), values)[0][0]
        return DirectoryPage(tuple((Binding(*row[:8]), Asset(*row[8:])) for row in rows), total)

    def counts(
        self, instance: str, agent_ids: Sequence[str], asset_id: str | None, viewer: str | None, now: Instant
    ) -> Mapping[str, Mapping[AssetType, int]]:
        seen = "1" if viewer is None else f"(o.owner_user_id = :user OR {ALLOWED})"
        about = {"user": viewer, "action": "read", "agent": None, "now": now}
        values = {"instance": instance, "agents": json.dumps(agent_ids), "asset_id": asset_id, **about}
        found: dict[str, dict[AssetType, int]] = {one: {} for one in agent_ids}
        for agent_id, asset_type, count in self._ask(_COUNTS.format(where=seen), values):
            found[agent_id][asset_type] = count
        return found

    def grant(self, instance: str, grant: Grant) -> Grant:
        g = grant
        whom = (g.grant_id, g.asset_id, g.subject_type, g.subject_id, g.permission, g.effect)
        kept = query(self._db, _KEEP_GRANT, (instance, *whom, g.granted_by, g.created_at, g.updated_at))
        return Grant(*kept[0])

    def granted(self, instance: str, grant_id: str) -> Grant | None:
        rows = query(self._db, _GRANTED_BY_ID, (instance, grant_id))
        return Grant(*rows[0]) if rows else None

    def revoke(self, instance: str, grant_id: str) -> bool:
        self._db.execute(_REVOKE, (instance, grant_id))
        return self._db.changes() > 0

    def grants(self, instance: str, asset_id: str, window: Window) -> DirectoryPage[Grant]:
        rows = query(self._db, _GRANTS, (instance, asset_id, window.limit, window.offset))
        total = query(self._db, _COUNT_GRANTS, (instance, asset_id))[0][0]
        return DirectoryPage(tuple(Grant(*row) for row in rows), total)

    def _ask(self, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self._db.execute(sql, dict(values)).fetchall()


def _narrowed(where: AssetFilter) -> tuple[list[str], dict[str, Any]]:
    """Return the conditions that are no matter of permission, with their values."""
    clauses, values = ["a.instance = :instance"], dict[str, Any]()
    for column, value in (
        ("team_id", where.team_id),
        ("asset_type", where.asset_type),
        ("status", where.status),
        ("owner_user_id", where.owner_user_id),
    ):
        if value is not None:
            clauses.append(f"a.{column} = :{column}")
            values[column] = value
    if where.visibilities is not None:
        clauses.append("a.visibility IN (SELECT value FROM json_each(:visibilities))")
        values["visibilities"] = json.dumps(where.visibilities)
    if where.hidden_types:
        clauses.append("a.asset_type NOT IN (SELECT value FROM json_each(:hidden))")
        values["hidden"] = json.dumps(where.hidden_types)
    if where.usable:
        clauses.append("a.status NOT IN ('deprecated', 'failed')")
        if where.viewer is None:  # else the rules look at the rest
            clauses.append(_AVAILABLE)
    return clauses, values


def _seen(rule: str, where: AssetFilter) -> str:
    """Return who sees an asset in a list. One that is archived or expired is still shown to its owner, if wanted."""
    return rule if where.usable else f"({rule} OR a.owner_user_id = :user)"


def _index(where: AssetFilter) -> str:
    if where.owner_user_id is not None:
        return "assets_by_owner"
    return "assets_by_age" if where.team_id is None else "assets_by_team"


def _part(window: Window, total: int) -> tuple[int, int, str]:
    """Return limit, offset and order that reach a page from the nearer end of the list."""
    limit = max(0, min(window.limit, total - window.offset))
    if window.offset <= total // 2:
        return limit, window.offset, _NEWEST
    return limit, max(0, total - window.offset - limit), _OLDEST
