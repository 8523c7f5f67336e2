"""The one delete path (invariant 10): every copy of what goes, and what was built from it.

Messages take along the memories that rest on nothing else; memories take along the scenes and the persona that were
built from them, in all versions. What remains of such a scene's memories counts as unconsumed again, so that L2 writes
it anew without the deleted part. Mirror files whose rows went are marked stale and rewritten in the background.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

import apsw

from memstrata.clock import Instant, day_of
from memstrata.records import Deletion, Scope
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.conversations import message_terms
from memstrata.store.sqlite.counts import KeptCounts
from memstrata.store.sqlite.memories import memory_terms
from memstrata.store.sqlite.scopes import ScopeNumbers

__all__ = ["SqliteErasure"]

_IN = "IN (SELECT value FROM json_each(?))"
_MESSAGES_BY_ID = f"SELECT seq FROM messages WHERE scope_id = ? AND message_id {_IN} AND (?3 IS NULL OR task_id = ?3)"
_MESSAGES_BY_SESSION = f"""
SELECT m.seq FROM sessions s JOIN messages m ON m.session_key = s.id
WHERE s.scope_id = ? AND s.session_id {_IN} AND (?3 IS NULL OR m.task_id = ?3)
"""
_MEMORIES_BY_ID = f"""
SELECT DISTINCT memory_id FROM memories WHERE scope_id = ? AND memory_id {_IN} AND (?3 IS NULL OR task_id = ?3)
"""
# Upwards only what took the place of one and holds no longer: a merge that was taken apart quotes each of its parts.
_CHAIN = """
WITH RECURSIVE chain (seq) AS (
  SELECT seq FROM memories WHERE scope_id = ?1 AND memory_id = ?2
  UNION SELECT m.seq FROM memories m JOIN chain c ON m.superseded_by = c.seq
  UNION SELECT h.seq FROM chain c CROSS JOIN memories m ON m.seq = c.seq CROSS JOIN memories h ON h.seq = m.superseded_by
    WHERE h.valid_to IS NOT NULL AND h.seq > m.seq
)
SELECT m.seq, m.valid_to IS NULL FROM chain c JOIN memories m ON m.seq = c.seq
"""
_WITHOUT_SOURCE = f"""
SELECT DISTINCT m.seq, m.valid_to IS NULL FROM memory_sources c JOIN memories m ON m.seq = c.memory_seq
WHERE c.message_seq {_IN}
  AND NOT EXISTS (SELECT 1 FROM memory_sources o WHERE o.memory_seq = m.seq AND o.message_seq NOT {_IN})
"""
_MESSAGE_TIMES = f"""
SELECT DISTINCT c.instance, m.recorded_at FROM messages m JOIN scopes c ON c.id = m.scope_id WHERE m.seq {_IN}
"""
_MEMORY_TIMES = f"""
SELECT DISTINCT c.instance, m.updated_at FROM memories m JOIN scopes c ON c.id = m.scope_id WHERE m.seq {_IN}
"""
# A version that is newer than the live one was only proposed: nothing that is live came from it, so it goes alone.
_ALL_VERSIONS = f"""
SELECT DISTINCT o.seq, o.valid_to IS NULL FROM documents d
JOIN documents o ON o.profile_id = d.profile_id AND o.kind = d.kind AND o.path = d.path WHERE d.seq {_IN}
  AND (o.seq = d.seq OR NOT EXISTS (
    SELECT 1 FROM documents v WHERE v.profile_id = d.profile_id AND v.kind = d.kind AND v.path = d.path
      AND v.valid_to IS NULL AND v.version < d.version))
