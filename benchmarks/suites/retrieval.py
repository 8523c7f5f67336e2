"""Hybrid search: how long it takes, how much it finds and what it costs, from a thousand memories to all of the run's.

The question's vector is made up at once, so that no embedder is measured; all else is what `memstrata serve` does. Each size
is one scope; the largest is also a thousand scopes in one file. With `--rows 1000000` that is a million.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from benchmarks.bench import CONNECTIONS, L1_OFF, SCOPE, Bench
from benchmarks.dataset import distractor, gold, texts
from benchmarks.driver import Call, closed_loop
from benchmarks.figures import percentile
from benchmarks.meanings import MadeUpEmbedder
from benchmarks.server import running
from benchmarks.vector_leg import INSERTED, Inserted, vector_leg
from benchmarks.vectorised import Filler, fill, write_texts
from memstrata.memory import Memory
from memstrata.records import Scope
from memstrata.settings import MirrorSettings, RecallSettings, Settings
from memstrata.store.sqlite.store import SqliteStore

__all__ = ["Store", "measure", "short", "stores"]

Strategy = Literal["hybrid", "keyword"]

_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_SCOPES = 1_000
_LEAST_OF_A_SCOPE = 100
_LIMIT = 5
_WARM_UP_SECONDS = 0.7
_SECONDS = 0.7  # of a round at most: there are many
_SEARCHES = 300
_SMALL_ROWS = 300
_BUILD_SECONDS = 600.0
_LOOK_AGAIN_SECONDS = 0.02
_STRATEGIES: Final[tuple[Strategy, ...]] = ("hybrid", "keyword")
_COMMAND = (sys.executable, "-m", "benchmarks.vector_server")
_ENVIRON = {
    **L1_OFF,
    "MEMSTRATA_MIRROR_ENABLED": "false",
    "PYTHONPATH": str(Path(__file__).parents[2]),
}
_SMALL = Scope("default", "team-small", SCOPE.agent, SCOPE.user)


@dataclass(frozen=True, slots=True)
class Store:
    """So many memories in each of so many scopes. `name` is that of its figures: `100k`, `1000x1k`."""

    name: str
    scopes: Sequence[Scope]
    rows: int

    @property
    def memories(self) -> int:
        return self.rows * len(self.scopes)


def short(count: int) -> str:
    """Return a number as names of figures have it: `1k`, `100k`, `1M`, `300`."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if count >= size and count % size == 0:
            return f"{count // size}{letter}"
    return str(count)


