"""A backup holds what the proxy keeps: a conversation goes on from it with the same bytes."""

from __future__ import annotations

from pathlib import Path

from memstrata.records.proxy import Bound, LedgerEntry, NewTurn, ProxySession, ProxySnapshot
from memstrata.store.protocol import Repositories
from memstrata.store.sqlite.backup import back_up, restore
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import FakeClock

SESSION = ProxySession("default", "lin", "claude-code", "s1")


def view(r: Repositories) -> tuple[object, ...]:
    proxy = r.proxy
    return (
        proxy.bindings.read(SESSION),
        proxy.snapshots.read(SESSION),
        proxy.ledger.entries(SESSION, [b"1" * 32]),
        proxy.turns.read(SESSION, "t1"),
    )


async def test_what_the_proxy_keeps_comes_back_from_a_backup(store: SqliteStore, tmp_path: Path) -> None:
    def fill(r: Repositories) -> None:
        r.proxy.bindings.put(SESSION, Bound("bound", "home", "assistant"), 0, 1)
        r.proxy.snapshots.put_if_absent(SESSION, ProxySnapshot(b"block", "0", 1))
        entry = LedgerEntry(b"1" * 32, b"block", (), 1)
        r.proxy.ledger.open(SESSION, [entry], NewTurn("t1", "question", "home", "assistant"), 1)

    await store.write(fill)
    before = await store.read(view)
    assert all(before)

    back_up(tmp_path, tmp_path / "backup.tgz", FakeClock())
    restore(tmp_path / "backup.tgz", tmp_path / "new", force=False, moved_aside=tmp_path / "aside")

    restored = await SqliteStore.open(tmp_path / "new")
    assert await restored.read(view) == before
    await restored.close()
