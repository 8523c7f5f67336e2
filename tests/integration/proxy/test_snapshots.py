"""A session's system block is made once, and whoever makes it second uses the first."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from memstrata.proxy.snapshot import Bridge, ProfileTexts, Snapshots
from memstrata.records.proxy import ProxySession
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import FakeClock

SESSION = ProxySession("default", "lin", "claude-code", "s1")
BRIDGE = Bridge("http://127.0.0.1:8420/memory-bridge/v3", "token")


class Core:
    """Knows another portrait each time it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.portrait = ""
        self.fails = False

    async def __call__(self) -> ProfileTexts:
        self.asked += 1
        if self.fails:
            raise ConnectionError
        return ProfileTexts(self.portrait or f"portrait {self.asked}")


@pytest.fixture
def snapshots(store: SqliteStore, clock: FakeClock) -> Snapshots:
    return Snapshots(store, clock)


async def test_a_block_is_the_same_a_day_later_whatever_memory_holds_by_then(
    snapshots: Snapshots, store: SqliteStore, clock: FakeClock
) -> None:
    core = Core()
    first = await snapshots.of(SESSION, core, BRIDGE)
    clock.advance(86_400)

    after_a_restart = Snapshots(store, clock, max_tokens=100)
    assert await after_a_restart.of(SESSION, core, None) == first
    assert await after_a_restart.kept(SESSION) == first
    assert core.asked == 1
    assert "portrait 1" in first


async def test_two_that_make_a_block_at_once_use_the_same(store: SqliteStore, clock: FakeClock) -> None:
    core = Core()
    both = await asyncio.gather(*(Snapshots(store, clock).of(SESSION, core, BRIDGE) for _ in range(4)))
    assert len(set(both)) == 1


async def test_every_session_has_a_block_of_its_own(snapshots: Snapshots) -> None:
    core = Core()
    own = await snapshots.of(SESSION, core, BRIDGE)
    for part in ("instance", "user", "client", "session"):
        other = replace(SESSION, **{part: "other"})
        assert await snapshots.kept(other) is None
        assert await snapshots.of(other, core, BRIDGE) != own


async def test_a_core_that_fails_leaves_no_block_behind(snapshots: Snapshots) -> None:
    core = Core()
    core.fails = True
    with pytest.raises(ConnectionError):
        await snapshots.of(SESSION, core, BRIDGE)

    core.fails = False
    assert "portrait 2" in await snapshots.of(SESSION, core, BRIDGE)


async def test_only_the_users_wish_makes_another_block_and_says_whether_it_differs(snapshots: Snapshots) -> None:
    core = Core()
    await snapshots.of(SESSION, core, BRIDGE)
    assert await snapshots.renew(SESSION, core, BRIDGE)
    assert "portrait 2" in (await snapshots.kept(SESSION) or "")

    core.portrait = "portrait 2"
    assert not await snapshots.renew(SESSION, core, BRIDGE)
