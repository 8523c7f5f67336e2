"""Custom prompts in SQLite: their texts, what they are bound to, and who changed that when."""

from __future__ import annotations

import hashlib
from typing import Any

import apsw

from memstrata.records import (
    CustomPrompt,
    Layer,
    MemoryPrompt,
    PromptRef,
    PromptSetting,
    PromptSettingChange,
    PromptTarget,
)
from memstrata.store.shapes import PromptFilter
from memstrata.store.sqlite.connection import query

__all__ = ["SqlitePrompts"]

_COLUMNS = "prompt_id, name, layer, text, version, created_by, updated_by, created_at, updated_at"
_ADD = f"INSERT INTO prompts (instance, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_GET = f"SELECT {_COLUMNS} FROM prompts WHERE instance = ? AND prompt_id = ?"
_COUNT = "SELECT count(*) FROM prompts WHERE instance = ?"
_REPLACE = """
UPDATE prompts SET name = ?, text = ?, version = ?, updated_by = ?, updated_at = ? WHERE instance = ? AND prompt_id = ?
"""
_REMOVE = "DELETE FROM prompts WHERE instance = ? AND prompt_id = ?"

_SETTING = "instance, team, agent, layer, prompt_id, updated_by, updated_at"
_BOUND = f"SELECT {_SETTING} FROM prompt_settings WHERE instance = ? AND team = ? AND agent = ? AND layer = ?"
_BOUND_TO = f"""
SELECT {_SETTING} FROM prompt_settings WHERE instance = ? AND prompt_id = ? ORDER BY team, agent, layer
"""
_BIND = f"INSERT OR REPLACE INTO prompt_settings ({_SETTING}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_UNBIND = "DELETE FROM prompt_settings WHERE instance = ? AND team = ? AND agent = ? AND layer = ?"

_CHANGE = "instance, team, agent, layer, action, reason, before_prompt_id, after_prompt_id, operator, at"
_NOTE_CHANGE = f"INSERT INTO prompt_changes ({_CHANGE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

# The three targets that can speak for an agent; the narrowest one that has a prompt wins.
_EFFECTIVE = """
SELECT p.prompt_id, p.version, p.text, s.instance, s.team, s.agent
FROM prompt_settings s JOIN prompts p ON p.instance = s.instance AND p.prompt_id = s.prompt_id AND p.layer = s.layer
WHERE s.instance = ?1 AND s.layer = ?4 AND (s.team, s.agent) IN (VALUES (?2, ?3), (?2, ''), ('', ''))
ORDER BY s.agent <> '' DESC, s.team <> '' DESC LIMIT 1
"""
_KIND = {
    "instance": "team = '' AND agent = ''",
    "team": "team <> '' AND agent = ''",
    "agent": "agent <> ''",
}


