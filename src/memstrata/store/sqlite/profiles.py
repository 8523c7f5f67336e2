"""L2 and L3 in SQLite: scenes and personas in versions, and how far each profile is."""

from __future__ import annotations

import json
from collections.abc import Collection

import apsw

from memstrata.clock import Instant
from memstrata.records import (
    PERSONA_PATH,
    Document,
    DocumentKind,
    MemoryRecord,
    NewDocument,
    Profile,
    ProfileTarget,
)
from memstrata.store.shapes import ProfileState
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.memories import COLUMNS as MEMORY_COLUMNS
from memstrata.store.sqlite.memories import memory_from_row
from memstrata.store.sqlite.scopes import ScopeNumbers

__all__ = ["SqliteProfiles"]

_COLUMNS = "d.seq, d.kind, d.path, d.version, d.body, d.summary, d.heat, d.origin, d.created_at, d.updated_at"
_LIVE = f"SELECT {_COLUMNS} FROM documents d WHERE d.profile_id = ? AND d.kind = ? AND d.valid_to IS NULL"
_ALL = f"{_LIVE} ORDER BY d.heat DESC, d.path"
_ONE = f"{_LIVE} AND d.path = ?"
_STATE = """
SELECT scenes_at, portrayed_at, portrayed_memory, portrayed_document, persona_request,
  (SELECT count(*) FROM memories WHERE profile_id = p.id AND valid_to IS NULL AND consumed = 0),
  (SELECT min(updated_at) FROM memories WHERE profile_id = p.id AND valid_to IS NULL AND consumed = 0),
  (SELECT count(*) FROM documents WHERE profile_id = p.id AND kind = 'scene' AND valid_to IS NULL),
  (SELECT count(*) FROM memories WHERE profile_id = p.id AND seq > p.portrayed_memory AND valid_to IS NULL),
  (SELECT count(*) FROM documents WHERE profile_id = p.id AND kind = 'scene' AND seq > p.portrayed_document),
  (SELECT coalesce(max(seq), 0) FROM memories WHERE profile_id = p.id),
  (SELECT coalesce(max(seq), 0) FROM documents WHERE profile_id = p.id AND kind = 'scene')
FROM profiles p WHERE id = ?
"""
_LAST_MESSAGE = """
SELECT coalesce(max(s.last_message_at), 0) FROM scopes c JOIN sessions s ON s.scope_id = c.id
WHERE c.instance = ?1 AND c.team = ?2 AND c.agent = ?3 AND (?4 = '' OR c.user = ?4)
"""
_UNCONSUMED = f"""
SELECT {MEMORY_COLUMNS} FROM memories m WHERE m.profile_id = ? AND m.valid_to IS NULL AND m.consumed = 0
ORDER BY m.seq LIMIT ?
"""
_CONSUME = "UPDATE memories SET consumed = 1 WHERE seq = ? AND profile_id = ?"
_KNOWN = "SELECT seq FROM memories WHERE profile_id = ? AND seq IN (SELECT value FROM json_each(?))"
_SOURCES = f"""
SELECT {MEMORY_COLUMNS} FROM document_sources c CROSS JOIN memories m ON m.seq = c.memory_seq
WHERE c.document_seq = ? AND m.profile_id = ? AND m.valid_to IS NULL ORDER BY m.seq
"""
_BUILT_FROM = f"""
SELECT {_COLUMNS} FROM document_sources c JOIN documents d ON d.seq = c.document_seq
WHERE c.memory_seq = ? AND d.profile_id = ? AND d.kind = ? AND d.valid_to IS NULL ORDER BY d.heat DESC, d.path
"""
_NEXT_VERSION = """
SELECT coalesce(max(version), 0) + 1 FROM documents WHERE profile_id = ? AND kind = ? AND path = ?
"""
_RETIRE = """
UPDATE documents SET valid_to = ? WHERE profile_id = ? AND kind = ? AND path = ? AND valid_to IS NULL
"""
_WRITE = """
INSERT INTO documents (profile_id, kind, path, version, body, summary, heat, origin, created_at, updated_at, valid_to)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_VERSIONS = f"""
SELECT {_COLUMNS}, d.valid_to FROM documents d WHERE d.profile_id = ? AND d.kind = ? AND d.path = ? ORDER BY d.version DESC
"""
_ADD_SOURCE = """
INSERT OR IGNORE INTO document_sources (document_seq, memory_seq) SELECT ?, seq FROM memories WHERE seq = ? AND profile_id = ?
"""
_STALE = """
INSERT INTO mirror_stale (kind, instance, name) VALUES ('profile', ?, ?) ON CONFLICT DO UPDATE SET marks = marks + 1
"""


class SqliteProfiles:
    """See `store.protocol.Profiles`."""

    def __init__(self, connection: apsw.Connection, scopes: ScopeNumbers) -> None:
        self._db = connection
        self._scopes = scopes

    def target(self, profile: Profile) -> ProfileTarget | None:
        number = self._scopes.find(profile)
        return ProfileTarget(number, profile) if number else None

    def ensure(self, profile: Profile) -> ProfileTarget:
        return ProfileTarget(self._scopes.ensure(profile), profile)

    def state(self, profile: Profile) -> ProfileState | None:
        rows = query(self._db, _STATE, (self._scopes.find(profile),))
        if not rows:
            return None
        scenes_at, portrayed_at, _, portrayed_document, request, unconsumed, oldest, scenes, *rest = rows[0]
        since, changed, memory, document = rest
        who = (profile.instance, profile.team, profile.agent, profile.user)
        return ProfileState(
            unconsumed=unconsumed,
            oldest_unconsumed_at=oldest,
            scenes=scenes,
            scenes_at=scenes_at,
            portrayed_at=portrayed_at,
            persona=self.document(profile, "persona", PERSONA_PATH),
            memories_since_portrait=since,
            changed_scenes=changed,
            persona_request=request,
            last_message_at=int(query(self._db, _LAST_MESSAGE, who)[0][0]),
            portrayed_document=portrayed_document,
            last_memory=memory,
            last_document=document,
        )

    def unconsumed(self, profile: Profile, limit: int) -> tuple[MemoryRecord, ...]:
        rows = query(self._db, _UNCONSUMED, (self._scopes.find(profile), limit))
        return tuple(memory_from_row(row) for row in rows)

    def known(self, profile: Profile, memory_seqs: Collection[int]) -> frozenset[int]:
        values = (self._scopes.find(profile), json.dumps(list(memory_seqs)))
        return frozenset(row[0] for row in query(self._db, _KNOWN, values))

    def mark_consumed(self, profile: Profile, memory_seqs: Collection[int]) -> None:
        number = self._scopes.find(profile)
        self._db.executemany(_CONSUME, [(seq, number) for seq in memory_seqs])

    def documents(self, profile: Profile, kind: DocumentKind) -> tuple[Document, ...]:
        return tuple(Document(*row) for row in query(self._db, _ALL, (self._scopes.find(profile), kind)))

    def document(self, profile: Profile, kind: DocumentKind, path: str) -> Document | None:
        rows = query(self._db, _ONE, (self._scopes.find(profile), kind, path))
        return Document(*rows[0]) if rows else None

    def sources(self, profile: Profile, document_seq: int) -> tuple[MemoryRecord, ...]:
        rows = query(self._db, _SOURCES, (document_seq, self._scopes.find(profile)))
        return tuple(memory_from_row(row) for row in rows)

    def built_from(self, profile: Profile, kind: DocumentKind, memory_seq: int) -> tuple[Document, ...]:
        rows = query(self._db, _BUILT_FROM, (memory_seq, self._scopes.find(profile), kind))
        return tuple(Document(*row) for row in rows)

    def versions(self, profile: Profile, kind: DocumentKind, path: str) -> tuple[tuple[Document, Instant | None], ...]:
        rows = query(self._db, _VERSIONS, (self._scopes.find(profile), kind, path))
        return tuple((Document(*row[:-1]), row[-1]) for row in rows)

    def write(self, profile: Profile, document: NewDocument) -> Document:
        d = document
        self._db.execute(_RETIRE, (d.updated_at, self._scopes.ensure(profile), d.kind, d.path))
        return self._insert(profile, document, None)

    def propose(self, profile: Profile, document: NewDocument) -> Document:
        return self._insert(profile, document, document.updated_at)

    def _insert(self, profile: Profile, document: NewDocument, valid_to: Instant | None) -> Document:
        d = document
        number = self._scopes.ensure(profile)
        version = query(self._db, _NEXT_VERSION, (number, d.kind, d.path))[0][0]
        row = (number, d.kind, d.path, version, d.body, d.summary, d.heat, d.origin, d.created_at, d.updated_at)
        self._db.execute(_WRITE, (*row, valid_to))
        seq = self._db.last_insert_rowid()
        self.add_sources(profile, seq, d.memory_seqs)
        return Document(
            seq, d.kind, d.path, version, d.body, d.summary, d.heat, d.origin, d.created_at, d.updated_at
        )  # fmt: skip

    def add_sources(self, profile: Profile, document_seq: int, memory_seqs: Collection[int]) -> None:
        number = self._scopes.ensure(profile)
        self._db.executemany(_ADD_SOURCE, [(document_seq, memory_seq, number) for memory_seq in memory_seqs])
        self._mirror(profile, number)

    def retire(self, profile: Profile, kind: DocumentKind, path: str, now: Instant) -> bool:
        number = self._scopes.find(profile)
        self._db.execute(_RETIRE, (now, number, kind, path))
        retired = self._db.changes() > 0
        if retired and number:
            self._mirror(profile, number)
        return retired

    def request_persona(self, profile: Profile, reason: str) -> None:
        self._update("persona_request = ?", reason, profile=profile)

    def scenes_done(self, profile: Profile, now: Instant) -> None:
        self._update("scenes_at = ?", now, profile=profile)

    def portrait_done(self, profile: Profile, now: Instant, last_memory: int, last_document: int) -> None:
        columns = "portrayed_at = ?, portrayed_memory = ?, portrayed_document = ?, persona_request = ''"
        self._update(columns, now, last_memory, last_document, profile=profile)

    def _update(self, columns: str, *values: int | str, profile: Profile) -> None:
        number = self._scopes.ensure(profile)
        self._db.execute(f"UPDATE profiles SET {columns} WHERE id = ?", (*values, number))

    def _mirror(self, profile: Profile, number: int) -> None:
        self._db.execute(_STALE, (profile.instance, str(number)))
