"""SIGTERM: a server ends in the time it was given, and what it could not finish is done once at the next start."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from memstrata.client import AsyncMemoryClient

from .evidence import database_problems, mirrored_messages
from .process import running

SHUTDOWN_SECONDS = 2.0
OTHERS = (
    "my sister plays the cello in Porto",
    "we fly to Oslo on the ninth of May",
    "oolong tastes best without sugar",
    "the blue bicycle needs new brakes",
    "Tuesday evenings belong to the choir",
    "our cat Miso sleeps on the piano",
)

pytestmark = pytest.mark.slow
# What starting threads, closing files and a busy machine may add; far below the next longer wait, the lease.
MARGIN_SECONDS = 8.0


def client(url: str) -> AsyncMemoryClient:
    return AsyncMemoryClient(url, team="team", agent="agent", user="user")


async def test_waiting_messages_are_distilled_and_a_slow_run_is_left_for_the_next_start(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with running(folder, "--hold", "extract", "--shutdown-seconds", str(SHUTDOWN_SECONDS)) as server:
        async with client(server.url) as memory:
            receipts = [await memory.add([("user", "holdfast, the slow one")], session="slow")]
            await server.said("held extract")
            # The first round of a session starts L1 at once, the next waits for a third or for ten idle minutes.
            for text in OTHERS:
                receipts.append(await memory.add([("user", text), ("assistant", f"noted: {text}")], session=text))
                receipts.append(await memory.add([("user", f"{text}, or so I hope")], session=text))
        exit_code = await server.stop(SHUTDOWN_SECONDS + MARGIN_SECONDS)
        assert "did not end in time" in server.log

    assert exit_code == 0
    assert database_problems(folder) == []
    acknowledged = {one for receipt in receipts for one in receipt.message_ids}
    assert Counter(one for one, _ in mirrored_messages(folder)) == Counter(acknowledged)

    async with running(folder) as server, client(server.url) as memory:
        assert (await memory.status()).layers["l1"].pending <= 1
        assert (await memory.flush()).idle
        assert await memory.count_messages() == len(acknowledged) == 1 + 3 * len(OTHERS)
        memories = await memory.memories(limit=100)
        expected = ["holdfast, the slow one", *OTHERS, *(f"{text}, or so I hope" for text in OTHERS)]
        assert sorted(item.content for item in memories.items) == sorted(expected)
    assert database_problems(folder) == []


async def test_a_server_with_nothing_left_to_do_ends_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    longer = 10 * MARGIN_SECONDS
    async with running(folder, "--shutdown-seconds", str(longer)) as server:
        async with client(server.url) as memory:
            await memory.add([("user", "I live in Lisbon")], session="s")
            assert (await memory.flush()).idle
        exit_code = await server.stop(MARGIN_SECONDS)

    assert exit_code == 0
    assert database_problems(folder) == []


async def test_a_request_under_way_is_answered_before_the_server_ends(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    options = ("--hold", "extract", "--shutdown-seconds", str(SHUTDOWN_SECONDS))
    async with running(folder, *options) as server, client(server.url) as memory:
        await memory.add([("user", "holdfast, the slow one")], session="slow")
        await server.said("held extract")
        waiting = asyncio.create_task(memory.flush(wait_seconds=1.0))
        await memory.health()  # by then the other request has arrived as well
        exit_code = await server.stop(2 * SHUTDOWN_SECONDS + MARGIN_SECONDS)
        state = await waiting

    assert exit_code == 0
    assert not state.idle
    assert state.layers["l1"].pending == 1
