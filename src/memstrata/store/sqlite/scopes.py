"""Scopes and profiles as the small integers that rows carry."""

from __future__ import annotations

import apsw

from memstrata.records import Profile, Scope
from memstrata.store.sqlite.connection import query

__all__ = ["ensure_profile", "ensure_scope", "find_profile", "find_scope", "profile_by_id", "scope_by_id"]

_FIND_SCOPE = "SELECT id FROM scopes WHERE instance = ? AND team = ? AND agent = ? AND user = ?"
_ADD_SCOPE = "INSERT INTO scopes (instance, team, agent, user) VALUES (?, ?, ?, ?)"
_SCOPE = "SELECT instance, team, agent, user FROM scopes WHERE id = ?"
_FIND_PROFILE = "SELECT id FROM profiles WHERE instance = ? AND team = ? AND agent = ? AND user = ?"
_ADD_PROFILE = "INSERT INTO profiles (instance, team, agent, user) VALUES (?, ?, ?, ?)"
_PROFILE = "SELECT instance, team, agent, user FROM profiles WHERE id = ?"


def find_scope(connection: apsw.Connection, scope: Scope) -> int | None:
    """Return the scope's number, None if nothing was ever written in it."""
    return _one(connection, _FIND_SCOPE, scope)


def ensure_scope(connection: apsw.Connection, scope: Scope) -> int:
    """Return the scope's number, giving it one if need be."""
    return _ensure(connection, _FIND_SCOPE, _ADD_SCOPE, scope)


def find_profile(connection: apsw.Connection, profile: Profile) -> int | None:
    """Return the profile's number, None if nothing was ever distilled for it."""
    return _one(connection, _FIND_PROFILE, profile)


def ensure_profile(connection: apsw.Connection, profile: Profile) -> int:
    """Return the profile's number, giving it one if need be."""
    return _ensure(connection, _FIND_PROFILE, _ADD_PROFILE, profile)


def scope_by_id(connection: apsw.Connection, number: int) -> Scope:
    """Return the scope of a number that a row carries."""
    return Scope(*query(connection, _SCOPE, (number,))[0])


def profile_by_id(connection: apsw.Connection, number: int) -> Profile:
    """Return the profile of a number that a row carries. Raises IndexError if there is none."""
    return Profile(*query(connection, _PROFILE, (number,))[0])


def _one(connection: apsw.Connection, sql: str, owner: Scope | Profile) -> int | None:
    rows = query(connection, sql, (owner.instance, owner.team, owner.agent, owner.user))
    return rows[0][0] if rows else None


def _ensure(connection: apsw.Connection, find: str, add: str, owner: Scope | Profile) -> int:
    number = _one(connection, find, owner)
    if number is None:
        connection.execute(add, (owner.instance, owner.team, owner.agent, owner.user))
        number = connection.last_insert_rowid()
    return number
