"""Lines of an export become rows, each once: what is there stays, whatever the file says.

Every line is looked up by the name that it keeps (ids, versions, paths). Only one that is missing is written, under a row
number of this database: its own where that is free, so that an import into an empty folder changes nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw
import msgspec

from memstrata.records import Profile, Scope
from memstrata.records.archive import (
    DocumentLine,
    LayerLine,
    MemoryLine,
    MessageLine,
    ProfileLine,
    RunLine,
    SessionLine,
    TombstoneLine,
)
from memstrata.records.archive_directory import TableLine
from memstrata.store.sqlite.archive.documents import DocumentWriter
from memstrata.store.sqlite.archive.memories import MemoryWriter
from memstrata.store.sqlite.archive.messages import MessageWriter
from memstrata.store.sqlite.archive.outcome import ADDED, KNOWN, Written, conflict
from memstrata.store.sqlite.archive.renumbering import Numbers
from memstrata.store.sqlite.archive.runs import RunWriter
from memstrata.store.sqlite.archive.tables import TABLES, Table
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.counts import KeptCounts
from memstrata.store.sqlite.scopes import ScopeNumbers

__all__ = ["ArchiveWriter"]

_ADMIN = "SELECT 1 FROM users WHERE instance = ? AND user_type = 'system_admin'"
_USER = "SELECT 1 FROM users WHERE instance = ? AND user_id = ?"
_FIND_PROFILE = "SELECT scenes_at, portrayed_at, persona_request FROM profiles WHERE id = ?"
_SET_PROFILE = "UPDATE profiles SET scenes_at = ?, portrayed_at = ?, persona_request = ? WHERE id = ?"
_FIND_TOMBSTONE = "SELECT 1 FROM tombstones WHERE scope_id = ? AND content_hash = ?"
_ADD_TOMBSTONE = "INSERT INTO tombstones (scope_id, content_hash, up_to) VALUES (?, ?, ?)"


class ArchiveWriter:
    """Writes the lines of one export after the other. Line order is that of the file: `records.archive`."""

    def __init__(self, connection: apsw.Connection, scopes: ScopeNumbers, kept: KeptCounts) -> None:
        self._db = connection
        self._scopes = scopes
        self._messages = MessageWriter(connection, scopes, kept)
        self._memories = MemoryWriter(connection, scopes, kept)
        self._documents = DocumentWriter(connection, scopes)
        self._runs = RunWriter(connection, scopes)

    def write(
        self,
        line: TableLine | LayerLine,
        instance: str,
        numbers: Numbers,
        terms: Callable[[str], tuple[str, ...]],
        *,
        dry: bool,
    ) -> Written:
        """Write one line, or with `dry` say what would come of it. Raises ValueError where lines contradict each other."""
        try:
            return self._write(line, instance, numbers, terms, dry=dry)
        except apsw.ConstraintError as error:
            raise ValueError(f"the database refuses it: {error}") from error

    def _write(
        self,
        line: TableLine | LayerLine,
        instance: str,
        numbers: Numbers,
        terms: Callable[[str], tuple[str, ...]],
        *,
        dry: bool,
    ) -> Written:
        match line:
            case ProfileLine():
                return self._profile(line, instance, dry=dry)
            case SessionLine():
                return self._messages.session(line, instance, dry=dry)
            case MessageLine():
                return self._messages.message(line, instance, numbers, terms, dry=dry)
            case MemoryLine():
                return self._memories.memory(line, instance, numbers, terms, dry=dry)
            case DocumentLine():
                return self._documents.document(line, instance, numbers, dry=dry)
            case TombstoneLine():
                return self._tombstone(line, instance, numbers, dry=dry)
            case RunLine():
                return self._runs.run(line, instance, numbers, dry=dry)
            case _:
                return self._row(TABLES[type(line)], line, instance, numbers, dry=dry)

    def _row(self, table: Table, line: TableLine, instance: str, numbers: Numbers, *, dry: bool) -> Written:
        values = dict(zip(table.columns, msgspec.structs.astuple(line), strict=True))
        written = self._added(table, values, instance, numbers, dry=dry)
        if table.name == "users" and written.outcome == "conflict":
            numbers.refused.add(values["user_id"])
        return written

    def _added(self, table: Table, values: dict[str, Any], instance: str, numbers: Numbers, *, dry: bool) -> Written:
        found = self._find(table, table.key, instance, values)
        if found is not None:
            here = dict(zip(("instance", *table.columns), found, strict=True))
            given = {"instance": instance, **values}
            same = all(here[column] == given[column] for column in here if column not in table.moving)
            return KNOWN if same else conflict("something else of this id is here")
        for rival in table.rivals:
            if self._find(table, rival, instance, values) is not None:
                return conflict(f"{', '.join(rival)} is taken")
        if table.name == "users" and values["user_type"] == "system_admin" and query(self._db, _ADMIN, (instance,)):
            return conflict("the instance has an administrator")
        if table.name == "user_keys" and self._is_nobodys(values["user_id"], instance, numbers, dry=dry):
            return conflict("its user did not come")
        if not dry:
            self._db.execute(table.insert, (instance, *values.values()))
        return ADDED

    def _is_nobodys(self, user_id: str, instance: str, numbers: Numbers, *, dry: bool) -> bool:
        """Whose key would open for somebody else, now or once that id is given to someone. A dry run adds no users."""
        return user_id in numbers.refused or not (dry or query(self._db, _USER, (instance, user_id)))

    def _find(
        self, table: Table, columns: tuple[str, ...], instance: str, values: dict[str, Any]
    ) -> tuple[Any, ...] | None:
        rows = query(self._db, table.find(columns), (instance, *(values[column] for column in columns)))
        return rows[0] if rows else None

    def _profile(self, line: ProfileLine, instance: str, *, dry: bool) -> Written:
        profile = Profile(instance, line.team, line.agent, line.user)
        given = (line.scenes_at, line.portrayed_at, line.persona_request)
        number = self._scopes.find(profile)
        if number is not None:
            ((*here,),) = query(self._db, _FIND_PROFILE, (number,))
            return KNOWN if tuple(here) == given else conflict("it has gone on here")
        if not dry:
            self._db.execute(_SET_PROFILE, (*given, self._scopes.ensure(profile)))
        return ADDED

    def _tombstone(self, line: TombstoneLine, instance: str, numbers: Numbers, *, dry: bool) -> Written:
        scope = Scope(instance, line.team, line.agent, line.user)
        number = self._scopes.find(scope)
        if number is not None and query(self._db, _FIND_TOMBSTONE, (number, line.content_hash)):
            return KNOWN
        if not dry:
            up_to = numbers.messages.near(line.up_to) if line.up_to else 0
            self._db.execute(_ADD_TOMBSTONE, (self._scopes.ensure(scope), line.content_hash, up_to))
        return ADDED
