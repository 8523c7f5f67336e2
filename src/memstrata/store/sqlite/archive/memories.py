"""L1 memories of an import, version by version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import apsw

from memstrata.records import Profile, Scope
from memstrata.records.archive import MemoryLine
from memstrata.store.sqlite.archive.outcome import ADDED, KNOWN, Written, conflict
from memstrata.store.sqlite.archive.renumbering import Numbers, free_number
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.counts import KeptCounts
from memstrata.store.sqlite.memories import content_hash, memory_terms
from memstrata.store.sqlite.scopes import ScopeNumbers

__all__ = ["MemoryWriter"]

_FIND = "SELECT seq, scope_id, type, content FROM memories WHERE memory_id = ? AND version = ?"
_TAKEN = "SELECT 1 FROM memories WHERE memory_id = ? AND scope_id <> ? LIMIT 1"
_LIVE = "SELECT 1 FROM memories WHERE memory_id = ? AND valid_to IS NULL"
_DELETED = "SELECT 1 FROM tombstones WHERE scope_id = ? AND content_hash = ?"
_ADD = """
INSERT INTO memories (seq, scope_id, profile_id, memory_id, version, type, content, content_hash, priority, scene_name,
  applies_to, slot, session_id, task_id, origin, happened_from, happened_to, metadata, created_at, updated_at, valid_to,
  consumed)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SOURCE = """
INSERT OR IGNORE INTO memory_sources (memory_seq, message_seq) SELECT ?, seq FROM messages WHERE seq = ? AND scope_id = ?
"""
_SUPERSEDE = """
UPDATE memories SET superseded_by = ?1
WHERE seq = ?2 AND scope_id = ?3 AND superseded_by IS NULL AND valid_to IS NOT NULL
"""
_PORTRAYED = "UPDATE profiles SET portrayed_memory = max(portrayed_memory, ?) WHERE id = ?"


class MemoryWriter:
    """See `ArchiveWriter`."""

    def __init__(self, connection: apsw.Connection, scopes: ScopeNumbers, kept: KeptCounts) -> None:
        self._db = connection
        self._scopes = scopes
        self._terms = memory_terms(connection, kept)

    def memory(
        self,
        line: MemoryLine,
        instance: str,
        numbers: Numbers,
        terms: Callable[[str], tuple[str, ...]],
        *,
        dry: bool,
    ) -> Written:
        m, scope = line, Scope(instance, line.team, line.agent, line.user)
        number, digest = self._scopes.find(scope), content_hash(line.content)
        memory_id = self._id(m.id, scope, number)
        for seq, owner, kind, content in query(self._db, _FIND, (memory_id, m.version)):
            if (owner, kind, content) != (number, m.type, m.content):
                return conflict("another memory of this id and version is here")
            numbers.memories.add(m.seq, seq)
            return KNOWN
        if m.valid_to is None and query(self._db, _LIVE, (memory_id,)):
            return conflict("another version of this memory holds here")
        if number is not None and query(self._db, _DELETED, (number, digest)):
            return conflict("it was deleted here on purpose")
        if dry:
            return ADDED
        number = self._scopes.ensure(scope)
        profile = self._scopes.ensure(Profile(instance, m.team, m.agent, m.profile_user))
        seq = free_number(self._db, "memories", m.seq)
        row = (
            *(seq, number, profile, memory_id, m.version, m.type, m.content, digest, m.priority, m.scene_name),
            *(m.applies_to, m.slot, m.session_id, m.task_id, m.origin, m.happened_from, m.happened_to),
            *(json.dumps(m.metadata, ensure_ascii=False), m.created_at, m.updated_at, m.valid_to, m.consumed),
        )
        self._db.execute(_ADD, row)
        if m.valid_to is None:
            self._terms.add(number, seq, terms(m.content))
        numbers.memories.add(m.seq, seq)
        sources = [here for one in m.sources if (here := numbers.messages.of(one)) is not None]
        self._db.executemany(_SOURCE, [(seq, one, number) for one in sources])
        replaced = [here for one in m.supersedes if (here := numbers.memories.of(one)) is not None]
        self._db.executemany(_SUPERSEDE, [(seq, one, number) for one in replaced])
        if m.portrayed:
            self._db.execute(_PORTRAYED, (seq, profile))
        return ADDED

    def _id(self, wanted: str, scope: Scope, number: int | None) -> str:
        """Return the id, or where another scope of this database has it one that follows from id and scope.

        Ids are unique in a database. A copy of a user beside the original therefore cannot keep them, and an import
        that is run again must find what it wrote.
        """
        if not query(self._db, _TAKEN, (wanted, -1 if number is None else number)):
            return wanted
        owner = json.dumps((wanted, scope.instance, scope.team, scope.agent, scope.user))
        return f"m_{hashlib.blake2b(owner.encode(), digest_size=16).hexdigest()}"
