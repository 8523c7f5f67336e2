"""The workers over a store that a test plays: what is claimed, put back, and noticed in time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar, cast

import pytest

from memstrata.errors import LeaseLost, Unavailable
from memstrata.records import (
    ComponentHealth,
    Deferred,
    Job,
    Lease,
    Poison,
    Profile,
    ProfileTarget,
    Retry,
    RunRecord,
    Scope,
)
from memstrata.schedule import Engine
from memstrata.settings import PipelineSettings
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import GenerationFilter
from memstrata.testing import FakeClock

T = TypeVar("T")
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
SCOPE = Scope("default", "home", "assistant", "lin")
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

    def defer(self, lease: Lease, due_at: int, error: str) -> None:
        self.put_back.append((f"put off: {error}", due_at))

    def bury(self, lease: Lease, error: str) -> None:
        self.put_back.append((error, -1))


def engine(store: Store, clock: FakeClock, handler: Callable[[Lease], Awaitable[Any]]) -> Engine:
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
        Deferred("no key"),
        Deferred("rate limit", 600),
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

    def is_idle(left: int) -> bool:
        return len(outcomes) < left and worker.health().details["running"] == 0

    running = asyncio.create_task(worker.run())
    while outcomes:
        left = len(outcomes)
        store.due_at = clock.now()
        worker.wake()
        await eventually(partial(is_idle, left))

    now = clock.now()
    assert store.put_back == [
        ("no answer", now + 5_000),
        ("slow down", now + 60_000),
        ("put off: no key", now + 5_000),
        ("put off: rate limit", now + 600_000),
        ("unreadable", -1),
        ("ValueError: a bug", now + 5_000),
        ("Unavailable: locked", now + 20_000),
    ]
    assert [run.outcome for run in store.runs] == ["retry", "retry", "retry", "retry", "poison", "retry", "retry"]
    details = worker.health().details
    assert {name: details[name] for name in ("done", "retried", "deferred", "buried", "lost")} == {
        "done": 1,
        "retried": 4,
        "deferred": 2,
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


class Attempts:
    """A handler that ends as it is told, over a real store; it moves the clock on to the job's next time."""

    def __init__(self, store: Store, clock: FakeClock, eventually: Eventually) -> None:
        self.store = store
        self.clock = clock
        self.eventually = eventually
        self.leases: list[Lease] = []
        self.outcomes: list[Retry | Poison | None] = []
        self.worker = engine(store, clock, self)

    async def __call__(self, lease: Lease) -> Retry | Poison | None:
        self.leases.append(lease)
        outcome = self.outcomes.pop(0)
        if outcome is None:
            await self.store.write(lambda r: r.jobs.finish(lease, self.clock.now() + 7_000))
        return outcome

    async def run(self, *outcomes: Retry | Poison | None) -> list[int]:
        """Let the job end in each of these ways; return the seconds that it then waits each time."""
        await self.store.write(lambda r: r.jobs.arm("l2", r.profiles.ensure(TARGET.profile), self.clock.now()))
        running = asyncio.create_task(self.worker.run())
        waits: list[int] = []
        for outcome in outcomes:
            self.outcomes.append(outcome)
            self.clock.advance(waits[-1] if waits else 0)
            await self.eventually(lambda: not self.outcomes and self.worker.health().details["running"] == 0)
            job = await self.job()
            waits.append((job.due_at - self.clock.now()) // 1_000)
        await ended(self.worker, running)
        return waits

    async def job(self) -> Job:
        (job,) = await self.store.read(lambda r: r.jobs.of(SCOPE, TARGET.profile))
        return job

    async def lines(self) -> list[str]:
        """Return the errors that were recorded, the first one first."""
        found = await self.store.read(lambda r: r.generations.page("default", GenerationFilter(), None, 999))
        return [one.run.error for one in reversed(found)]


@pytest.fixture
def attempts(store: Store, clock: FakeClock, eventually: Eventually) -> Attempts:
    return Attempts(store, clock, eventually)


async def test_an_outage_buries_nothing_however_long_it_lasts_and_is_one_line(attempts: Attempts) -> None:
    waits = await attempts.run(*[Deferred("no key")] * 12)

    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300, 300, 300, 300]
    job = await attempts.job()
    assert (job.state, job.attempts, job.last_error) == ("waiting", 0, "no key")
    assert await attempts.lines() == ["no key"]
    assert attempts.worker.health().details["deferred"] == 12


async def test_a_failure_after_an_outage_has_all_its_tries(attempts: Attempts) -> None:
    """The input is not to blame for the outage, and is for what comes after it."""
    waits = await attempts.run(*[Deferred("no key")] * 4, *[Retry("no sense in it")] * 3)

    assert waits[4:6] == [5, 15]
    assert [(lease.attempt, lease.deferrals) for lease in attempts.leases[4:]] == [(1, 4), (2, 0), (3, 0)]
    assert (await attempts.job()).state == "dead"
    assert await attempts.lines() == ["no key", "no sense in it", "no sense in it", "no sense in it"]


async def test_an_outage_between_failures_takes_no_try_and_gives_none_back(attempts: Attempts) -> None:
    await attempts.run(Retry("no sense"), Deferred("no key"), Deferred("no key"), Retry("no sense"), Retry("no sense"))

    assert [lease.attempt for lease in attempts.leases] == [1, 2, 2, 2, 3]
    assert (await attempts.job()).state == "dead"


async def test_the_next_outage_is_a_line_of_its_own_and_its_waits_begin_anew(attempts: Attempts) -> None:
    waits = await attempts.run(
        Deferred("no key"), Deferred("no key"), None, Deferred("no network"), Deferred("no network")
    )

    assert waits == [5, 10, 7, 5, 10]
    assert await attempts.lines() == ["no key", "no network"]
