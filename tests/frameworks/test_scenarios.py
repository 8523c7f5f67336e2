"""What memory owes an agent in every framework: each turn once, recall in the request alone, the run as it was."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from .bench import MARK, Bench
from .driver import FAIL, HANG, Call, Driver, Thread
from .half_run import WORDS

Eventually = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


async def test_two_turns_are_captured_once_each(driver: Driver, bench: Bench) -> None:
    assert await driver.say("I live in Lisbon.", "Good to know.") == "Good to know."
    assert await driver.say("Which trains go there?", "The night train.") == "The night train."
    assert await driver.drain() == 0

    assert await bench.said() == [
        ("user", "I live in Lisbon."),
        ("assistant", "Good to know."),
        ("user", "Which trains go there?"),
        ("assistant", "The night train."),
    ]
    assert bench.captures() == 2
    assert "I live in Lisbon." in driver.requests[1]
    assert "Good to know." in driver.requests[1]


async def test_what_is_recalled_is_in_the_request_and_not_in_the_history(driver: Driver, bench: Bench) -> None:
    await bench.remember("I am allergic to walnuts.")
    await driver.say("May I eat walnuts?", "Better not.")
    await driver.say("And walnuts with honey?", "No.")
    await driver.drain()

    assert all(MARK in request and "allergic to walnuts" in request for request in driver.requests)
    # The block of the first turn is gone from the second request: the newest one is all there is.
    blocks = [request.count("I am allergic to walnuts.") for request in driver.requests]
    assert blocks[1] == blocks[0] or "clean requests" in driver.lacks
    history = await driver.history()
    assert "May I eat walnuts?" in history
    assert "allergic" not in history
    assert [text for _, text in await bench.said()] == [
        "May I eat walnuts?",
        "Better not.",
        "And walnuts with honey?",
        "No.",
    ]


@pytest.mark.needs("tools")
async def test_a_loop_of_tools_is_one_turn_and_one_recall(driver: Driver, bench: Bench) -> None:
    await bench.remember("I am allergic to walnuts.")
    words = await driver.say("Walnuts and the weather?", Call("look_up", {"city": "Porto"}), "No walnuts; it rains.")
    await driver.drain()

    assert words == "No walnuts; it rains."
    assert len(driver.requests) == 2
    assert "It rains in Porto." in driver.requests[1]
    assert all("allergic to walnuts" in request for request in driver.requests)
    assert bench.recalls() == 1 + ("one recall" in driver.lacks)
    assert bench.captures() == 1
    assert await bench.said() == [("user", "Walnuts and the weather?"), ("assistant", "No walnuts; it rains.")]


@pytest.mark.needs("memory tools")
async def test_the_model_can_search_memory_three_times_in_a_turn(driver: Driver, bench: Bench) -> None:
    await bench.remember("I am allergic to walnuts.")
    search = Call("memory_search", {"query": "walnuts"})
    await driver.say("Look for it.", search, search, search, search, "You are allergic to walnuts.")
    await driver.drain()

    found = [request.count("I am allergic to walnuts.") for request in driver.requests]
    assert found[0] < found[1] < found[2] < found[3] == found[4]
    assert await bench.said() == [("user", "Look for it."), ("assistant", "You are allergic to walnuts.")]


@pytest.mark.needs("interrupts")
async def test_a_run_that_waits_for_a_person_is_captured_when_another_process_ends_it(
    driver: Driver, bench: Bench
) -> None:
    await bench.remember("I am allergic to walnuts.")
    await driver.say("Pay 5 for the walnuts.", Call("pay", {"amount": 5}))
    await driver.drain()
    assert await bench.said() == []

    await driver.restart()
    assert await driver.resume("Paid.") == "Paid."
    await driver.drain()

    assert await bench.said() == [("user", "Pay 5 for the walnuts."), ("assistant", "Paid.")]
    assert bench.captures() == 1
    assert "Paid 5." in driver.requests[-1]
    assert "allergic to walnuts" in driver.requests[-1]


@pytest.mark.needs("interrupts")
async def test_a_run_is_begun_by_one_process_and_ended_by_another(
    driver: Driver, bench: Bench, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.params["driver"]

    async def half(which: str) -> str:
        command = [sys.executable, "-m", "frameworks.half_run", name, bench.url, bench.team, str(bench.folder), which]
        process = await asyncio.create_subprocess_exec(
            *command, cwd=Path(__file__).parent.parent, stdout=PIPE, stderr=PIPE
        )
        told, failed = await process.communicate()
        assert process.returncode == 0, failed.decode()
        return told.decode().strip().splitlines()[-1] if told.strip() else ""

    await half("ask")
    assert await bench.said() == []
    assert await half("resume") == "Paid."

    assert await bench.said() == [("user", WORDS), ("assistant", "Paid.")]


async def test_after_an_error_of_the_model_the_next_turn_brings_both_questions(driver: Driver, bench: Bench) -> None:
    with pytest.raises(Exception):  # noqa: B017 - each framework has its own
        await driver.say("Are you there?", FAIL)
    assert await driver.say("Hello?", "Here I am.") == "Here I am."
    await driver.drain()

    said = await bench.said()
    assert said[-2:] == [("user", "Hello?"), ("assistant", "Here I am.")]
    assert said[:-2] == ([("user", "Are you there?")] if "kept questions" not in driver.lacks else [])
    assert bench.captures() == 1


@pytest.mark.needs("cancellation")
async def test_a_cancelled_run_is_not_captured_and_the_next_one_is(
    driver: Driver, bench: Bench, eventually: Eventually
) -> None:
    running = asyncio.create_task(driver.say("Take your time.", HANG))
    await eventually(lambda: len(driver.requests) == 1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await driver.drain()
    assert bench.captures() == 0

    assert await driver.say("Hello?", "Here I am.") == "Here I am."
    await driver.drain()
    assert (await bench.said())[-2:] == [("user", "Hello?"), ("assistant", "Here I am.")]
    assert bench.captures() == 1


async def test_the_same_words_twice_are_two_turns(driver: Driver, bench: Bench) -> None:
    await driver.say("Again.", "Once.")
    await driver.say("Again.", "Twice.")
    await driver.drain()

    assert await bench.said() == [
        ("user", "Again."),
        ("assistant", "Once."),
        ("user", "Again."),
        ("assistant", "Twice."),
    ]
    assert bench.captures() == 2


@pytest.mark.needs("message ids")
async def test_a_message_that_is_sent_again_is_not_captured_again(driver: Driver, bench: Bench) -> None:
    await driver.say("Only once.", "Yes.", message_id="m-1")
    await driver.say("Only once.", "Yes, again.", message_id="m-1")
    await driver.drain()

    assert [pair for pair in await bench.said() if pair[0] == "user"] == [("user", "Only once.")]
    assert bench.captures() == 1


async def test_without_a_memory_server_the_agent_answers_and_the_turn_comes_later(driver: Driver, bench: Bench) -> None:
    await bench.remember("I am allergic to walnuts.")
    with bench.link.cut():
        assert await driver.say("Any walnuts?", "I cannot say.") == "I cannot say."
    assert MARK not in driver.requests[0]
    assert await driver.drain() == 0

    assert await bench.said() == [("user", "Any walnuts?"), ("assistant", "I cannot say.")]


async def test_a_slow_memory_server_holds_up_nothing_for_long(driver: Driver, bench: Bench) -> None:
    await bench.remember("I am allergic to walnuts.")
    with bench.link.held():
        assert await driver.say("Any walnuts?", "I cannot say.") == "I cannot say."
        assert MARK not in driver.requests[0]
        assert bench.captures() == 0
    assert await driver.drain() == 0

    assert await bench.said() == [("user", "Any walnuts?"), ("assistant", "I cannot say.")]


async def test_runs_at_the_same_time_share_nothing(driver: Driver, bench: Bench) -> None:
    await bench.remember("I keep bees near the walnuts.", user="ana")
    await bench.remember("I sail under the walnuts.", user="ben")
    ana, ben = Thread("ana-1", "ana"), Thread("ben-1", "ben")
    await asyncio.gather(
        driver.say("Walnuts, asks Ana?", "For Ana.", thread=ana),
        driver.say("Walnuts, asks Ben?", "For Ben.", thread=ben),
    )
    await driver.drain()

    for thread, name, own, other in ((ana, "Ana", "keep bees", "sail"), (ben, "Ben", "sail", "keep bees")):
        request = next(request for request in driver.requests if f"asks {name}?" in request)
        assert own in request
        assert other not in request
        assert await bench.said(thread) == [("user", f"Walnuts, asks {name}?"), ("assistant", f"For {name}.")]
