"""Rows written back with the numbers they had. Only for rebuilding an empty database."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import apsw

from memstrata.clock import Instant
from memstrata.records import MemoryRecord, Message, Profile, Scope
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.conversations import message_terms
from memstrata.store.sqlite.counts import KeptCounts
from memstrata.store.sqlite.memories import content_hash, memory_terms
from memstrata.store.sqlite.scopes import ScopeNumbers

__all__ = ["RestoredDocument", "Restorer"]

_SESSION = """
INSERT INTO sessions (scope_id, session_id, last_message_at) VALUES (?, ?, ?)
ON CONFLICT (scope_id, session_id) DO UPDATE SET last_message_at = max(last_message_at, excluded.last_message_at)
RETURNING id
"""
_MESSAGE = """
INSERT INTO messages (seq, scope_id, session_key, message_id, task_id, role, content, said_at, recorded_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_MEMORY = """
INSERT INTO memories (seq, scope_id, profile_id, memory_id, version, type, content, content_hash, priority, scene_name,
  applies_to, slot, session_id, task_id, origin, happened_from, happened_to, metadata, created_at, updated_at, valid_to,
  superseded_by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SOURCE = """
INSERT OR IGNORE INTO memory_sources (memory_seq, message_seq)
SELECT ?, seq FROM messages WHERE scope_id = ? AND seq = ?
"""
# A version that a later one took the place of ended when that one was written.
_SUPERSEDED = """
UPDATE memories SET superseded_by = ?1, valid_to = (SELECT updated_at FROM memories WHERE seq = ?1)
WHERE memory_id = ?2 AND version = ?3
"""
_LIVE = "SELECT seq, scope_id, content FROM memories WHERE valid_to IS NULL"
_DOCUMENT = """
INSERT INTO documents (profile_id, kind, path, version, body, summary, heat, origin, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_DOCUMENT_SOURCE = """
INSERT OR IGNORE INTO document_sources (document_seq, memory_seq)
SELECT ?, seq FROM memories WHERE profile_id = ? AND memory_id = ? AND valid_to IS NULL
"""
_CONSUMED = """
UPDATE memories SET consumed = 1 WHERE seq IN (
  SELECT c.memory_seq FROM document_sources c JOIN documents d ON d.seq = c.document_seq WHERE d.kind = 'scene'
)
"""
_PROFILE_TIMES = """
UPDATE profiles SET
  scenes_at = coalesce((SELECT max(updated_at) FROM documents WHERE profile_id = profiles.id AND kind = 'scene'), 0),
  portrayed_at = coalesce((SELECT max(updated_at) FROM documents WHERE profile_id = profiles.id AND kind = 'persona'), 0),
  portrayed_memory = coalesce((
    SELECT max(c.memory_seq) FROM document_sources c JOIN documents d ON d.seq = c.document_seq
    WHERE d.profile_id = profiles.id AND d.kind = 'persona'
  ), 0),
  portrayed_document = coalesce((
    SELECT max(s.seq) FROM documents s WHERE s.profile_id = profiles.id AND s.kind = 'scene' AND s.updated_at <= (
      SELECT max(p.updated_at) FROM documents p WHERE p.profile_id = profiles.id AND p.kind = 'persona'
    )
  ), 0)
"""
_PROGRESS = """
UPDATE sessions SET cursor = ?, warmup = ?, scene_name = ? WHERE scope_id = ? AND session_id = ?
"""


@dataclass(frozen=True, slots=True)
class RestoredDocument:
    """A document as the mirror's index and its file describe it."""

    kind: str
    path: str
    version: int
    body: str
    summary: str
    heat: int
    origin: str
    created_at: Instant
    updated_at: Instant
    memory_ids: tuple[str, ...]


class Restorer:
    """Writes rows back, lowest layer first."""

    def __init__(self, connection: apsw.Connection, scopes: ScopeNumbers, kept: KeptCounts) -> None:
        self._db = connection
        self._scopes = scopes
        self._message_terms = message_terms(connection, kept)
        self._memory_terms = memory_terms(connection, kept)

    def message(self, scope: Scope, message: Message, terms: tuple[str, ...]) -> None:
        m = message
        scope_id = self._scopes.ensure(scope)
        key = query(self._db, _SESSION, (scope_id, m.session_id, m.recorded_at))[0][0]
        row = (m.seq, scope_id, key, m.message_id, m.task_id, m.role, m.content, m.said_at, m.recorded_at)
        self._db.execute(_MESSAGE, row)
        self._message_terms.add(scope_id, m.seq, terms)

    def memory(self, scope: Scope, profile: Profile, memory: MemoryRecord, source_seqs: tuple[int, ...]) -> None:
        m = memory
        scope_id = self._scopes.ensure(scope)
        row = (
            *(m.seq, scope_id, self._scopes.ensure(profile), m.memory_id, m.version, m.type),
            *(m.content, content_hash(m.content), m.priority, m.scene_name, m.applies_to, m.slot, m.session_id),
            *(m.task_id, m.origin, m.happened_from, m.happened_to, json.dumps(dict(m.metadata), ensure_ascii=False)),
            *(m.created_at, m.updated_at, m.valid_to, m.superseded_by),
        )
        self._db.execute(_MEMORY, row)
        self._db.executemany(_SOURCE, [(m.seq, scope_id, one) for one in source_seqs])

    def superseded(self, memory_id: str, version: int, by: int) -> None:
        self._db.execute(_SUPERSEDED, (by, memory_id, version))

    def index_live_memories(self, terms: Callable[[str], tuple[str, ...]]) -> None:
        for seq, scope_id, content in query(self._db, _LIVE):
            self._memory_terms.add(scope_id, seq, terms(content))

    def document(self, profile: Profile, document: RestoredDocument) -> None:
        d = document
        number = self._scopes.ensure(profile)
        row = (number, d.kind, d.path, d.version, d.body, d.summary, d.heat, d.origin, d.created_at, d.updated_at)
        self._db.execute(_DOCUMENT, row)
        seq = self._db.last_insert_rowid()
        self._db.executemany(_DOCUMENT_SOURCE, [(seq, number, one) for one in d.memory_ids])

    def progress(self, scope: Scope, session_id: str, cursor: int, warmup: int, scene_name: str) -> None:
        self._db.execute(_PROGRESS, (cursor, warmup, scene_name, self._scopes.ensure(scope), session_id))

    def finish(self) -> int:
        """Derive what the rows imply, and return how many sessions there are."""
        self._db.execute(_CONSUMED)
        self._db.execute(_PROFILE_TIMES)
        return int(query(self._db, "SELECT count(*) FROM sessions")[0][0])
