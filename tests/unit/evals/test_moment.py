from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from memstrata.clock import SystemClock
from memstrata.evals.dataset import Corpus, Question, Unit
from memstrata.evals.moment import MomentClock, asking_time


def test_a_question_is_asked_when_the_data_set_says_or_else_after_the_last_message(
    unit: Callable[..., Unit], question: Callable[..., Question]
) -> None:
    corpus = Corpus("c", "all", (unit("1", said_at=5_000), unit("2", said_at=3_000)))
    assert asking_time(question("q", {"1"}), corpus) == 65_000
    assert asking_time(replace(question("q", {"1"}), asked_at=7), corpus) == 7


def test_a_moment_holds_inside_its_block_alone() -> None:
    clock = MomentClock()
    with clock.at(42):
        assert clock.now() == 42
        with clock.at(7):
            assert clock.now() == 7
        assert clock.now() == 42
    assert clock.now() >= 1_700_000_000_000


async def test_a_wait_in_a_moment_long_past_ends_with_its_signal_not_at_once() -> None:
    clock, signal = MomentClock(), asyncio.Event()
    with clock.at(0):
        waiting = asyncio.create_task(clock.wait(signal, 3_600_000))
        # Ten turns of the loop are enough for a wait that would return at once.
        for _ in range(10):
            await asyncio.sleep(0)
        assert not waiting.done()
        signal.set()
        await waiting


async def test_a_wait_whose_time_has_come_ends_without_a_signal() -> None:
    clock = MomentClock()
    with clock.at(SystemClock().now() + 1_000_000):
        async with asyncio.timeout(10):
            await clock.wait(asyncio.Event(), clock.now())
