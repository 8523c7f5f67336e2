"""What was put into which message of a conversation. Entries are added and emptied, never changed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

import apsw

from memstrata.clock import Instant
from memstrata.records.proxy import LedgerEntry, NewTurn, ProxySession, ShownMemory
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.proxy.sessions import SessionRows, named
from memstrata.store.sqlite.proxy.turns import SqliteProxyTurns

__all__ = ["SqliteProxyLedger"]

_CHAINS = "(SELECT unhex(value) FROM json_each(?))"
_ENTRIES = f"SELECT chain, block, shown, created_at FROM proxy_ledger WHERE session_key = ? AND chain IN {_CHAINS}"
_PUT = """
INSERT OR IGNORE INTO proxy_ledger (session_key, chain, block, shown, created_at) VALUES (?, ?, ?, ?, ?)
"""
_ELSEWHERE = """
SELECT l.session_key FROM proxy_ledger l
JOIN proxy_sessions o ON o.id = l.session_key
JOIN proxy_sessions s ON s.instance = o.instance AND s.user = o.user AND s.client = o.client AND s.team = o.team
  AND s.agent = o.agent AND s.id <> o.id
WHERE l.chain = ?5 AND l.created_at >= ?6
  AND s.instance = ?1 AND s.user = ?2 AND s.client = ?3 AND s.session = ?4
ORDER BY l.created_at DESC LIMIT 1
"""
_CUT = "UPDATE proxy_ledger SET block = x'', shown = '[]' WHERE session_key = ?1 AND block <> x''"
_CUT_SHOWING = f"""
{_CUT} AND EXISTS (
  SELECT 1 FROM json_each(shown) one WHERE json_extract(one.value, '$[0]') IN (SELECT value FROM json_each(?2))
)
"""


class SqliteProxyLedger:
    """See `store.proxy.ProxyLedger`."""

    def __init__(self, connection: apsw.Connection, rows: SessionRows, turns: SqliteProxyTurns) -> None:
        self._db = connection
        self._rows = rows
        self._turns = turns

    def entries(self, session: ProxySession, chains: Collection[bytes]) -> Mapping[bytes, LedgerEntry]:
        number = self._rows.find(session)
        return {} if number is None else self._entries(number, chains)

    def elsewhere(self, session: ProxySession, chains: Sequence[bytes], since: Instant) -> Mapping[bytes, LedgerEntry]:
        for chain in reversed(chains):
            for (number,) in query(self._db, _ELSEWHERE, (*named(session), chain, since)):
                return self._entries(number, chains)
        return {}

    def open(
        self, session: ProxySession, entries: Collection[LedgerEntry], turn: NewTurn | None, now: Instant
    ) -> Mapping[bytes, LedgerEntry]:
        number = self._rows.ensure(session, now)
        for entry in entries:
            shown = json.dumps([[one.memory_id, one.digest] for one in entry.shown], ensure_ascii=False)
            self._db.execute(_PUT, (number, entry.chain, entry.block, shown, entry.created_at))
        if turn is not None:
            self._turns.open(number, turn, now)
        return self._entries(number, [entry.chain for entry in entries])

    def cut(self, session: ProxySession, memory_ids: Collection[str] | None) -> int:
        number = self._rows.find(session)
        if number is None:
            return 0
        if memory_ids is None:
            self._db.execute(_CUT, (number,))
        else:
            self._db.execute(_CUT_SHOWING, (number, json.dumps(list(memory_ids))))
        return self._db.changes()

    def _entries(self, number: int, chains: Iterable[bytes]) -> dict[bytes, LedgerEntry]:
        rows = query(self._db, _ENTRIES, (number, json.dumps([chain.hex() for chain in chains])))
        return {bytes(chain): _entry(chain, block, shown, at) for chain, block, shown, at in rows}


def _entry(chain: bytes, block: bytes, shown: str, created_at: Instant) -> LedgerEntry:
    memories = tuple(ShownMemory(memory_id, digest) for memory_id, digest in json.loads(shown))
    return LedgerEntry(bytes(chain), bytes(block), memories, created_at)
