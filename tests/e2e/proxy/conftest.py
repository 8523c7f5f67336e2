"""A world for each test: the provider, the core, and the folder that proxies keep their store in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from memstrata.memory import Memory
from memstrata.testing import FakeClock
from memstrata.testing.upstream import FakeUpstream

from .world import GATEWAY_KEY, CoreLink, People, World, app_of

OpenMemory = Callable[..., AbstractAsyncContextManager[Memory]]


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    async with FakeUpstream() as running:
        yield running


@pytest.fixture
async def world(
    open_memory: OpenMemory, upstream: FakeUpstream, clock: FakeClock, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[World]:
    """A core without keys: every session belongs to home/helper of lin. A test that takes `people` has one with keys."""
    key = GATEWAY_KEY if "people" in request.fixturenames else ""
    async with open_memory(l2_delay_seconds=0.0, l2_min_interval_seconds=0.0) as memory:
        yield World(memory, CoreLink(app_of(memory, key)), upstream, clock, tmp_path / "proxy", key)


@pytest.fixture
async def people(world: World) -> People:
    return await world.populate()
