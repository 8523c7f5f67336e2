"""The workers over a store that a test plays: what is claimed, put back, and noticed in time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from memstrata.errors import LeaseLost, Unavailable
from memstrata.records import ComponentHealth, Lease, Poison, Profile, ProfileTarget, Retry, RunRecord
from memstrata.schedule import Engine
from memstrata.settings import PipelineSettings
from memstrata.store.protocol import Repositories
from memstrata.testing import FakeClock

T = TypeVar("T")
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
TARGET = ProfileTarget(1, Profile("default", "home", "assistant"))


class OneJob:
    """A store with one job that is due at `due_at`, if it is set."""

    def __init__(self) -> None:
        self.due_at: int | None = None
        self.looks = 0
        self.on_look: Callable[[], None] = lambda: None
        self.trouble: Exception | None = None
        self.runs: list[RunRecord] = []
        self.put_back: list[tuple[str, int]] = []
        self.jobs = self  # the repository as well: it holds nothing else

    async def read(self, work: Callable[[Repositories], T], *, timeout_seconds: float = 10.0) -> T:
        self.looks += 1
        if self.trouble is not None:
            raise self.trouble
        answer = work(cast("Repositories", self))
        self.on_look()
        return answer

    async def write(self, work: Callable[[Repositories], T]) -> T:
        return work(cast("Repositories", self))

    def health(self) -> ComponentHealth:
        return ComponentHealth("ok")

    async def close(self) -> None: ...

    def next_due(self, now: int) -> int | None:
        return self.due_at

    def claim(self, worker: str, now: int, until: int, limit: int) -> tuple[Lease, ...]:
        self.due_at = None
        return (Lease(7, "l2", TARGET, 1, 1, until),)

    def hold(self, lease: Lease) -> None: ...

    def hasten(self, kind: str, now: int) -> int:
        return 0

    def record(self, target: Any, run: RunRecord) -> None:
        self.runs.append(run)

    def fail(self, lease: Lease, due_at: int, error: str) -> None:
        self.put_back.append((error, due_at))

    def bury(self, lease: Lease, error: str) -> None:
        self.put_back.append((error, -1))


def engine(store: OneJob, clock: FakeClock, handler: Callable[[Lease], Awaitable[Any]]) -> Engine:
    return Engine(store, clock, {"l2": handler}, PipelineSettings(attempts=3, retry_seconds=5), "model")


async def ended(worker: Engine, running: asyncio.Task[None]) -> None:
    await worker.drain(0)
    async with asyncio.timeout(20):
        await running


async def test_a_job_that_is_set_while_the_engine_looks_is_not_slept_over(
    clock: FakeClock, eventually: Eventually
) -> None:
    store = OneJob()
    done: list[int] = []

    async def handler(lease: Lease) -> None:
        done.append(lease.job_id)

    worker = engine(store, clock, handler)
    store.due_at = clock.now() + 1_000
    running = asyncio.create_task(worker.run())
    await eventually(lambda: store.looks == 1)

    def add_behind_its_back() -> None:
        store.on_look = lambda: None
        store.due_at = clock.now()
        worker.wake(store.due_at)

    # The timer rings for a job that is gone by now; while the engine looks, a new one is committed.
    store.due_at = clock.now() + 600_000
    store.on_look = add_behind_its_back
    clock.advance(1)

    await eventually(lambda: done == [7])
    await ended(worker, running)


async def test_a_wake_for_later_than_the_next_look_costs_no_look(clock: FakeClock, eventually: Eventually) -> None:
    store = OneJob()

    async def handler(_: Lease) -> None: ...

    worker = engine(store, clock, handler)
    store.due_at = clock.now() + 10_000
    running = asyncio.create_task(worker.run())
    await eventually(lambda: store.looks == 1)
    await asyncio.sleep(0)
    worker.wake(clock.now() + 600_000)
    await asyncio.sleep(0)
    assert store.looks == 1
    worker.wake(clock.now() + 5_000)
    await eventually(lambda: store.looks == 2)
    await ended(worker, running)


async def test_what_a_step_returns_or_raises_decides_what_becomes_of_the_job(
    clock: FakeClock, eventually: Eventually
) -> None:
    outcomes: list[Any] = [
        Retry("no answer"),
        Retry("slow down", 60),
        Poison("unreadable"),
        ValueError("a bug"),
        Unavailable("locked", retry_after=20),
        LeaseLost("taken over"),
        None,
    ]
    store = OneJob()

    async def handler(_: Lease) -> Any:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    worker = engine(store, clock, handler)
    running = asyncio.create_task(worker.run())
    while outcomes:
        left = len(outcomes)
        store.due_at = clock.now()
        worker.wake()
        await eventually(lambda left=left: len(outcomes) < left and worker.health().details["running"] == 0)  # type: ignore[misc]

    now = clock.now()
    assert store.put_back == [
        ("no answer", now + 5_000),
        ("slow down", now + 60_000),
        ("unreadable", -1),
        ("ValueError: a bug", now + 5_000),
        ("Unavailable: locked", now + 20_000),
    ]
    assert [run.outcome for run in store.runs] == ["retry", "retry", "poison", "retry", "retry"]
    details = worker.health().details
    assert {name: details[name] for name in ("done", "retried", "buried", "lost")} == {
        "done": 1,
        "retried": 4,
        "buried": 1,
        "lost": 1,
    }
    await ended(worker, running)


async def test_a_store_that_cannot_be_asked_shows_in_health_and_is_asked_again(
    clock: FakeClock, eventually: Eventually
) -> None:
    """Invariant 11."""
    store = OneJob()
    store.trouble = Unavailable("the disk is gone")

    async def handler(_: Lease) -> None: ...

    worker = engine(store, clock, handler)
    running = asyncio.create_task(worker.run())
    await eventually(lambda: worker.health().state == "reduced")
    assert "the disk is gone" in worker.health().reason

    store.trouble = None
    clock.advance(1)
    await eventually(lambda: worker.health().state == "ok")
    await ended(worker, running)


async def test_a_step_that_does_not_end_in_time_is_stopped_at_the_shutdown(
    clock: FakeClock, eventually: Eventually
) -> None:
    store = OneJob()
    began, stopped = asyncio.Event(), asyncio.Event()

    async def handler(_: Lease) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    worker = engine(store, clock, handler)
    store.due_at = clock.now()
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(20):
        await began.wait()
    await ended(worker, running)

    assert stopped.is_set()
    assert store.put_back == []  # the lease tells that it was not finished
