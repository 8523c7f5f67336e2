"""What a deletion reaches, found without changing anything: so that a dry run and the deletion itself cannot differ.

Messages take along the memories that rest on nothing else; memories take along the scenes and the persona that were
built from them, in all versions.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import apsw

from memstrata.clock import Instant
from memstrata.records import Profile, Scope
from memstrata.records.forgetting import LISTED, Forgetting, Forgotten, ForgottenCounts
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.vectors import index_keys

__all__ = ["IN", "Reach", "ReachFinder", "listed"]

IN = "IN (SELECT value FROM json_each(?))"
_MESSAGES_BY_ID = """
SELECT seq FROM messages WHERE message_id IN (SELECT value FROM json_each(?2)) AND scope_id IN (SELECT value FROM json_each(?1))
  AND (?3 IS NULL OR task_id = ?3)
"""
_MESSAGES_BY_SESSION = """
SELECT m.seq FROM sessions s JOIN messages m ON m.session_key = s.id
WHERE s.session_id IN (SELECT value FROM json_each(?2)) AND s.scope_id IN (SELECT value FROM json_each(?1))
  AND (?3 IS NULL OR m.task_id = ?3)
"""
_MESSAGES_OF = (
    f"SELECT seq FROM messages WHERE scope_id {IN} AND said_at BETWEEN coalesce(?2, said_at) AND coalesce(?3, said_at)"
)
_WITHIN = f"SELECT seq FROM messages WHERE seq {IN} AND said_at BETWEEN coalesce(?2, said_at) AND coalesce(?3, said_at)"
_OLD_MESSAGES = "SELECT seq FROM messages WHERE scope_id = ? AND recorded_at < ? ORDER BY seq LIMIT ?"
_MEMORIES_BY_ID = """
SELECT DISTINCT memory_id, scope_id FROM memories
WHERE memory_id IN (SELECT value FROM json_each(?2)) AND scope_id IN (SELECT value FROM json_each(?1))
  AND (?3 IS NULL OR task_id = ?3)
"""
_MEMORIES_OF = f"""
SELECT m.seq, m.valid_to IS NULL FROM memories m WHERE m.profile_id IN (
  SELECT p.id FROM scopes c JOIN profiles p
    ON p.instance = c.instance AND p.team = c.team AND p.agent = c.agent AND p.user IN ('', c.user) WHERE c.id {IN}
) AND m.scope_id {IN}
"""
# A memory that nobody said anything for: written by hand, or one whose messages expired.
_OLD_MEMORIES = """
SELECT m.seq, m.valid_to IS NULL FROM profiles p JOIN memories m ON m.profile_id = p.id
WHERE p.instance = ?1 AND p.team = ?2 AND p.agent = ?3 AND p.user IN ('', ?4) AND m.scope_id = ?5 AND m.updated_at < ?6
  AND NOT EXISTS (SELECT 1 FROM memory_sources c WHERE c.memory_seq = m.seq) ORDER BY m.seq LIMIT ?7
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
WHERE c.message_seq {IN}
  AND NOT EXISTS (SELECT 1 FROM memory_sources o WHERE o.memory_seq = m.seq AND o.message_seq NOT {IN})
"""
_HEIRS = f"SELECT DISTINCT superseded_by FROM memories WHERE seq {IN} AND superseded_by NOT {IN}"
_BUILT_FROM = f"SELECT document_seq FROM document_sources WHERE memory_seq {IN}"
# A version that is newer than the live one was only proposed: nothing that is live came from it, so it goes alone.
_ALL_VERSIONS = f"""
SELECT DISTINCT o.seq, o.valid_to IS NULL FROM documents d
JOIN documents o ON o.profile_id = d.profile_id AND o.kind = d.kind AND o.path = d.path WHERE d.seq {IN}
  AND (o.seq = d.seq OR NOT EXISTS (
    SELECT 1 FROM documents v WHERE v.profile_id = d.profile_id AND v.kind = d.kind AND v.path = d.path
      AND v.valid_to IS NULL AND v.version < d.version))