def stores(most: int) -> Iterator[Store]:
    """Yield the stores of a run whose largest holds `most` memories."""
    for rows in _SIZES:
        if rows <= most:
            yield Store(short(rows), [SCOPE], rows)
    scopes = min(_SCOPES, most // _LEAST_OF_A_SCOPE)
    each = most // scopes
    many = [Scope("default", f"team-{number}", SCOPE.agent, SCOPE.user) for number in range(scopes)]
    yield Store(f"{scopes}x{short(each)}", many, each)


async def measure(bench: Bench) -> None:
    """Fill and measure one store after the other; then the small tenant beside the largest single scope."""
    resident: dict[int, float] = {}
    inserted: dict[int, Inserted] = {}
    largest: Path | None = None
    for store in stores(bench.rows):
        folder = bench.work / f"retrieval-{store.name}"
        rate = await fill(folder, store.scopes, store.rows)
        bench.record.figure(f"retrieval.fill.{store.name}.rows_per_second", rate)
        one_scope = len(store.scopes) == 1
        if one_scope:
            await _leg(bench, folder, store)
        for strategy in _STRATEGIES:
            await _in_process(bench, folder, store, strategy)
            rss = await _over_http(bench, folder, store, strategy)
            if one_scope and strategy == "hybrid":
                resident[store.rows] = rss
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        bench.record.figure(f"retrieval.disk.{store.name}.bytes_per_memory", size / store.memories)
        if one_scope:
            largest = folder
            inserted[store.rows] = await _inserted(bench, folder, store)
    _compare_sizes(bench, resident, inserted)
    if largest is not None:
        await _small_tenant(bench, largest)


async def _leg(bench: Bench, folder: Path, store: Store) -> None:
    """Measure the leg alone: building, reading what was built, searching."""
    name = f"retrieval.leg.{store.name}"
    async with vector_leg(folder, SCOPE) as leg:
        bench.record.figure(f"{name}.cold_seconds", await leg.complete())
    async with vector_leg(folder, SCOPE) as leg:
        bench.record.figure(f"{name}.read_seconds", await leg.complete())
        nearest = await leg.nearest()
    bench.record.figure(f"{name}.recall_at_10", nearest.recall)
    bench.record.figure(f"{name}.p50_ms", percentile(nearest.leg_ms, 50))
    bench.record.figure(f"{name}.p95_ms", percentile(nearest.leg_ms, 95))
    bench.record.figure(f"{name}.brute_force_p50_ms", percentile(nearest.brute_force_ms, 50))


async def _in_process(bench: Bench, folder: Path, store: Store, strategy: Strategy) -> None:
    """Time searches of the library, one after the other."""
    chance = random.Random(1)
    questions = [one.question for one in gold()]
    async with Memory.open(settings=_settings(folder, strategy), embedder=MadeUpEmbedder()) as memory:
        await _whole(memory, store.scopes)
        waits = []
        for _ in range(_SEARCHES):
            scope, question = chance.choice(store.scopes), chance.choice(questions)
            started = time.perf_counter()
            found = await memory.search(scope, question, limit=_LIMIT)
            waits.append(1000 * (time.perf_counter() - started))
            if found.degraded:
                raise RuntimeError(f"a search was less than whole: {found.degraded}")
    name = f"retrieval.{strategy}.{store.name}.in_process"
    bench.record.figure(f"{name}.p50_ms", percentile(waits, 50))
    bench.record.figure(f"{name}.p95_ms", percentile(waits, 95))


async def _over_http(bench: Bench, folder: Path, store: Store, strategy: Strategy) -> float:
    """Drive a server in closed loops; return its resident memory when all was searched, in MiB."""
    environ = {**_ENVIRON, "MEMSTRATA_RECALL_STRATEGY": strategy}
    call, resident = _searching(store.scopes), 0.0
    async with running(_COMMAND, folder, environ) as server:
        await closed_loop(server, 1, _WARM_UP_SECONDS, call)
        await server.settled()
        for number in range(bench.rounds):
            for connections in CONNECTIONS:
                measured = await closed_loop(server, connections, min(bench.seconds, _SECONDS), call)
                bench.record.round(f"retrieval.{strategy}", store.name, number + 1, measured)
                resident = measured.rss_mb
    return resident


async def _inserted(bench: Bench, folder: Path, store: Store) -> Inserted:
    """Write further memories into a full scope whose index is loaded."""
    chance = random.Random(2)
    async with vector_leg(folder, SCOPE) as leg:
        await leg.complete()
        done = await leg.insert([distractor(store.rows + number, chance) for number in range(INSERTED)])
    bench.record.figure(f"retrieval.insert.{store.name}.single_rows_per_second", done.single)
    bench.record.figure(f"retrieval.insert.{store.name}.bulk_rows_per_second", done.bulk)
    return done


def _compare_sizes(bench: Bench, resident: Mapping[int, float], inserted: Mapping[int, Inserted]) -> None:
    """Say what a memory costs, and what the rate of inserting loses, between the smallest and the largest scope."""
    least, most = min(resident), max(resident)
    if least == most:
        return
    grown = 100_000 * (resident[most] - resident[least]) / (most - least)
    bench.record.figure(f"retrieval.{short(most)}.mb_per_100k", grown)
    for kind in ("single", "bulk"):
        before, after = (getattr(inserted[rows], kind) for rows in (least, most))
        bench.record.figure(f"retrieval.insert.{short(most)}.{kind}_kept", after / before)


async def _small_tenant(bench: Bench, beside: Path) -> None:
    """Ask a scope of few memories the same questions in the file with the largest scope and in one of its own."""
    alone = bench.new_folder()
    answers = []
    for folder in (alone, beside):
        store = await SqliteStore.open(folder)
        try:
            await write_texts(await Filler.of(store, MadeUpEmbedder()), _SMALL, texts(_SMALL_ROWS, seed=7))
        finally:
            await store.close()
        answers.append(await _answers(folder))
    same = sum(one == other for one, other in zip(*answers, strict=True))
    bench.record.figure("retrieval.small_tenant.same_share", same / len(answers[0]), memories=_SMALL_ROWS)


async def _answers(folder: Path) -> list[list[tuple[str, float]]]:
    async with Memory.open(settings=_settings(folder, "hybrid"), embedder=MadeUpEmbedder()) as memory:
        await _whole(memory, [_SMALL])
        found = [await memory.search(_SMALL, one.question, limit=_LIMIT) for one in gold()]
    # Between the two runs the memories grew older by seconds, and scores less by billionths.
    return [[(hit.item.content, round(hit.score, 5)) for hit in one.hits] for one in found]


async def _whole(memory: Memory, scopes: Sequence[Scope]) -> None:
    """Search every scope once, and the first until all of it is searched: what follows meets loaded indexes."""
    await memory.vectors_settled()
    for scope in scopes:
        await memory.search(scope, gold()[0].question, limit=_LIMIT)
    async with asyncio.timeout(_BUILD_SECONDS):
        while (await memory.search(scopes[0], gold()[0].question, limit=_LIMIT)).degraded:
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)


def _settings(folder: Path, strategy: Strategy) -> Settings:
    return Settings(data_dir=folder, mirror=MirrorSettings(enabled=False), recall=RecallSettings(strategy=strategy))


def _searching(scopes: Sequence[Scope]) -> Callable[[int, int, random.Random], Call]:
    questions = [one.question for one in gold()]

    def call(client: int, sent: int, chance: random.Random) -> Call:
        scope = chance.choice(scopes)
        ids = {"team_id": scope.team, "agent_id": scope.agent, "user_id": scope.user}
        return Call("/v3/atomic/search", {**ids, "query": chance.choice(questions), "limit": _LIMIT})

    return call
