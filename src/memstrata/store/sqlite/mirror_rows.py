"""What the readable mirror copies, and how far it is. It crosses scopes on purpose: it copies the whole database."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from memstrata.clock import Instant
from memstrata.records import Message, Profile, Scope
from memstrata.store.shapes import MirroredMemory, MirroredProfile, MirroredProgress, StaleFile
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.memories import COLUMNS as MEMORY_COLUMNS
from memstrata.store.sqlite.memories import memory_from_row
from memstrata.store.sqlite.profiles import SqliteProfiles
from memstrata.store.sqlite.scopes import ScopeNumbers

__all__ = ["MirrorRows"]

_DAY = 86_400_000
_SCOPE = "c.instance, c.team, c.agent, c.user"
_MESSAGES = f"""
SELECT {_SCOPE}, m.seq, m.message_id, s.session_id, m.task_id, m.role, m.content, m.said_at, m.recorded_at
FROM messages m JOIN sessions s ON s.id = m.session_key JOIN scopes c ON c.id = m.scope_id
"""
_MEMORIES = f"SELECT {_SCOPE}, {MEMORY_COLUMNS} FROM memories m JOIN scopes c ON c.id = m.scope_id"
_AFTER = "WHERE m.seq > ? ORDER BY m.seq LIMIT ?"
_SOURCES = """
SELECT m.seq, m.message_id FROM memory_sources c JOIN messages m ON m.seq = c.message_seq WHERE c.memory_seq = ? ORDER BY m.seq
"""
_SUPERSEDES = "SELECT memory_id, version FROM memories WHERE superseded_by = ? ORDER BY seq"
_PROGRESS = f"""
SELECT r.id, {_SCOPE}, s.session_id, s.cursor, s.warmup, s.scene_name
FROM runs r JOIN sessions s ON s.id = r.target JOIN scopes c ON c.id = s.scope_id
WHERE r.id > ? AND +r.kind = 'l1' AND r.outcome IN ('items', 'nothing') ORDER BY r.id LIMIT ?
"""
_DOCUMENT_MEMORIES = """
SELECT m.memory_id FROM document_sources c JOIN memories m ON m.seq = c.memory_seq WHERE c.document_seq = ? ORDER BY m.seq
"""
_KEEP_POSITION = """
INSERT INTO mirror_positions (name, position) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET position = excluded.position
"""
_MARK_STALE = """
INSERT INTO mirror_stale (kind, instance, name) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET marks = marks + 1
"""
_KEEP_FILE = """
INSERT INTO mirror_files (path, bytes) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET bytes = excluded.bytes
"""


class MirrorRows:
    """See `store.protocol.MirrorRows`."""

    def __init__(self, connection: apsw.Connection, scopes: ScopeNumbers) -> None:
        self._db = connection
        self._scopes = scopes

    def position(self, name: str) -> int:
        rows = query(self._db, "SELECT position FROM mirror_positions WHERE name = ?", (name,))
        return int(rows[0][0]) if rows else 0

    def keep_position(self, name: str, position: int) -> None:
        self._db.execute(_KEEP_POSITION, (name, position))

    def file_bytes(self, path: str) -> int:
        rows = query(self._db, "SELECT bytes FROM mirror_files WHERE path = ?", (path,))
        return int(rows[0][0]) if rows else 0

    def keep_file(self, path: str, size: int) -> None:
        self._db.execute(_KEEP_FILE, (path, size))

    def messages_after(self, seq: int, limit: int) -> tuple[tuple[Scope, Message], ...]:
        rows = query(self._db, f"{_MESSAGES} {_AFTER}", (seq, limit))
        return tuple((Scope(*row[:4]), Message(*row[4:])) for row in rows)

    def messages_of_day(self, instance: str, start: Instant, up_to: int) -> tuple[tuple[Scope, Message], ...]:
        where = "WHERE c.instance = ? AND m.recorded_at >= ? AND m.recorded_at < ? AND m.seq <= ? ORDER BY m.seq"
        rows = query(self._db, f"{_MESSAGES} {where}", (instance, start, start + _DAY, up_to))
        return tuple((Scope(*row[:4]), Message(*row[4:])) for row in rows)

    def memories_after(self, seq: int, limit: int) -> tuple[MirroredMemory, ...]:
        return self._memories(f"{_MEMORIES} {_AFTER}", (seq, limit))

    def memories_of_day(self, instance: str, start: Instant, up_to: int) -> tuple[MirroredMemory, ...]:
        where = "WHERE c.instance = ? AND m.updated_at >= ? AND m.updated_at < ? AND m.seq <= ? ORDER BY m.seq"
        return self._memories(f"{_MEMORIES} {where}", (instance, start, start + _DAY, up_to))

    def progress_after(self, run: int, limit: int) -> tuple[MirroredProgress, ...]:
        rows = query(self._db, _PROGRESS, (run, limit))
        return tuple(MirroredProgress(row[0], Scope(*row[1:5]), *row[5:]) for row in rows)

    def profile(self, name: str) -> MirroredProfile | None:
        try:
            profile: Profile = self._scopes.profile(int(name))
        except IndexError:
            return None
        repository = SqliteProfiles(self._db, self._scopes)
        documents = repository.documents(profile, "scene") + repository.documents(profile, "persona")
        return MirroredProfile(
            profile,
            tuple(
                (document, tuple(row[0] for row in query(self._db, _DOCUMENT_MEMORIES, (document.seq,))))
                for document in documents
            ),
        )

    def stale(self, limit: int) -> tuple[StaleFile, ...]:
        rows = query(self._db, "SELECT kind, instance, name, marks FROM mirror_stale LIMIT ?", (limit,))
        return tuple(StaleFile(*row) for row in rows)

    def mark_stale(self, stale: StaleFile) -> None:
        self._db.execute(_MARK_STALE, (stale.kind, stale.instance, stale.name))

    def clear_stale(self, stale: StaleFile) -> None:
        sql = "DELETE FROM mirror_stale WHERE kind = ? AND instance = ? AND name = ? AND marks <= ?"
        self._db.execute(sql, (stale.kind, stale.instance, stale.name, stale.marks))

    def _memories(self, sql: str, values: Sequence[int | str]) -> tuple[MirroredMemory, ...]:
        return tuple(
            MirroredMemory(
                Scope(*row[:4]),
                memory_from_row(row[4:]),
                tuple((one[0], one[1]) for one in query(self._db, _SOURCES, (row[4],))),
                tuple((one[0], one[1]) for one in query(self._db, _SUPERSEDES, (row[4],))),
            )
            for row in query(self._db, sql, tuple(values))
        )
