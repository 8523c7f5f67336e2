"""Taking rows out, with every copy and every mention that the database has of them (invariant 10).

What remains of a lost scene's memories counts as unconsumed again, so that L2 writes it anew without the deleted part.
Mirror files whose rows went are marked stale and rewritten in the background.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import apsw

from memstrata.clock import Instant, day_of
from memstrata.records import Profile
from memstrata.store import layout
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.conversations import message_terms
from memstrata.store.sqlite.counts import KeptCounts
from memstrata.store.sqlite.erasure_reach import IN, Reach, ReachFinder, listed
from memstrata.store.sqlite.memories import memory_terms

__all__ = ["Removal"]

_MESSAGE_TIMES = f"""
SELECT DISTINCT c.instance, m.recorded_at FROM messages m JOIN scopes c ON c.id = m.scope_id WHERE m.seq {IN}
"""
_MEMORY_TIMES = f"""
SELECT DISTINCT c.instance, m.updated_at FROM memories m JOIN scopes c ON c.id = m.scope_id WHERE m.seq {IN}
"""
_STALE = """
INSERT INTO mirror_stale (kind, instance, name) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET marks = marks + 1
"""
_STALE_PROFILES = f"""
INSERT INTO mirror_stale (kind, instance, name)
SELECT DISTINCT 'profile', p.instance, p.id FROM documents d JOIN profiles p ON p.id = d.profile_id WHERE d.seq {IN}
ON CONFLICT DO UPDATE SET marks = marks + 1
"""
_STALE_PROGRESS = f"""
INSERT INTO mirror_stale (kind, instance, name)
SELECT DISTINCT 'progress', c.instance, '' FROM sessions s JOIN scopes c ON c.id = s.scope_id WHERE s.id {IN}
ON CONFLICT DO UPDATE SET marks = marks + 1
"""
# Only scenes consume memories: the persona is drawn from scenes.
_UNCONSUME = f"""
UPDATE memories SET consumed = 0 WHERE seq IN (
  SELECT c.memory_seq FROM document_sources c JOIN documents d ON d.seq = c.document_seq
  WHERE d.kind = 'scene' AND d.seq {IN}
)
"""
_FORGET_REPLACED = f"UPDATE memories SET metadata = json_remove(metadata, '$.replaced') WHERE seq {IN}"
_SILENCE_RUNS = f"UPDATE runs SET error = '', notes = '[]' WHERE kind IN ({{kinds}}) AND target {IN}"
_SILENCE_JOBS = f"UPDATE jobs SET last_error = '' WHERE kind IN ({{kinds}}) AND target {IN}"
_SESSIONS_LEFT = f"SELECT DISTINCT session_key FROM messages WHERE seq {IN}"
_PROFILES_TOUCHED = f"""
SELECT profile_id FROM memories WHERE seq {IN} UNION SELECT profile_id FROM documents WHERE seq {IN}
"""
_FRESH = "scenes_at = 0, portrayed_at = 0, portrayed_memory = 0, portrayed_document = 0, persona_request = ''"
_UNNAMED = "'forgotten-' || lower(hex(randomblob(8)))"
_SPENT_BY_NOBODY = f"""
INSERT INTO spending (instance, day, team, agent, user, role, prompt_tokens, completion_tokens, cached_tokens, calls, estimated)
SELECT s.instance, s.day, s.team, s.agent, '', s.role, s.prompt_tokens, s.completion_tokens, s.cached_tokens, s.calls, s.estimated
FROM spending s JOIN scopes c ON c.instance = s.instance AND c.team = s.team AND c.agent = s.agent AND c.user = s.user
WHERE c.id {IN}
ON CONFLICT DO UPDATE SET prompt_tokens = prompt_tokens + excluded.prompt_tokens,
  completion_tokens = completion_tokens + excluded.completion_tokens,
  cached_tokens = cached_tokens + excluded.cached_tokens, calls = calls + excluded.calls,
  estimated = estimated + excluded.estimated
