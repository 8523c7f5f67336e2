"""The public doubles do what their users rely on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from memstrata.distill.protocol import Distiller, Extraction, MessageBatch, ResolveRequest
from memstrata.records import Message, Poison, Retry, Scope
from memstrata.testing import EchoDistiller, FakeClock

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]


@pytest.fixture
def batch(scope: Scope) -> MessageBatch:
    messages = (
        Message(1, "a", "s1", "", "user", "I drink green tea", 0, 0),
        Message(2, "b", "s1", "", "assistant", "noted", 0, 0),
    )
    return MessageBatch(scope, "s1", "", (), messages)


async def test_the_clock_stands_still_until_it_is_moved(clock: FakeClock) -> None:
    start = clock.now()
    assert clock.now() == start
    clock.advance(1.5)
    assert clock.now() == start + 1_500


async def test_the_clock_wakes_whoever_waits_for_a_time_or_a_signal(clock: FakeClock) -> None:
    signal = asyncio.Event()
    waits = [
        asyncio.ensure_future(clock.wait(signal, clock.now() + 2_000)),
        asyncio.ensure_future(clock.wait(signal, None)),
    ]
    await asyncio.sleep(0)
    clock.advance(1)
    await asyncio.wait(waits, timeout=0)
    assert [wait.done() for wait in waits] == [False, False]
    clock.advance(1)
    async with asyncio.timeout(20):
        await waits[0]
    assert not waits[1].done()
    signal.set()
    async with asyncio.timeout(20):
        await waits[1]
        await clock.wait(asyncio.Event(), clock.now())


async def test_the_distiller_makes_a_memory_of_every_user_message(distiller: Distiller, batch: MessageBatch) -> None:
    answer = await distiller.extract(batch)

    assert isinstance(answer, Extraction)
    assert [(draft.content, draft.source_seqs) for draft in answer.drafts] == [("I drink green tea", (1,))]


async def test_the_distiller_fails_as_often_as_it_was_told(distiller: EchoDistiller, batch: MessageBatch) -> None:
    distiller.fail("extract", Retry("no answer"), Poison("unreadable"), RuntimeError("broken"))

    assert await distiller.extract(batch) == Retry("no answer")
    assert await distiller.extract(batch) == Poison("unreadable")
    with pytest.raises(RuntimeError, match="broken"):
        await distiller.extract(batch)
    assert isinstance(await distiller.extract(batch), Extraction)
    assert distiller.calls["extract"] == 4
    assert distiller.seen == ["I drink green tea", "noted"]


async def test_a_paused_stage_waits_for_the_end_of_the_block(
    distiller: EchoDistiller, batch: MessageBatch, eventually: Eventually
) -> None:
    with distiller.paused("extract"):
        waiting = asyncio.ensure_future(distiller.extract(batch))
        await eventually(lambda: distiller.calls["extract"] == 1)
        assert await distiller.resolve(ResolveRequest(batch.scope, "en", (), ())) is not None  # other stages go on
        assert not waiting.done()
    async with asyncio.timeout(20):
        assert isinstance(await waiting, Extraction)
