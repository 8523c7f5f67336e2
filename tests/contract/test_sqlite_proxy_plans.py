"""How SQLite finds what the proxy keeps: by an index always, because most of it stands before the first byte of an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import apsw

from memstrata.records.proxy import (
    Bound,
    DefaultBinding,
    LedgerEntry,
    MainPrompt,
    NewTurn,
    ProxySession,
    ProxySnapshot,
    ProxyTokens,
    RateKey,
)
from memstrata.store.sqlite.erasure_reach import Reach
from memstrata.store.sqlite.proxy import SqliteProxy, turns
from memstrata.store.sqlite.proxy.erasure import ProxyErasure

SESSION = ProxySession("default", "lin", "claude-code", "s1")


def use_every_verb(connection: apsw.Connection) -> None:
    proxy = SqliteProxy(connection)
    proxy.bindings.put(SESSION, Bound("declined"), 0, 1)
    proxy.bindings.read(SESSION)
    proxy.bindings.note_main(SESSION, MainPrompt(), 1)
    proxy.bindings.put_default("default", "lin", DefaultBinding("home", "assistant"))
    proxy.bindings.default("default", "lin")
    proxy.bindings.put_default("default", "lin", None)
    proxy.snapshots.put_if_absent(SESSION, ProxySnapshot(b"", "", 1))
    proxy.snapshots.replace(SESSION, ProxySnapshot(b"", "", 1))
    proxy.snapshots.read(SESSION)
    proxy.ledger.open(SESSION, [LedgerEntry(b"1", b"block")], NewTurn("t1", "q", "home", "assistant"), 1)
    proxy.ledger.elsewhere(SESSION, [b"1"], 0)
    proxy.ledger.cut(SESSION, ["m_1"])
    proxy.ledger.cut(SESSION, None)
    proxy.turns.current(SESSION)
    proxy.turns.progress(SESSION, "t1", "", 1)
    proxy.turns.close(SESSION, "t1", "", 1, complete=True)
    proxy.turns.due(1, 9)
    proxy.turns.next_due()
    proxy.turns.oldest_open()
    proxy.turns.close_idle(1, 2)
    proxy.turns.retry(SESSION, "t1", 1, "")
    proxy.turns.park(SESSION, "t1", "")
    proxy.turns.read(SESSION, "t1")
    proxy.turns.revive("default", 1)
    proxy.turns.deliver(SESSION, "t1")
    proxy.turns.counts("default")
    proxy.usage.add("default", "lin", "m", "2026-01-05", ProxyTokens())
    proxy.usage.lines("default", "2026-01-05", "2026-01-05")
    proxy.rates.add(RateKey("default", "k", "m"), 1, 1, 1)
    proxy.rates.sum(RateKey("default", "k", "m"), 1)
    proxy.rates.prune(1)
    proxy.sessions.touch(SESSION, 1)
    proxy.sessions.sweep(1, 9)
    proxy.sessions.remove(SESSION)
    ProxyErasure(connection).remove(Reach(memories={1: True}, documents={1: True}))


def test_no_table_is_read_whole_and_no_row_waits_for_a_sort(
    plans_of: Callable[[Callable[[apsw.Connection], object]], Mapping[str, list[str]]],
) -> None:
    plans = plans_of(use_every_verb)
    assert len(plans) > 35
    # Lists that are given as JSON are read whole; they are no tables.
    scans = {
        sql: [step for step in plan if step.startswith("SCAN") and "VIRTUAL TABLE" not in step]
        for sql, plan in plans.items()
    }
    assert [step for steps in scans.values() for step in steps if "INDEX" not in step] == []
    assert {sql for sql, plan in plans.items() if any("TEMP B-TREE FOR ORDER BY" in step for step in plan)} == set()
    # Walks along an index that begin with what is wanted first, or go along what waits alone.
    walks = {sql for sql, steps in scans.items() if steps}
    assert walks <= {turns._NEXT, turns._OLDEST_OPEN, turns._COUNTS}
