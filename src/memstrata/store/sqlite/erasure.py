"""The one delete path (invariant 10): every way of deleting finds what it reaches, then has that taken out.

Deleting is quick: rows, vectors and mentions are gone at once, overwritten with zeros. Terms of the keyword index lie in
its segments until these are merged, and the log holds old pages until it is written back; `merge_terms` and
`Store.drop_copies` see to both where somebody asked to be forgotten.
"""

from __future__ import annotations

from collections.abc import Collection

import apsw

from memstrata.clock import Instant
from memstrata.records import Deletion, Scope
from memstrata.records.forgetting import Forgetting, Forgotten
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.counts import KeptCounts
from memstrata.store.sqlite.erasure_reach import IN, Reach, ReachFinder, listed
from memstrata.store.sqlite.erasure_removal import Removal
from memstrata.store.sqlite.proxy.erasure import ProxyErasure
from memstrata.store.sqlite.scopes import ScopeNumbers

__all__ = ["SqliteErasure"]

_TOMBSTONES = f"""
INSERT INTO tombstones (scope_id, content_hash, up_to)
SELECT scope_id, content_hash, (SELECT coalesce(max(seq), 0) FROM messages) FROM memories WHERE seq {IN}
ON CONFLICT (scope_id, content_hash) DO UPDATE SET up_to = max(up_to, excluded.up_to)
"""
_SPENT = f"INSERT OR IGNORE INTO spent_messages SELECT message_seq FROM memory_sources WHERE memory_seq {IN}"
_AGENTS = """
SELECT team, agent FROM scopes WHERE instance = ?1 AND 'chat_memory-' || team || '-' || agent = ?2
UNION SELECT team, agent FROM profiles WHERE instance = ?1 AND 'chat_memory-' || team || '-' || agent = ?2
"""
_REGISTERED = """
SELECT team_id, agent_id FROM agents WHERE instance = ?1 AND 'chat_memory-' || team_id || '-' || agent_id = ?2
UNION SELECT team_id, substr(?2, length('chat_memory--' || team_id) + 1) FROM assets
  WHERE instance = ?1 AND asset_id = ?2 AND asset_type = 'chat_memory'
    AND substr(?2, 1, length('chat_memory--' || team_id)) = 'chat_memory-' || team_id || '-'
"""
_INDEXES = ("message_terms", "memory_terms")
_PAGES = 500  # of an index, merged in one step: about a sixth of a second, in which nobody else writes


class SqliteErasure:
    """See `store.forgetting.Erasure`."""

    def __init__(self, connection: apsw.Connection, scopes: ScopeNumbers, kept: KeptCounts) -> None:
        self._db = connection
        self._scopes = scopes
        self._reach = ReachFinder(connection)
        self._removal = Removal(connection, kept)
        self._proxy = ProxyErasure(connection)

    def messages(
        self, scope: Scope, message_ids: Collection[str], session_ids: Collection[str], task_id: str | None
    ) -> Deletion:
        named = self._reach.named_messages(self._numbered(scope), message_ids, session_ids, task_id)
        self._proxy.undelivered(scope, session_ids)
        return self._erase(self._reach.of_messages(named))

    def memories(self, scope: Scope, memory_ids: Collection[str], task_id: str | None) -> Deletion:
        named = self._reach.named_memories(self._numbered(scope), memory_ids, task_id)
        self._bury(named)
        return self._erase(self._reach.of((), named))

    def agents_named(self, instance: str, memory_id: str) -> frozenset[tuple[str, str]]:
        for sql in (_REGISTERED, _AGENTS):
            if found := query(self._db, sql, (instance, memory_id)):
                return frozenset((team, agent) for team, agent in found)
        return frozenset()

    def agent(self, instance: str, team: str, agent: str) -> Deletion:
        what = Forgetting(instance, team, agent)
        reach = self._reach.of_selector(what)
        self._removal.silence(reach)
        self._proxy.forget(what)
        return self._erase(reach)

    def forget(self, what: Forgetting, *, dry_run: bool = False) -> Forgotten:
        reach = self._reach.of_selector(what)
        told = self._reach.told(reach)
        if dry_run:
            return told
        if what.memory_ids:
            self._bury(self._reach.named_memories(self._reach.scopes_of(what), what.memory_ids, None))
        self._removal.silence(reach)
        self._erase(reach)
        self._proxy.forget(what)
        if what.is_whole and what.user is not None:
            self._removal.unname(reach)
            self._scopes.forget()
        return told

    def expire(self, scope: Scope, before: Instant, limit: int) -> Forgotten:
        number = self._scopes.find(scope)
        if number is None:
            return self._reach.told(Reach())
        reach = self._reach.expired(scope, number, before, limit)
        told = self._reach.told(reach)
        self._erase(reach)
        self._proxy.expire(scope, before)
        return told

    def merge_terms(self, *, begins: bool) -> bool:
        pages = -_PAGES if begins else _PAGES
        left = [self._merged(index, pages) for index in _INDEXES]
        return any(left)

    def old_receipts(self, before: Instant) -> int:
        self._db.execute("DELETE FROM receipts WHERE created_at < ?", (before,))
        return self._db.changes()

    def _erase(self, reach: Reach) -> Deletion:
        self._proxy.remove(reach)
        self._removal.remove(reach)
        return Deletion(len(reach.messages), sum(reach.memories.values()), sum(reach.documents.values()))

    def _bury(self, memories: Collection[int]) -> None:
        """See to it that these are not extracted again from what has been said so far."""
        for statement in (_TOMBSTONES, _SPENT):
            self._db.execute(statement, (listed(memories),))

    def _numbered(self, scope: Scope) -> tuple[int, ...]:
        number = self._scopes.find(scope)
        return () if number is None else (number,)

    def _merged(self, index: str, pages: int) -> bool:
        """Merge a part of an index and return whether there was anything to do (FTS5 says so by its changes)."""
        before = self._db.total_changes()
        query(self._db, f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)", (pages,))
        return self._db.total_changes() - before >= 2
