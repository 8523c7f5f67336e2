"""What the proxy copied of memory goes with it (invariant 10): entries, system blocks, turns that were not delivered yet.

An entry is emptied and stays, so that nothing else is put into a message that went out; a system block goes, and the next
request has a new one. Either way the provider's cache is missed once. Of a user who is forgotten the sessions go whole.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Final

import apsw

from memstrata.clock import Instant
from memstrata.records import Scope
from memstrata.records.forgetting import Forgetting
from memstrata.store.sqlite.erasure_reach import IN, Reach, listed

__all__ = ["ProxyErasure"]

_OWNED: Final = (
    "instance = ?1 AND (?2 IS NULL OR team = ?2) AND (?3 IS NULL OR agent = ?3) AND (?4 IS NULL OR user = ?4)"
)
_SESSIONS: Final = f"SELECT id FROM proxy_sessions WHERE {_OWNED}"
# An agent may show what another of the same team keeps of the same user, so team and user are what counts.
_CUT: Final = """
UPDATE proxy_ledger SET block = x'', shown = '[]' WHERE block <> x'' AND session_key IN (
  SELECT s.id FROM proxy_sessions s WHERE (s.instance, s.user) IN (
    SELECT c.instance, c.user FROM memories m JOIN scopes c ON c.id = m.scope_id
    WHERE m.seq IN (SELECT value FROM json_each(?1))
  )
) AND EXISTS (
  SELECT 1 FROM json_each(shown) one WHERE json_extract(one.value, '$[0]') IN (
    SELECT memory_id FROM memories WHERE seq IN (SELECT value FROM json_each(?1))
  )
)
"""
_DROP_SNAPSHOTS: Final = f"""
DELETE FROM proxy_snapshots WHERE session_key IN (
  SELECT s.id FROM documents d JOIN profiles p ON p.id = d.profile_id
  JOIN proxy_sessions s ON s.instance = p.instance AND s.team = p.team AND p.user IN ('', s.user) WHERE d.seq {IN}
)
"""
_CONTENTS: Final = ("proxy_ledger", "proxy_snapshots", "proxy_turns")
_NAMED: Final = "session IN (SELECT value FROM json_each(?5))"
_TURNS_OF_TIMES: Final = f"""
DELETE FROM proxy_turns WHERE session_key IN ({_SESSIONS})
  AND opened_at BETWEEN coalesce(?5, opened_at) AND coalesce(?6, opened_at)
"""
_DEFAULTS: Final = f"DELETE FROM proxy_defaults WHERE {_OWNED}"
_USED_BY_NOBODY: Final = """
INSERT INTO proxy_usage (instance, day, user, model, requests, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens)
SELECT instance, day, '', model, requests, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens
FROM proxy_usage WHERE instance = ?1 AND user = ?2
ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens,
  output_tokens = output_tokens + excluded.output_tokens,
  cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
  cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens
"""


class ProxyErasure:
    """Works on one connection, inside the caller's transaction, before the rows that are reached go."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def remove(self, reach: Reach) -> None:
        """Take out what was copied of memories and documents."""
        if reach.memories:
            self._db.execute(_CUT, (listed(reach.memories),))
        if reach.documents:
            self._db.execute(_DROP_SNAPSHOTS, (listed(reach.documents),))

    def forget(self, what: Forgetting) -> None:
        """Take out what sessions within the owner of a selector hold of theirs."""
        owner = (what.instance, what.team, what.agent, what.user)
        if what.is_whole and what.user is not None:
            self._db.execute(f"DELETE FROM proxy_sessions WHERE {_OWNED}", owner)
            self._unname(what.instance, what.team, what.agent, what.user)
        elif what.is_whole:
            for table in _CONTENTS:
                self._db.execute(f"DELETE FROM {table} WHERE session_key IN ({_SESSIONS})", owner)
        elif what.is_timed:
            self._db.execute(_TURNS_OF_TIMES, (*owner, what.since, what.until))
        elif what.session_ids:
            named = json.dumps(what.session_ids)
            self._db.execute(f"DELETE FROM proxy_sessions WHERE {_OWNED} AND {_NAMED}", (*owner, named))

    def undelivered(self, scope: Scope, session_ids: Collection[str]) -> None:
        """Take out the turns of sessions whose messages are deleted, or they would come after."""
        if session_ids:
            owner = (scope.instance, scope.team, scope.agent, scope.user)
            turns = f"DELETE FROM proxy_turns WHERE session_key IN ({_SESSIONS} AND {_NAMED})"
            self._db.execute(turns, (*owner, json.dumps(list(session_ids))))

    def expire(self, scope: Scope, before: Instant) -> None:
        """Take out turns that were opened before."""
        owner = (scope.instance, scope.team, scope.agent, scope.user)
        self._db.execute(_TURNS_OF_TIMES, (*owner, None, before - 1))

    def _unname(self, instance: str, team: str | None, agent: str | None, user: str) -> None:
        """Take the user's name from what is no session's. What it cost stays, under nobody."""
        self._db.execute(_DEFAULTS, (instance, team, agent, user))
        if team is None and agent is None:
            self._db.execute(_USED_BY_NOBODY, (instance, user))
            self._db.execute("DELETE FROM proxy_usage WHERE instance = ? AND user = ?", (instance, user))
            self._db.execute("DELETE FROM proxy_rates WHERE instance = ? AND key = ?", (instance, user))