"""
_SPENDING_OF = f"""
DELETE FROM spending WHERE (instance, team, agent, user) IN (
  SELECT instance, team, agent, user FROM scopes WHERE id {IN}
)
"""


class Removal:
    """Works on one connection, inside the caller's transaction."""

    def __init__(self, connection: apsw.Connection, kept: KeptCounts) -> None:
        self._db = connection
        self._reach = ReachFinder(connection)
        self._message_terms = message_terms(connection, kept)
        self._memory_terms = memory_terms(connection, kept)

    def remove(self, reach: Reach) -> None:
        """Take out all that is reached."""
        self._documents(reach.documents)
        self._memories(reach.memories)
        self._messages(reach)
        profiles = listed(reach.profiles)
        self._db.execute(f"DELETE FROM jobs WHERE kind IN ('l2', 'l3') AND target {IN}", (profiles,))
        self._db.execute(f"UPDATE profiles SET {_FRESH} WHERE id {IN}", (profiles,))

    def silence(self, reach: Reach) -> None:
        """Drop what models and failures said about runs of the sessions and profiles concerned: it may quote them.

        Called before `remove`, while the rows still say which these are.
        """
        sessions = listed(row[0] for row in query(self._db, _SESSIONS_LEFT, (listed(reach.messages),)))
        touched = query(self._db, _PROFILES_TOUCHED, (listed(reach.memories), listed(reach.documents)))
        profiles = listed({row[0] for row in touched} | reach.profiles)
        for kinds, targets in (("'l1'", sessions), ("'l2', 'l3'", profiles)):
            self._db.execute(_SILENCE_RUNS.format(kinds=kinds), (targets,))
            self._db.execute(_SILENCE_JOBS.format(kinds=kinds), (targets,))
        self._db.execute(f"UPDATE sessions SET scene_name = '' WHERE id {IN}", (sessions,))
        self._db.execute(f"UPDATE profiles SET persona_request = '' WHERE id {IN}", (profiles,))

    def unname(self, reach: Reach) -> None:
        """Take the user's name from scopes and profiles of which nothing is left. What it cost stays, under nobody.

        The rows stay, because their numbers must never be given to anybody else. Hashes of what was deleted before
        protect nothing any more, since no message is left to extract it from.
        """
        scopes, profiles = listed(reach.scopes), listed(reach.profiles)
        for (number,) in query(self._db, f"SELECT id FROM profiles WHERE user <> '' AND id {IN}", (profiles,)):
            row = query(self._db, "SELECT instance, team, agent, user FROM profiles WHERE id = ?", (number,))[0]
            profile = Profile(*row)
            folder = layout.instance_folder(profile.instance) / layout.profile_folder(profile)
            self._db.execute(_STALE, ("folder", profile.instance, str(folder)))
            self._db.execute("DELETE FROM mirror_stale WHERE kind = 'profile' AND name = ?", (str(number),))
            for statement in (
                "DELETE FROM run_outputs WHERE run_id IN (SELECT id FROM runs WHERE kind IN ('l2', 'l3') AND target = ?)",
                "DELETE FROM runs WHERE kind IN ('l2', 'l3') AND target = ?",
                f"UPDATE profiles SET user = {_UNNAMED} WHERE id = ?",
            ):
                self._db.execute(statement, (number,))
        self._db.execute(f"DELETE FROM tombstones WHERE scope_id {IN}", (scopes,))
        self._db.execute(_SPENT_BY_NOBODY, (scopes,))
        self._db.execute(_SPENDING_OF, (scopes,))
        self._db.execute(f"UPDATE scopes SET user = {_UNNAMED} WHERE id {IN}", (scopes,))

    def _messages(self, reach: Reach) -> None:
        seqs = listed(reach.messages)
        if reach.messages:
            self._mark_stale("conversations", query(self._db, _MESSAGE_TIMES, (seqs,)))
            for seq in reach.messages:
                self._message_terms.remove(seq)
            for table in ("memory_sources", "parked", "spent_messages"):
                self._db.execute(f"DELETE FROM {table} WHERE message_seq {IN}", (seqs,))
            for table in ("message_vectors", "messages"):
                self._db.execute(f"DELETE FROM {table} WHERE seq {IN}", (seqs,))
        # A session that lost everything is forgotten with its receipts: its name and its keys can be used again.
        gone = listed(reach.sessions)
        for statement in (
            _STALE_PROGRESS,
            f"DELETE FROM receipts WHERE session_key {IN}",
            f"DELETE FROM jobs WHERE kind = 'l1' AND target {IN}",
            f"DELETE FROM run_outputs WHERE run_id IN (SELECT id FROM runs WHERE kind = 'l1' AND target {IN})",
            f"DELETE FROM runs WHERE kind = 'l1' AND target {IN}",
            f"DELETE FROM sessions WHERE id {IN}",
        ):
            self._db.execute(statement, (gone,))

    def _memories(self, versions: Mapping[int, bool]) -> None:
        if not versions:
            return
        seqs = listed(versions)
        # What took the place of an erased version may quote it.
        heirs = listed(self._reach.heirs(versions))
        for touched in (seqs, heirs):
            self._mark_stale("records", query(self._db, _MEMORY_TIMES, (touched,)))
        self._db.execute(_FORGET_REPLACED, (heirs,))
        for seq, is_live in versions.items():
            if is_live:
                self._memory_terms.remove(seq)
        for statement in (
            f"DELETE FROM run_outputs WHERE layer = 'l1' AND seq {IN}",
            f"DELETE FROM memory_vectors WHERE seq {IN}",
            f"DELETE FROM memory_sources WHERE memory_seq {IN}",
            f"DELETE FROM document_sources WHERE memory_seq {IN}",
            f"UPDATE memories SET superseded_by = NULL WHERE superseded_by {IN}",
            f"DELETE FROM memories WHERE seq {IN}",
        ):
            self._db.execute(statement, (seqs,))

    def _documents(self, versions: Iterable[int]) -> None:
        seqs = listed(versions)
        for statement in (
            _STALE_PROFILES,
            _UNCONSUME,
            f"DELETE FROM run_outputs WHERE layer IN ('l2', 'l3') AND seq {IN}",
            f"DELETE FROM document_sources WHERE document_seq {IN}",
            f"DELETE FROM documents WHERE seq {IN}",
        ):
            self._db.execute(statement, (seqs,))

    def _mark_stale(self, kind: str, times: Iterable[tuple[str, Instant]]) -> None:
        rows = sorted({(kind, instance, day_of(at)) for instance, at in times})
        self._db.executemany(_STALE, rows)
