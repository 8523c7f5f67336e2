"""A stop ends the call under way, and everything else passes through."""

from __future__ import annotations

import asyncio

import pytest

from memstrata.search.interruptible import Interruptible


async def test_a_call_returns_and_raises_what_it_does() -> None:
    async def fails() -> None:
        raise ValueError("its own")

    calls = Interruptible()
    assert await calls.perform(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(ValueError, match="its own"):
        await calls.perform(fails())


async def test_a_stop_ends_the_call_under_way_and_those_after_it() -> None:
    calls, began = Interruptible(), asyncio.Event()

    async def hangs() -> str:
        began.set()
        await asyncio.Event().wait()
        return "never"

    waiting = asyncio.create_task(calls.perform(hangs()))
    await began.wait()
    calls.stop()
    assert await waiting is None
    assert await calls.perform(hangs()) is None


async def test_who_waits_can_be_cancelled_and_takes_the_call_along() -> None:
    calls, ended, began = Interruptible(), asyncio.Event(), asyncio.Event()

    async def hangs() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.create_task(calls.perform(hangs()))
    await began.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await ended.wait()
