"""A failing step loses nothing, blocks nobody, and can be seen (invariant 11)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest

from memstrata.distill.protocol import SceneDraft, SceneRequest, SceneWrite
from memstrata.errors import Unavailable
from memstrata.memory import Memory, MessageInput
from memstrata.records import JobKind, LayerStatus, Poison, Retry, Scope
from memstrata.testing import EchoDistiller, FakeClock
from memstrata.testing.distiller import Stage

Open = Callable[..., AbstractAsyncContextManager[Memory]]
Settled = Callable[[Memory, Scope], Awaitable[None]]


def said(text: str) -> list[MessageInput]:
    return [MessageInput("user", text)]


async def l1(memory: Memory, scope: Scope) -> LayerStatus:
    return (await memory.status(scope)).layers["l1"]


async def contents(memory: Memory, scope: Scope) -> list[str]:
    return sorted(m.content for m in (await memory.memories(scope, limit=100)).items)


async def test_a_failure_waits_three_times_longer_each_time_and_then_succeeds(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller, settled: Settled
) -> None:
    distiller.fail("extract", *[Retry("no answer")] * 3)
    async with open_memory(attempts=5, retry_seconds=5) as memory:
        await memory.add(scope, "s1", said("a fact"))
        for tries, wait in ((1, 5), (2, 15), (3, 45)):
            await settled(memory, scope)
            status = await l1(memory, scope)
            assert distiller.calls["extract"] == tries
            assert (status.state, status.pending, status.last_error) == ("waiting", 1, "no answer")
            assert (status.last_outcome, status.next_due_at) == ("retry", clock.now() + wait * 1000)
            clock.advance(wait)

        await settled(memory, scope)
        assert await contents(memory, scope) == ["a fact"]
        status = await l1(memory, scope)
        assert (status.state, status.pending, status.last_error, status.last_outcome) == ("idle", 0, "", "items")


async def test_a_server_that_names_a_longer_wait_is_given_it(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller, settled: Settled
) -> None:
    distiller.fail("extract", Retry("slow down", 60), Unavailable("overloaded", retry_after=90))
    async with open_memory() as memory:
        await memory.add(scope, "s1", said("a fact"))
        for wait, reason in ((60, "slow down"), (90, "Unavailable: overloaded")):
            await settled(memory, scope)
            status = await l1(memory, scope)
            assert (status.next_due_at, status.last_error) == (clock.now() + wait * 1000, reason)
            clock.advance(wait)
        await settled(memory, scope)
        assert await contents(memory, scope) == ["a fact"]


async def test_what_fails_too_often_is_a_dead_letter_that_can_be_put_back_to_work(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller, settled: Settled
) -> None:
    distiller.fail("extract", *[RuntimeError("broken pipe")] * 3)
    async with open_memory(attempts=3, retry_seconds=1) as memory:
        await memory.add(scope, "s1", said("a fact"))
        for wait in (1, 3, 0):
            await settled(memory, scope)
            clock.advance(wait)

        status = await l1(memory, scope)
        assert (status.state, status.pending, status.next_due_at) == ("dead", 1, None)
        assert status.last_error == "RuntimeError: broken pipe"
        assert (await memory.load("default"))["l1"].dead == 1
        health = (await memory.health()).components["pipeline"].details
        assert (health["retried"], health["buried"]) == (2, 1)
        clock.advance(1_000_000)
        await settled(memory, scope)
        assert distiller.calls["extract"] == 3

        assert await memory.retry(scope) == 1
        assert await memory.retry(scope) == 0
        await settled(memory, scope)
        assert await contents(memory, scope) == ["a fact"]
        assert (await memory.load("default"))["l1"].dead == 0


async def test_a_dead_letter_survives_a_restart(
    open_memory: Open, scope: Scope, distiller: EchoDistiller, settled: Settled
) -> None:
    distiller.fail("extract", Poison("unreadable"))
    async with open_memory() as memory:
        await memory.add(scope, "s1", said("a fact"))
        await settled(memory, scope)
    async with open_memory() as memory:
        await settled(memory, scope)
        assert (await l1(memory, scope)).state == "dead"
        await memory.retry(scope)
        await settled(memory, scope)
        assert await contents(memory, scope) == ["a fact"]


async def test_poison_blocks_no_other_session_and_no_other_scope(
    open_memory: Open, scope: Scope, distiller: EchoDistiller, settled: Settled
) -> None:
    other = replace(scope, user="max")
    distiller.fail("extract", Poison("unreadable"))
    async with open_memory() as memory:
        await memory.add(scope, "poisoned", said("cannot be read"))
        await settled(memory, scope)
        assert (await l1(memory, scope)).state == "dead"

        await memory.add(scope, "sound", said("can be read"))
        await memory.add(other, "poisoned", said("can be read, too"))
        await settled(memory, scope)
        await settled(memory, other)

        assert await contents(memory, scope) == ["can be read"]
        assert await contents(memory, other) == ["can be read, too"]
        status = await memory.status(scope, session_id="poisoned")
        assert (status.layers["l1"].state, status.layers["l1"].pending, status.idle) == ("dead", 1, False)


async def test_new_messages_neither_cut_a_backoff_short_nor_use_up_the_tries(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller, settled: Settled
) -> None:
    distiller.fail("extract", Retry("no answer"))
    async with open_memory(attempts=2, retry_seconds=5) as memory:
        await memory.add(scope, "s1", said("fact one"))
        await settled(memory, scope)
        for text in ("fact two", "fact three", "fact four"):
            await memory.add(scope, "s1", said(text))
        await settled(memory, scope)
        assert distiller.calls["extract"] == 1

        clock.advance(5)
        await settled(memory, scope)
        assert await contents(memory, scope) == ["fact four", "fact one", "fact three", "fact two"]


async def test_a_new_message_gives_a_dead_session_another_try(
    open_memory: Open, scope: Scope, distiller: EchoDistiller, settled: Settled
) -> None:
    distiller.fail("extract", Poison("unreadable"))
    async with open_memory() as memory:
        await memory.add(scope, "s1", said("fact one"))
        await settled(memory, scope)
        await memory.add(scope, "s1", said("fact two"))
        await settled(memory, scope)

        assert await contents(memory, scope) == ["fact one", "fact two"]


async def test_the_warm_up_moves_after_success_only(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller, settled: Settled
) -> None:
    distiller.fail("extract", Retry("no answer"), Retry("no answer"))
    async with open_memory(retry_seconds=1) as memory:
        await memory.add(scope, "s1", said("fact one"))
        await settled(memory, scope)
        clock.advance(1)
        await settled(memory, scope)
        clock.advance(3)
        await settled(memory, scope)
        assert distiller.seen == ["fact one"]

        for calls, text in ((3, "fact two"), (4, "fact three"), (4, "fact four")):
            await memory.add(scope, "s1", said(text))
            await settled(memory, scope)
            assert distiller.calls["extract"] == calls


@pytest.mark.parametrize("stage", ["extract", "resolve"])
@pytest.mark.parametrize("failure", [Retry("no answer"), Poison("unreadable"), RuntimeError("broken")])
async def test_a_failed_l1_moves_and_writes_nothing(
    open_memory: Open,
    scope: Scope,
    clock: FakeClock,
    distiller: EchoDistiller,
    settled: Settled,
    stage: Stage,
    failure: Retry | Poison | Exception,
) -> None:
    """A failure is never taken for "nothing to remember"."""
    distiller.fail(stage, failure)
    async with open_memory() as memory:
        await memory.add(scope, "s1", said("a fact"))
        await settled(memory, scope)

        assert await contents(memory, scope) == []
        assert (await l1(memory, scope)).pending == 1
        await memory.retry(scope)
        clock.advance(5)
        await settled(memory, scope)
        assert await contents(memory, scope) == ["a fact"]


@pytest.mark.parametrize("stage", ["consolidate", "portray"])
@pytest.mark.parametrize("failure", [Retry("no answer"), Poison("unreadable"), RuntimeError("broken")])
async def test_a_failed_l2_or_l3_leaves_the_old_documents_as_they_are_and_stays_due(
    open_memory: Open,
    scope: Scope,
    clock: FakeClock,
    distiller: EchoDistiller,
    settled: Settled,
    stage: Stage,
    failure: Retry | Poison | Exception,
) -> None:
    """Invariant 8: documents are swapped whole, after validation, or not at all."""
    kind: JobKind = "l2" if stage == "consolidate" else "l3"
    async with open_memory(persona_every_n=1, l2_min_interval_seconds=0) as memory:
        await memory.add(scope, "s1", said("the first fact"))
        await memory.flush(scope)
        scenes, persona = await memory.scenes(scope), await memory.persona(scope)
        assert persona is not None

        distiller.fail(stage, failure)
        await memory.add(scope, "s2", said("the second fact"))
        await settled(memory, scope)
        clock.advance(10)
        await settled(memory, scope)

        assert await memory.persona(scope) == persona
        if kind == "l2":
            assert await memory.scenes(scope) == scenes
        layer = (await memory.status(scope)).layers[kind]
        assert layer.state == ("dead" if isinstance(failure, Poison) else "waiting")
        assert layer.pending == 1
        assert layer.last_error

        await memory.retry(scope)
        clock.advance(5)
        await settled(memory, scope)
        assert [scene.body for scene in await memory.scenes(scope)] == ["- the second fact\n- the first fact"]
        renewed = await memory.persona(scope)
        assert renewed is not None
        assert renewed.body == "A person with 2 notes."


async def test_a_draft_that_may_not_be_stored_is_a_retry_and_no_success(
    open_memory: Open,
    scope: Scope,
    distiller: EchoDistiller,
    settled: Settled,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DESIGN §5: a run that changes nothing while it had input is not a success."""

    async def loops(request: SceneRequest) -> SceneDraft:
        write = SceneWrite("notes.md", "and so on " * 100, "a loop", tuple(m.seq for m in request.memories))
        return SceneDraft((write,))

    monkeypatch.setattr(distiller, "consolidate", loops)
    async with open_memory() as memory:
        await memory.add(scope, "s1", [MessageInput("user", f"fact number {n} of many") for n in range(20)])
        await settled(memory, scope)
        clock.advance(10)
        await settled(memory, scope)

        layer = (await memory.status(scope)).layers["l2"]
        assert (layer.state, layer.pending, layer.last_outcome) == ("waiting", 20, "retry")
        assert "over and over" in layer.last_error
        assert await memory.scenes(scope) == ()


async def test_a_wait_for_a_job_in_its_backoff_ends_although_the_clock_stands_still(
    open_memory: Open, scope: Scope, distiller: EchoDistiller
) -> None:
    distiller.fail("extract", Retry("no answer"))
    async with open_memory(attempts=5, retry_seconds=5) as memory:
        await memory.add(scope, "s1", said("a fact"))

        status = await memory.flush(scope, wait_seconds=0.2)

        assert (status.layers["l1"].state, status.layers["l1"].last_error) == ("waiting", "no answer")