"""
_STALE_PROFILES = f"""
INSERT INTO mirror_stale (kind, instance, name)
SELECT DISTINCT 'profile', p.instance, p.id FROM documents d JOIN profiles p ON p.id = d.profile_id WHERE d.seq {_IN}
ON CONFLICT DO UPDATE SET marks = marks + 1
"""
_STALE_DAY = """
INSERT INTO mirror_stale (kind, instance, name) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET marks = marks + 1
"""
# Only scenes consume memories: the persona is drawn from scenes.
_UNCONSUME = f"""
UPDATE memories SET consumed = 0 WHERE seq IN (
  SELECT c.memory_seq FROM document_sources c JOIN documents d ON d.seq = c.document_seq
  WHERE d.kind = 'scene' AND d.seq {_IN}
)
"""
_HEIRS = f"SELECT DISTINCT superseded_by FROM memories WHERE seq {_IN} AND superseded_by NOT {_IN}"
_BUILT_FROM = f"SELECT document_seq FROM document_sources WHERE memory_seq {_IN}"
_FORGET_REPLACED = f"UPDATE memories SET metadata = json_remove(metadata, '$.replaced') WHERE seq {_IN}"
_TOMBSTONE = """
INSERT INTO tombstones (scope_id, content_hash, up_to)
SELECT scope_id, content_hash, (SELECT coalesce(max(seq), 0) FROM messages) FROM memories WHERE seq = ?
ON CONFLICT (scope_id, content_hash) DO UPDATE SET up_to = max(up_to, excluded.up_to)
"""
_SPENT = f"INSERT OR IGNORE INTO spent_messages SELECT message_seq FROM memory_sources WHERE memory_seq {_IN}"
_AGENTS = "SELECT DISTINCT team, agent FROM scopes WHERE instance = ?1 AND 'chat_memory-' || team || '-' || agent = ?2"
_AGENT_PROFILES = """
SELECT DISTINCT team, agent FROM profiles WHERE instance = ?1 AND 'chat_memory-' || team || '-' || agent = ?2
"""


class SqliteErasure:
    """See `store.protocol.Erasure`."""

    def __init__(self, connection: apsw.Connection, scopes: ScopeNumbers, kept: KeptCounts) -> None:
        self._db = connection
        self._scopes = scopes
        self._message_terms = message_terms(connection, kept)
        self._memory_terms = memory_terms(connection, kept)

    def messages(
        self, scope: Scope, message_ids: Collection[str], session_ids: Collection[str], task_id: str | None
    ) -> Deletion:
        scope_id = self._scopes.find(scope)
        found: set[int] = set()
        for sql, names in ((_MESSAGES_BY_ID, message_ids), (_MESSAGES_BY_SESSION, session_ids)):
            if names:
                found |= self._numbers(sql, (scope_id, json.dumps(list(names)), task_id))
        return self._erase_messages(found)

    def memories(self, scope: Scope, memory_ids: Collection[str], task_id: str | None) -> Deletion:
        scope_id = self._scopes.find(scope)
        rows = query(self._db, _MEMORIES_BY_ID, (scope_id, json.dumps(list(memory_ids)), task_id))
        seqs: dict[int, bool] = {}
        live = 0
        for (memory_id,) in rows:
            chain = query(self._db, _CHAIN, (scope_id, memory_id))
            live += any(is_live for _, is_live in chain)
            seqs.update(dict(chain))
        for seq in seqs:
            self._db.execute(_TOMBSTONE, (seq,))
        self._db.execute(_SPENT, (json.dumps(sorted(seqs)),))
        documents = self._erase_memories(seqs)
        return Deletion(memories=live, documents=documents)

    def agent(self, instance: str, chat_memory_id: str) -> Deletion | None:
        """Empty all memory of the agent that the asset id names; None if there is no such agent.

        Ids of that form are ambiguous where names hold hyphens (team `a-b`, agent `c`; team `a`, agent `b-c`): then
        nothing goes, and the caller is told by a ValueError.
        """
        agents = set(query(self._db, _AGENTS, (instance, chat_memory_id)))
        agents |= set(query(self._db, _AGENT_PROFILES, (instance, chat_memory_id)))
        if len(agents) > 1:
            raise ValueError(f"{chat_memory_id} names more than one agent")
        if not agents:
            return None
        team, agent = agents.pop()
        where = "instance = ? AND team = ? AND agent = ?"
        scopes = json.dumps(sorted(self._numbers(f"SELECT id FROM scopes WHERE {where}", (instance, team, agent))))
        profiles = json.dumps(sorted(self._numbers(f"SELECT id FROM profiles WHERE {where}", (instance, team, agent))))
        gone = self._erase_messages(self._numbers(f"SELECT seq FROM messages WHERE scope_id {_IN}", (scopes,)))
        rest = dict(query(self._db, f"SELECT seq, valid_to IS NULL FROM memories WHERE profile_id {_IN}", (profiles,)))
        documents = self._erase_memories(rest)
        documents += self._erase_documents(
            self._numbers(f"SELECT seq FROM documents WHERE profile_id {_IN}", (profiles,))
        )
        self._db.execute(f"DELETE FROM jobs WHERE kind IN ('l2', 'l3') AND target {_IN}", (profiles,))
        reset = "scenes_at = 0, portrayed_at = 0, portrayed_memory = 0, portrayed_document = 0, persona_request = ''"
        self._db.execute(f"UPDATE profiles SET {reset} WHERE id {_IN}", (profiles,))
        return Deletion(gone.messages, gone.memories + sum(rest.values()), gone.documents + documents)

    def old_receipts(self, before: Instant) -> int:
        self._db.execute("DELETE FROM receipts WHERE created_at < ?", (before,))
        return self._db.changes()

    def _erase_messages(self, seqs: set[int]) -> Deletion:
        if not seqs:
            return Deletion()
        listed = json.dumps(sorted(seqs))
        sessions = json.dumps(
            sorted(self._numbers(f"SELECT DISTINCT session_key FROM messages WHERE seq {_IN}", (listed,)))
        )
        self._mark_stale("conversations", query(self._db, _MESSAGE_TIMES, (listed,)))
        unsupported = dict(query(self._db, _WITHOUT_SOURCE, (listed, listed)))
        documents = self._erase_memories(unsupported)
        for seq in seqs:
            self._message_terms.remove(seq)
        for table in ("memory_sources", "parked", "spent_messages"):
            self._db.execute(f"DELETE FROM {table} WHERE message_seq {_IN}", (listed,))
        for table in ("message_vectors", "messages"):
            self._db.execute(f"DELETE FROM {table} WHERE seq {_IN}", (listed,))
        # A session that lost everything is forgotten with its receipts: its name and its keys can be used again.
        empty = f"id {_IN} AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.session_key = sessions.id)"
        gone = json.dumps(sorted(self._numbers(f"SELECT id FROM sessions WHERE {empty}", (sessions,))))
        for statement in (
            f"DELETE FROM receipts WHERE session_key {_IN}",
            f"DELETE FROM jobs WHERE kind = 'l1' AND target {_IN}",
            f"DELETE FROM run_outputs WHERE run_id IN (SELECT id FROM runs WHERE kind = 'l1' AND target {_IN})",
            f"DELETE FROM runs WHERE kind = 'l1' AND target {_IN}",
            f"DELETE FROM sessions WHERE id {_IN}",
        ):
            self._db.execute(statement, (gone,))
        return Deletion(len(seqs), sum(unsupported.values()), documents)

    def _erase_memories(self, seqs: dict[int, bool]) -> int:
        """Remove memory versions (seq → whether live) and everything built from them; return the documents that went."""
        if not seqs:
            return 0
        listed = json.dumps(sorted(seqs))
        # What took the place of an erased version may quote it; so may what was built from that.
        heirs = json.dumps(sorted(self._numbers(_HEIRS, (listed, listed))))
        for touched in (listed, heirs):
            self._mark_stale("records", query(self._db, _MEMORY_TIMES, (touched,)))
        built = self._numbers(_BUILT_FROM, (listed,)) | self._numbers(_BUILT_FROM, (heirs,))
        documents = self._erase_documents(built)
        self._db.execute(_FORGET_REPLACED, (heirs,))
        for seq, is_live in seqs.items():
            if is_live:
                self._memory_terms.remove(seq)
        self._db.execute(f"DELETE FROM run_outputs WHERE layer = 'l1' AND seq {_IN}", (listed,))
        self._db.execute(f"DELETE FROM memory_vectors WHERE seq {_IN}", (listed,))
        self._db.execute(f"DELETE FROM memory_sources WHERE memory_seq {_IN}", (listed,))
        self._db.execute(f"UPDATE memories SET superseded_by = NULL WHERE superseded_by {_IN}", (listed,))
        self._db.execute(f"DELETE FROM memories WHERE seq {_IN}", (listed,))
        return documents

    def _erase_documents(self, seqs: set[int]) -> int:
        """Remove all versions of the documents that these are versions of, of proposals themselves alone.

        Returns how many live ones went.
        """
        if not seqs:
            return 0
        versions = query(self._db, _ALL_VERSIONS, (json.dumps(sorted(seqs)),))
        listed = json.dumps([seq for seq, _ in versions])
        self._db.execute(_STALE_PROFILES, (listed,))
        self._db.execute(_UNCONSUME, (listed,))
        self._db.execute(f"DELETE FROM run_outputs WHERE layer IN ('l2', 'l3') AND seq {_IN}", (listed,))
        self._db.execute(f"DELETE FROM document_sources WHERE document_seq {_IN}", (listed,))
        self._db.execute(f"DELETE FROM documents WHERE seq {_IN}", (listed,))
        return sum(is_live for _, is_live in versions)

    def _mark_stale(self, kind: str, times: Iterable[tuple[str, Instant]]) -> None:
        rows = sorted({(kind, instance, day_of(at)) for instance, at in times})
        self._db.executemany(_STALE_DAY, rows)

    def _numbers(self, sql: str, values: tuple[object, ...]) -> set[int]:
        return {row[0] for row in query(self._db, sql, values)}