class SqlitePrompts:
    """See `store.protocol.Prompts`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def add(self, instance: str, prompt: MemoryPrompt) -> None:
        p = prompt
        row = (p.prompt_id, p.name, p.layer, p.text, p.version, p.created_by, p.updated_by, p.created_at, p.updated_at)
        self._db.execute(_ADD, (instance, *row))

    def get(self, instance: str, prompt_id: str) -> MemoryPrompt | None:
        rows = query(self._db, _GET, (instance, prompt_id))
        return MemoryPrompt(*rows[0]) if rows else None

    def count(self, instance: str) -> int:
        return int(query(self._db, _COUNT, (instance,))[0][0])

    def page(
        self, instance: str, layer: Layer | None, limit: int, offset: int, *, newest_first: bool
    ) -> tuple[MemoryPrompt, ...]:
        order = _direction("created_at, id", newest_first)
        sql = (
            f"SELECT {_COLUMNS} FROM prompts WHERE instance = ?1 AND (?2 IS NULL OR layer = ?2)"
            f" ORDER BY {order} LIMIT ?3 OFFSET ?4"
        )
        return tuple(MemoryPrompt(*row) for row in query(self._db, sql, (instance, layer, limit, offset)))

    def replace(self, instance: str, prompt: MemoryPrompt) -> None:
        p = prompt
        values = (p.name, p.text, p.version, p.updated_by, p.updated_at, instance, p.prompt_id)
        self._db.execute(_REPLACE, values)

    def remove(self, instance: str, prompt_id: str) -> None:
        self._db.execute(_REMOVE, (instance, prompt_id))

    def bound(self, target: PromptTarget, layer: Layer) -> PromptSetting | None:
        rows = query(self._db, _BOUND, (*_names(target), layer))
        return _setting(rows[0]) if rows else None

    def bound_to(self, instance: str, prompt_id: str) -> tuple[PromptSetting, ...]:
        return tuple(_setting(row) for row in query(self._db, _BOUND_TO, (instance, prompt_id)))

    def bind(self, setting: PromptSetting) -> None:
        s = setting
        self._db.execute(_BIND, (*_names(s.target), s.layer, s.prompt_id, s.updated_by, s.updated_at))

    def unbind(self, target: PromptTarget, layer: Layer) -> None:
        self._db.execute(_UNBIND, (*_names(target), layer))

    def settings(
        self, where: PromptFilter, limit: int, offset: int, *, newest_first: bool
    ) -> tuple[PromptSetting, ...]:
        clauses, values = _owners(where)
        if where.prompt_id is not None:
            clauses.append("prompt_id = ?")
            values.append(where.prompt_id)
        order = _direction("updated_at, team, agent, layer", newest_first)
        sql = f"SELECT {_SETTING} FROM prompt_settings WHERE {' AND '.join(clauses)} ORDER BY {order} LIMIT ? OFFSET ?"
        return tuple(_setting(row) for row in query(self._db, sql, (*values, limit, offset)))

    def note_change(self, change: PromptSettingChange) -> None:
        c = change
        told = (c.action, c.reason, c.before_prompt_id, c.after_prompt_id, c.operator, c.at)
        self._db.execute(_NOTE_CHANGE, (*_names(c.target), c.layer, *told))

    def changes(
        self, where: PromptFilter, limit: int, offset: int, *, newest_first: bool
    ) -> tuple[PromptSettingChange, ...]:
        clauses, values = _owners(where)
        if where.prompt_id is not None:
            clauses.append("? IN (before_prompt_id, after_prompt_id)")
            values.append(where.prompt_id)
        for clause, value in (("action = ?", where.action), ("at >= ?", where.since), ("at <= ?", where.until)):
            if value is not None:
                clauses.append(clause)
                values.append(value)
        order = _direction("at, id", newest_first)
        sql = (
            f"SELECT id, {_CHANGE} FROM prompt_changes WHERE {' AND '.join(clauses)} ORDER BY {order} LIMIT ? OFFSET ?"
        )
        rows = query(self._db, sql, (*values, limit, offset))
        return tuple(PromptSettingChange(row[0], PromptTarget(*row[1:4]), *row[4:]) for row in rows)

    def effective(self, target: PromptTarget, layer: Layer) -> CustomPrompt | None:
        rows = query(self._db, _EFFECTIVE, (*_names(target), layer))
        if not rows:
            return None
        prompt_id, version, text, *owner = rows[0]
        digest = hashlib.sha256(text.encode()).hexdigest()
        return CustomPrompt(PromptRef(prompt_id, version, PromptTarget(*owner).kind, digest), text)


def _names(target: PromptTarget) -> tuple[str, str, str]:
    return target.instance, target.team, target.agent


def _setting(row: tuple[Any, ...]) -> PromptSetting:
    return PromptSetting(PromptTarget(*row[:3]), *row[3:])


def _owners(where: PromptFilter) -> tuple[list[str], list[str | int]]:
    """What bindings and their changes are both narrowed by."""
    clauses, values = ["instance = ?"], list[str | int]([where.instance])
    if where.kind is not None:
        clauses.append(_KIND[where.kind])
    for column, value in (("team", where.team), ("agent", where.agent), ("layer", where.layer)):
        if value is not None:
            clauses.append(f"{column} = ?")
            values.append(value)
    return clauses, values


def _direction(columns: str, newest_first: bool) -> str:
    return columns.replace(",", " DESC,") + " DESC" if newest_first else columns
