"""Whatever moment a server is killed at: what it acknowledged is there once, and everything goes on (invariants 1 to 3)."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import pytest

from memstrata.client import AsyncMemoryClient
from memstrata.store.sqlite.store import DATABASE_NAME

from .evidence import database_problems, mirrored_messages, run_count
from .process import DEADLINE_SECONDS, ServerProcess, running
from .writers import TEAMS, Batch, Writers

Moment = Literal["after an acknowledgement", "at any time", "while starting"]
MOMENTS: tuple[Moment, ...] = ("while starting", "after an acknowledgement", "at any time")
WRITERS = 8
FLUSH_SECONDS = 120.0
MIGRATION_SECONDS = 0.003  # about a third of what making an empty database takes
LONGEST_LIFE_SECONDS = 0.3
LONGEST_START_SECONDS = 1.0


Spawn = Callable[[Path], Awaitable[ServerProcess]]


async def without_a_model(folder: Path) -> ServerProcess:
    """The command as it is installed, which distills by rules, with short waits so that a kill meets every layer."""
    waits = {"MEMSTRATA_PIPELINE_L2_DELAY_SECONDS": "0.3", "MEMSTRATA_PIPELINE_L2_MIN_INTERVAL_SECONDS": "0.3"}
    return await ServerProcess.spawn_command(folder, "--json", **waits)


async def with_echoes(folder: Path) -> ServerProcess:
    """A server that keeps every word of the user."""
    return await ServerProcess.spawn(folder, "--l2-seconds", "0.3")


async def test_three_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    await _killed_and_checked(tmp_path / "data", with_echoes, kills=3, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("spawn", [with_echoes, without_a_model])
async def test_sixty_kills_lose_nothing_and_double_nothing(tmp_path: Path, spawn: Spawn) -> None:
    await _killed_and_checked(tmp_path / "data", spawn, kills=60, seed=time.time_ns())


@pytest.mark.slow
async def test_a_kill_while_the_database_is_made_leaves_one_that_can_be_opened(tmp_path: Path) -> None:
    for life in range(3):
        folder = tmp_path / f"data-{life}"
        server = await ServerProcess.spawn(folder)
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                while not (folder / DATABASE_NAME).exists():
                    await asyncio.sleep(0)
                await asyncio.sleep(life * MIGRATION_SECONDS)
        finally:
            await server.kill()

        async with running(folder) as again, AsyncMemoryClient(again.url, team="t", agent="a", user="u") as client:
            await client.add([("user", "I live in Lisbon")], session="s")
            assert (await client.flush()).idle
            assert await client.count_memories() == 1
            assert await again.stop() == 0
        assert database_problems(folder) == []


async def _killed_and_checked(folder: Path, spawn: Spawn, *, kills: int, seed: int) -> None:
    began = time.monotonic()
    writers = Writers(seed)
    choices = random.Random(seed)
    moments: Counter[str] = Counter()
    starts: list[float] = []
    async with asyncio.TaskGroup() as group:
        for number in range(WRITERS):
            group.create_task(writers.write(number), name=f"writer {number}")
        for life in range(kills):
            moment = MOMENTS[life % len(MOMENTS)]
            moments[moment] += 1
            starts += await _one_life(folder, spawn, writers, moment, choices)
        writers.stop()

    last = await spawn(folder)
    try:
        await last.ready()
        present = await _present(last.url)
        memories = await _distilled(last.url)
    finally:
        exit_code = await last.stop(FLUSH_SECONDS)

    counts = _checked_messages(writers, present)
    _check_facts(writers, present, memories)
    assert exit_code == 0, last.log[-4_000:]
    assert database_problems(folder) == []
    assert mirrored_messages(folder) == Counter(present)
    print(
        f"\nseed {seed}: {kills} kills ({dict(moments)}); {counts}; {dict(writers.counts)}; {len(memories)} memories;"
        f" runs {dict(run_count(folder))}; start {statistics.median(starts):.2f} s, slowest {max(starts):.2f} s;"
        f" {time.monotonic() - began:.0f} s in all"
    )


async def _one_life(
    folder: Path, spawn: Spawn, writers: Writers, moment: Moment, choices: random.Random
) -> list[float]:
    """Run a server and kill it at a moment of that kind; return how long its start took, if it got so far."""
    began = time.monotonic()
    server = await spawn(folder)
    try:
        if moment == "while starting":
            await asyncio.sleep(choices.uniform(0.0, LONGEST_START_SECONDS))
            return []
        await server.ready()
        took = time.monotonic() - began
        writers.server_is_at(server.url)
        if moment == "after an acknowledgement":
            await writers.acknowledgements(choices.randrange(1, 60))
        else:
            await asyncio.sleep(choices.uniform(0.0, LONGEST_LIFE_SECONDS))
        return [took]
    finally:
        writers.server_is_gone()
        await server.kill()


async def _present(url: str) -> list[tuple[str, str]]:
    """Return (id, text) of every message of both teams, as the API lists them."""
    found: list[tuple[str, str]] = []
    for team in TEAMS:
        async with AsyncMemoryClient(url, team=team, agent="agent", user="user") as client:
            total = await client.count_messages()
            for offset in range(0, total, 100):
                page = await client.messages(limit=100, offset=offset)
                found += [(message.id, message.content) for message in page.items]
    return found


async def _distilled(url: str) -> list[str]:
    """Wait until nothing is left to distill and return the texts of all live memories."""
    found: list[str] = []
    for team in TEAMS:
        async with AsyncMemoryClient(url, team=team, agent="agent", user="user") as client:
            state = await client.flush(wait_seconds=FLUSH_SECONDS)
            assert state.idle, state
            assert {kind: layer.pending for kind, layer in state.layers.items() if kind != "l3"} == {"l1": 0, "l2": 0}
            for offset in range(0, await client.count_memories(), 100):
                page = await client.memories(limit=100, offset=offset)
                found += [memory.content for memory in page.items]
    return found


def _checked_messages(writers: Writers, present: list[tuple[str, str]]) -> dict[str, int]:
    """Every acknowledged message is there once under its id; a batch that was given up is whole or absent."""
    stored = Counter(present)
    assert [message for message, times in stored.items() if times != 1] == []
    promised = {pair for batch, ids in writers.acknowledged.values() for pair in zip(ids, batch.texts, strict=True)}
    assert promised - stored.keys() == set()
    texts = {text for _, text in present}
    halves = [batch for batch in writers.abandoned if len(texts.intersection(batch.texts)) == 1]
    assert halves == []
    whole = [batch for batch in writers.abandoned if texts.issuperset(batch.texts)]
    assert len(present) == len(promised) + 2 * len(whole)
    return {
        "acknowledged batches": len(writers.acknowledged),
        "given up": len(writers.abandoned),
        "of these stored whole": len(whole),
        "messages": len(present),
    }


def _check_facts(writers: Writers, present: list[tuple[str, str]], memories: list[str]) -> None:
    """Every stored fact is one live memory."""
    texts = {text for _, text in present}
    batches: list[Batch] = [batch for batch, _ in writers.acknowledged.values()]
    batches += [batch for batch in writers.abandoned if texts.issuperset(batch.texts)]
    words = Counter(word for content in memories for word in set(content.lower().rstrip(".").split()))
    assert {batch.fact: words[batch.fact] for batch in batches if words[batch.fact] != 1} == {}
    assert len(memories) == len(batches)
