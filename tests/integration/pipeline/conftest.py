"""Waiting for the pipeline of a memory whose clock stands still."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from memstrata.memory import Memory
from memstrata.records import Scope
from memstrata.testing import FakeClock


@pytest.fixture
def settled(clock: FakeClock, eventually: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Return a way to wait until nothing runs in a scope and nothing more is due at this hour."""

    async def wait(memory: Memory, scope: Scope) -> None:
        async def quiet() -> bool:
            jobs = (await memory.status(scope)).jobs
            return all(job.state == "dead" or (job.state == "waiting" and job.due_at > clock.now()) for job in jobs)

        await eventually(quiet)

    return wait
