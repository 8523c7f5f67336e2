"""Scopes and profiles as the small integers that rows carry."""

from __future__ import annotations

import apsw

from memstrata.records import Profile, Scope
from memstrata.store.sqlite.connection import query

__all__ = ["ScopeNumbers", "TakenNames"]

_FIND = {
    Scope: "SELECT id FROM scopes WHERE instance = ? AND team = ? AND agent = ? AND user = ?",
    Profile: "SELECT id FROM profiles WHERE instance = ? AND team = ? AND agent = ? AND user = ?",
}
_ADD = {
    Scope: "INSERT INTO scopes (instance, team, agent, user) VALUES (?, ?, ?, ?)",
    Profile: "INSERT INTO profiles (instance, team, agent, user) VALUES (?, ?, ?, ?)",
}
_SCOPE = "SELECT instance, team, agent, user FROM scopes WHERE id = ?"
_PROFILE = "SELECT instance, team, agent, user FROM profiles WHERE id = ?"
_KEPT = 10_000


class TakenNames:
    """How often names were taken from scopes, after the commit: what connections have kept by name is then read anew."""

    def __init__(self) -> None:
        self.count = 0


class ScopeNumbers:
    """The numbers as one connection sees them. They are never reused, so one that was read is kept while its name lasts."""

    def __init__(self, connection: apsw.Connection, taken: TakenNames | None = None) -> None:
        self._db = connection
        self._taken = taken or TakenNames()
        self._seen = self._taken.count
        self._kept: dict[Scope | Profile, int] = {}

    def find(self, owner: Scope | Profile) -> int | None:
        """Return the number of a scope or profile, None if nothing was ever written for it."""
        if self._seen != self._taken.count:
            self._seen = self._taken.count
            self._kept.clear()
        number = self._kept.get(owner)
        if number is None:
            rows = query(self._db, _FIND[type(owner)], (owner.instance, owner.team, owner.agent, owner.user))
            if not rows:
                return None
            number = self._keep(owner, rows[0][0])
        return number

    def ensure(self, owner: Scope | Profile) -> int:
        """Return the number of a scope or profile, giving it one if need be."""
        number = self.find(owner)
        if number is None:
            self._db.execute(_ADD[type(owner)], (owner.instance, owner.team, owner.agent, owner.user))
            number = self._keep(owner, self._db.last_insert_rowid())
        return number

    def scope(self, number: int) -> Scope:
        """Return the scope of a number that a row carries."""
        return Scope(*query(self._db, _SCOPE, (number,))[0])

    def profile(self, number: int) -> Profile:
        """Return the profile of a number that a row carries. Raises IndexError if there is none."""
        return Profile(*query(self._db, _PROFILE, (number,))[0])

    def forget(self) -> None:
        """Drop what is kept: the transaction that gave out a number was rolled back."""
        self._kept.clear()

    def _keep(self, owner: Scope | Profile, number: int) -> int:
        if len(self._kept) >= _KEPT:
            self._kept.clear()
        self._kept[owner] = number
        return number
