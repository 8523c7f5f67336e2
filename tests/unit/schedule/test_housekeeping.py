"""Housekeeping runs on the clock; what it forgets is only what nobody can ask for any more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from memstrata.clock import Instant
from memstrata.records import RunOutcome, RunRecord, Scope
from memstrata.schedule import Arming, Housekeeping
from memstrata.settings import PipelineSettings
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import GenerationFilter
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import FakeClock

DAY_SECONDS = 86_400


async def test_records_of_failed_runs_are_forgotten_after_ninety_days_and_those_of_others_stay(
    store: SqliteStore, scope: Scope, clock: FakeClock, eventually: Callable[..., Awaitable[None]]
) -> None:
    ended: tuple[RunOutcome, ...] = ("retry", "poison", "items")

    def record(r: Repositories) -> None:
        target = r.profiles.ensure(scope.profile("agent"))
        for outcome in ended:
            r.jobs.record(target, RunRecord("l2", outcome, 0, 0, 0, 0, "model", clock.now(), clock.now(), "no answer"))

    await store.write(record)
    housekeeping = Housekeeping(store, clock, Arming(PipelineSettings(), clock), 30)
    running = asyncio.ensure_future(housekeeping.run())

    async def outcomes() -> list[str]:
        page = await store.read(lambda r: r.generations.page(scope.instance, GenerationFilter(), None, 10))
        return sorted(one.run.outcome for one in page)

    clock.advance(89 * DAY_SECONDS)
    clock.advance(3_600)
    assert await outcomes() == ["items", "poison", "retry"]

    async def forgotten() -> bool:
        clock.advance(2 * DAY_SECONDS)
        return await outcomes() == ["items"]

    await eventually(forgotten)
    housekeeping.stop()
    await running


class _Daily:
    """Work of a day that ends when it is let go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.at: list[Instant] = []

    async def run(self, now: Instant) -> None:
        self.at.append(now)
        self.begun.set()
        await self.may_end.wait()

    def details(self) -> Mapping[str, int | str]:
        return {}

    def stop(self) -> None:
        self.may_end.set()


async def test_hours_that_pass_while_the_work_of_a_day_is_done_are_not_waited_for_again(
    store: SqliteStore, clock: FakeClock, eventually: Callable[..., Awaitable[None]]
) -> None:
    daily, began = _Daily(), clock.now()
    housekeeping = Housekeeping(store, clock, Arming(PipelineSettings(), clock), 30, daily)
    running = asyncio.ensure_future(housekeeping.run())
    await daily.begun.wait()
    clock.advance(DAY_SECONDS)
    daily.may_end.set()

    await eventually(lambda: len(daily.at) == 2)
    assert daily.at == [began, began + DAY_SECONDS * 1_000]
    housekeeping.stop()
    await running
