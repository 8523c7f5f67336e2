"""Housekeeping runs on the clock; what it forgets is only what nobody can ask for any more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

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
