"""Sessions and messages of an import.

How far a session is distilled is said message by message, so that the cursor moves in the transaction that brings the
message: the pipeline, which works meanwhile, never sees one that it would distill a second time.
"""

from __future__ import annotations

from collections.abc import Callable

import apsw

from memstrata.records import Scope
from memstrata.records.archive import MessageLine, SessionLine
from memstrata.store.sqlite.archive.outcome import ADDED, KNOWN, Written, conflict
from memstrata.store.sqlite.archive.renumbering import Numbers, free_number
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.conversations import message_terms
from memstrata.store.sqlite.counts import KeptCounts
from memstrata.store.sqlite.scopes import ScopeNumbers

__all__ = ["MessageWriter"]

_FIND_SESSION = "SELECT id FROM sessions WHERE scope_id = ? AND session_id = ?"
_ADD_SESSION = """
INSERT INTO sessions (scope_id, session_id, warmup, scene_name, last_message_at) VALUES (?, ?, ?, ?, ?)
"""
_FIND = "SELECT seq, role, content FROM messages WHERE scope_id = ? AND message_id = ? AND session_key = ?"
_ADD = """
INSERT INTO messages (seq, scope_id, session_key, message_id, task_id, role, content, said_at, recorded_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
# Past everything that is there already, or the cursor would skip what waits between.
_DISTILLED = """
UPDATE sessions SET cursor = ?1 WHERE id = ?2
  AND NOT EXISTS (SELECT 1 FROM messages WHERE session_key = ?2 AND seq > sessions.cursor AND seq < ?1)
"""
_BY_RULES = "UPDATE sessions SET rules_from = coalesce(rules_from, ?1) WHERE id = ?2 AND cursor = ?1"
_PARK = "INSERT INTO parked (message_seq, session_key, reason, parked_at, revived) VALUES (?, ?, ?, ?, ?)"
_SPEND = "INSERT INTO spent_messages (message_seq) VALUES (?)"


class MessageWriter:
    """See `ArchiveWriter`."""

    def __init__(self, connection: apsw.Connection, scopes: ScopeNumbers, kept: KeptCounts) -> None:
        self._db = connection
        self._scopes = scopes
        self._terms = message_terms(connection, kept)

    def session(self, line: SessionLine, instance: str, *, dry: bool) -> Written:
        scope = Scope(instance, line.team, line.agent, line.user)
        number = self._scopes.find(scope)
        if number is not None and query(self._db, _FIND_SESSION, (number, line.session_id)):
            return KNOWN
        if not dry:
            values = (line.session_id, line.warmup, line.scene_name, line.last_message_at)
            self._db.execute(_ADD_SESSION, (self._scopes.ensure(scope), *values))
        return ADDED

    def message(
        self,
        line: MessageLine,
        instance: str,
        numbers: Numbers,
        terms: Callable[[str], tuple[str, ...]],
        *,
        dry: bool,
    ) -> Written:
        m, scope = line, Scope(instance, line.team, line.agent, line.user)
        number = self._scopes.find(scope)
        keys = [] if number is None else query(self._db, _FIND_SESSION, (number, m.session_id))
        if keys:
            for seq, role, content in query(self._db, _FIND, (number, m.id, keys[0][0])):
                if (role, content) != (m.role, m.content):
                    return conflict("another message of this id is in the session")
                numbers.messages.add(m.seq, seq)
                return KNOWN
        if dry:
            return ADDED
        if number is None or not keys:
            return conflict("its session does not come before it")
        seq, key = free_number(self._db, "messages", m.seq), keys[0][0]
        row = (seq, number, key, m.id, m.task_id, m.role, m.content, m.said_at, m.recorded_at)
        self._db.execute(_ADD, row)
        self._terms.add(number, seq, terms(m.content))
        numbers.messages.add(m.seq, seq)
        if m.distilled:
            self._db.execute(_DISTILLED, (seq, key))
        if m.by_rules:
            self._db.execute(_BY_RULES, (seq, key))
        if m.parked is not None:
            self._db.execute(_PARK, (seq, key, m.parked, m.parked_at or 0, m.revived))
        if m.spent:
            self._db.execute(_SPEND, (seq,))
        return ADDED