"""
_DOCUMENTS_OF = f"SELECT seq, valid_to IS NULL FROM documents WHERE profile_id {IN}"
_OWNED = "instance = ?1 AND (?2 IS NULL OR team = ?2) AND (?3 IS NULL OR agent = ?3) AND (?4 IS NULL OR user = ?4)"
_SESSIONS_OF = f"SELECT id FROM sessions WHERE scope_id {IN}"
_EMPTIED = f"""
SELECT s.id FROM sessions s WHERE s.id IN (SELECT session_key FROM messages WHERE seq {IN})
  AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.session_key = s.id AND m.seq NOT {IN})
"""
_SESSION_NAMES = f"SELECT DISTINCT session_id FROM sessions WHERE id {IN} ORDER BY id LIMIT {LISTED}"
_MESSAGE_NAMES = f"SELECT message_id FROM messages WHERE seq {IN} ORDER BY seq LIMIT {LISTED}"
_MEMORY_NAMES = f"SELECT DISTINCT memory_id FROM memories WHERE seq {IN} ORDER BY seq LIMIT {LISTED}"
_SCENE_NAMES = (
    f"SELECT path FROM documents WHERE seq {IN} AND kind = 'scene' AND valid_to IS NULL ORDER BY seq LIMIT {LISTED}"
)
_KINDS = f"SELECT kind, count(*) FROM documents WHERE seq {IN} AND valid_to IS NULL GROUP BY kind"
_REACHED_SCOPES = f"""
SELECT scope_id FROM messages WHERE seq {IN} UNION SELECT scope_id FROM memories WHERE seq {IN}
"""
_REACHED_PROFILES = f"""
SELECT instance, team, agent, user FROM profiles WHERE id IN (
  SELECT profile_id FROM memories WHERE seq {IN} UNION SELECT profile_id FROM documents WHERE seq {IN}
)
"""


@dataclass(frozen=True, slots=True)
class Reach:
    """Rows by number; of memory and document versions whether they are live. `sessions` lose their last message.

    `scopes` and `profiles` are those of which nothing is left, so that what is kept about them goes too.
    """

    messages: frozenset[int] = frozenset()
    memories: Mapping[int, bool] = field(default_factory=dict)
    documents: Mapping[int, bool] = field(default_factory=dict)
    sessions: frozenset[int] = frozenset()
    scopes: frozenset[int] = frozenset()
    profiles: frozenset[int] = frozenset()


def listed(numbers: Iterable[int]) -> str:
    """Return numbers as the JSON list that statements take."""
    return json.dumps(sorted(numbers))


class ReachFinder:
    """Reads on one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def named_messages(
        self, scopes: Collection[int], message_ids: Collection[str], session_ids: Collection[str], task_id: str | None
    ) -> frozenset[int]:
        """Return the messages of these ids and of these sessions, those of one task if it is given."""
        found: set[int] = set()
        for sql, names in ((_MESSAGES_BY_ID, message_ids), (_MESSAGES_BY_SESSION, session_ids)):
            if names:
                found |= self._numbers(sql, (listed(scopes), json.dumps(list(names)), task_id))
        return frozenset(found)

    def named_memories(
        self, scopes: Collection[int], memory_ids: Collection[str], task_id: str | None
    ) -> dict[int, bool]:
        """Return all versions of the memories of these ids, and of those whose place they took."""
        seqs: dict[int, bool] = {}
        for name, scope in query(self._db, _MEMORIES_BY_ID, (listed(scopes), json.dumps(list(memory_ids)), task_id)):
            seqs.update(dict(query(self._db, _CHAIN, (scope, name))))
        return seqs

    def of_messages(self, seqs: Collection[int]) -> Reach:
        """Return what goes with messages."""
        return self.of(seqs, {})

    def of(self, messages: Collection[int], memories: Mapping[int, bool]) -> Reach:
        """Return what goes with messages and memory versions."""
        if messages:
            memories = {**memories, **dict(query(self._db, _WITHOUT_SOURCE, (listed(messages), listed(messages))))}
        sessions = self._numbers(_EMPTIED, (listed(messages), listed(messages))) if messages else set()
        return Reach(frozenset(messages), memories, self._built_from(memories), frozenset(sessions))

    def scopes_of(self, what: Forgetting) -> frozenset[int]:
        """Return the scopes within the owner of a selector."""
        return self._owners("scopes", what)

    def of_selector(self, what: Forgetting) -> Reach:
        """Return what a selector reaches."""
        scopes = self.scopes_of(what)
        if what.is_whole:
            return self._whole(scopes, what)
        messages = self.named_messages(scopes, what.message_ids, what.session_ids, None)
        if what.is_timed:
            since, until = what.since, what.until
            if what.message_ids or what.session_ids:
                messages = frozenset(self._numbers(_WITHIN, (listed(messages), since, until)))
            else:
                messages = frozenset(self._numbers(_MESSAGES_OF, (listed(scopes), since, until)))
        return self.of(messages, self.named_memories(scopes, what.memory_ids, None))

    def expired(self, scope: Scope, number: int, before: Instant, limit: int) -> Reach:
        """Return messages that were recorded before, with what rests on nothing else; then memories without any.

        At most `limit` of both, the oldest. Scenes and portraits are not in it: they stay.
        """
        messages = self._numbers(_OLD_MESSAGES, (number, before, limit))
        memories: dict[int, bool] = {}
        if len(messages) < limit:
            owner = (scope.instance, scope.team, scope.agent, scope.user)
            rows = query(self._db, _OLD_MEMORIES, (*owner, number, before, limit - len(messages)))
            memories = dict(rows)
        found = self.of(messages, memories)
        return Reach(found.messages, found.memories, {}, found.sessions)

    def heirs(self, memories: Iterable[int]) -> frozenset[int]:
        """Return what took the place of these and may quote them."""
        seqs = listed(memories)
        return frozenset(self._numbers(_HEIRS, (seqs, seqs)))

    def told(self, reach: Reach) -> Forgotten:
        """Return counts and names of what is reached."""
        messages, memories, documents = listed(reach.messages), listed(reach.memories), listed(reach.documents)
        kinds = dict(query(self._db, _KINDS, (documents,)))
        scenes, personas = kinds.get("scene", 0), kinds.get("persona", 0)
        return Forgotten(
            ForgottenCounts(len(reach.sessions), len(reach.messages), sum(reach.memories.values()), scenes, personas),
            len(reach.messages) + len(reach.memories) + len(reach.documents),
            self._names(_SESSION_NAMES, listed(reach.sessions)),
            self._names(_MESSAGE_NAMES, messages),
            self._names(_MEMORY_NAMES, listed(seq for seq, is_live in reach.memories.items() if is_live)),
            self._names(_SCENE_NAMES, documents),
            index_keys(self._numbers(_REACHED_SCOPES, (messages, memories))),
            tuple(Profile(*row) for row in query(self._db, _REACHED_PROFILES, (memories, documents))),
        )

    def _whole(self, scopes: frozenset[int], what: Forgetting) -> Reach:
        profiles = self._owners("profiles", what)
        messages = self._numbers(_MESSAGES_OF, (listed(scopes), None, None))
        memories = dict(query(self._db, _MEMORIES_OF, (listed(scopes), listed(scopes))))
        found = self.of(messages, memories)
        documents = {**found.documents, **dict(query(self._db, _DOCUMENTS_OF, (listed(profiles),)))}
        sessions = frozenset(self._numbers(_SESSIONS_OF, (listed(scopes),)))
        return Reach(found.messages, found.memories, documents, sessions, scopes, profiles)

    def _built_from(self, memories: Iterable[int]) -> dict[int, bool]:
        """Return the documents that were built from memories or from their heirs, in all versions."""
        seqs = set(memories)
        if not seqs:
            return {}
        built = self._numbers(_BUILT_FROM, (listed(seqs | self.heirs(seqs)),))
        return dict(query(self._db, _ALL_VERSIONS, (listed(built),))) if built else {}

    def _owners(self, table: str, what: Forgetting) -> frozenset[int]:
        owner = (what.instance, what.team, what.agent, what.user)
        return frozenset(self._numbers(f"SELECT id FROM {table} WHERE {_OWNED}", owner))

    def _numbers(self, sql: str, values: tuple[object, ...]) -> set[int]:
        return {row[0] for row in query(self._db, sql, values)}

    def _names(self, sql: str, numbers: str) -> tuple[str, ...]:
        return tuple(row[0] for row in query(self._db, sql, (numbers,)))
