"""What runs side by side and what never does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial

from memstrata.memory import Memory, MessageInput
from memstrata.records import Scope
from memstrata.testing import EchoDistiller, FakeClock

Open = Callable[..., AbstractAsyncContextManager[Memory]]
Settled = Callable[[Memory, Scope], Awaitable[None]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]


def said(text: str) -> list[MessageInput]:
    return [MessageInput("user", text)]


async def test_sessions_are_distilled_in_parallel_up_to_the_number_of_workers(
    open_memory: Open, scope: Scope, distiller: EchoDistiller, eventually: Eventually, settled: Settled
) -> None:
    async with open_memory(workers=4) as memory:
        with distiller.paused("extract"):
            for number in range(6):
                await memory.add(scope, f"s{number}", said(f"fact number {number}"))
            await eventually(lambda: distiller.calls["extract"] == 4)
            assert (await memory.load("default"))["l1"].running == 4
        await settled(memory, scope)

        assert len(distiller.seen) == 6


async def test_one_session_is_never_distilled_twice_at_the_same_time(
    open_memory: Open, scope: Scope, distiller: EchoDistiller, eventually: Eventually, settled: Settled
) -> None:
    other = replace(scope, user="max")
    async with open_memory(workers=4) as memory:
        with distiller.paused("extract"):
            await memory.add(scope, "s1", said("fact one"))
            await eventually(lambda: distiller.calls["extract"] == 1)
            await memory.add(scope, "s1", said("fact two"))
            await memory.add(other, "s1", said("fact three"))
            await eventually(lambda: distiller.calls["extract"] == 2)  # the workers did look for work meanwhile
            assert (await memory.load("default"))["l1"].running == 2
        await memory.flush(scope)

        assert distiller.seen.count("fact one") == 1


async def test_l2_and_l3_of_a_profile_exclude_each_other_while_l1_goes_on(
    open_memory: Open,
    scope: Scope,
    clock: FakeClock,
    distiller: EchoDistiller,
    eventually: Eventually,
    settled: Settled,
) -> None:
    async with open_memory(l2_min_interval_seconds=0, persona_every_n=1) as memory:
        await memory.add(scope, "s1", said("fact one"))
        await memory.flush(scope)
        await memory.add(scope, "s2", said("fact two"))
        await settled(memory, scope)
        with distiller.paused("consolidate"):
            clock.advance(10)
            await eventually(lambda: distiller.calls["consolidate"] == 2)
            profile = scope.profile("agent")
            await memory._store.write(lambda r: r.jobs.arm("l3", r.profiles.ensure(profile), clock.now()))
            await memory.add(scope, "s3", said("fact three"))
            await eventually(lambda: "fact three" in distiller.seen)  # the workers did look for work meanwhile

            layers = (await memory.status(scope)).layers
            assert (layers["l2"].state, layers["l3"].state) == ("running", "waiting")
            assert distiller.calls["portray"] == 1
        await settled(memory, scope)
        assert distiller.calls["portray"] == 2


async def test_a_long_run_keeps_its_lease(
    open_memory: Open,
    scope: Scope,
    clock: FakeClock,
    distiller: EchoDistiller,
    eventually: Eventually,
    settled: Settled,
) -> None:
    async with open_memory(lease_seconds=60) as memory:
        with distiller.paused("extract"):
            await memory.add(scope, "s1", said("fact one"))
            await eventually(lambda: distiller.calls["extract"] == 1)
            commits = memory._store.health().details["commits"]

            def has_committed(times: int) -> bool:
                return int(memory._store.health().details["commits"]) >= times

            for _ in range(4):
                clock.advance(30)
                renewed = int(commits) + 1
                await eventually(partial(has_committed, renewed))
                commits = memory._store.health().details["commits"]
        await settled(memory, scope)

        assert distiller.calls["extract"] == 1
        assert (await memory.health()).components["pipeline"].details["lost"] == 0
