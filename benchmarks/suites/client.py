"""What the client adds to httpx, and what importing it costs. All of it in ratios, because both sides run on one machine.

A call through the client and the same call through bare httpx go to one server in turns, a batch each, so that whatever
else the machine does meets both. Bare means: encode the body, send it, decode the answer.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

import httpx

from benchmarks.bench import L1_OFF, SCOPE, Bench
from memstrata.client import AsyncMemoryClient, MemoryClient

__all__ = ["measure"]

_BATCH = 40
_WARM_UP = 20
_STARTS = 7
_QUERY = "tea"
_PATH = "/v3/conversation/search"
_IDS = {"team_id": SCOPE.team, "agent_id": SCOPE.agent, "user_id": SCOPE.user}
_HEADERS = {"authorization": "Bearer local", "x-tdai-service-id": "default"}
_NOTHING = "pass"
_PACKAGE = "import memstrata"
_MODULE = "import memstrata.client"
_HTTPX = "import httpx"
_CLIENT = "from memstrata import MemoryClient"


async def measure(bench: Bench) -> None:
    """Measure calls of both twins against bare httpx, then imports against an interpreter that does nothing."""
    async with bench.serve(bench.new_folder(), L1_OFF) as server:
        _add_rows(server.url)
        await server.settled()
        _record_calls(bench, "blocking", *_blocking(server.url, bench.seconds * bench.rounds))
        _record_calls(bench, "async", *await _asynchronous(server.url, bench.seconds * bench.rounds))
    starts: dict[str, list[float]] = {code: [] for code in (_NOTHING, _PACKAGE, _MODULE, _HTTPX, _CLIENT)}
    for _ in range(_STARTS):
        for code, seconds in starts.items():
            seconds.append(_started(code))
    idle, package, module, bare, client = (median(starts[code]) for code in starts)
    bench.record.figure("client.import.package_ms", 1_000 * (package - idle), all=starts[_PACKAGE])
    bench.record.figure("client.import.client_ms", 1_000 * (module - idle), all=starts[_MODULE])
    bench.record.figure("client.import.client_over_httpx", (client - idle) / (bare - idle), all=starts[_CLIENT])


def _record_calls(bench: Bench, twin: str, client: list[float], bare: list[float]) -> None:
    ratios = [ours / theirs for ours, theirs in zip(client, bare, strict=True)]
    bench.record.figure(f"client.{twin}.over_httpx", median(ratios), all=ratios)
    bench.record.figure(f"client.{twin}.call_ms", 1_000 * median(client) / _BATCH)
    bench.record.figure(f"client.{twin}.httpx_ms", 1_000 * median(bare) / _BATCH)


def _add_rows(url: str) -> None:
    with MemoryClient(url, team=SCOPE.team, agent=SCOPE.agent, user=SCOPE.user, session="bench") as memory:
        memory.add([("user", f"I like tea number {number}") for number in range(50)])


def _blocking(url: str, seconds: float) -> tuple[list[float], list[float]]:
    """Return the seconds of each batch, of the client and of bare httpx."""
    with (
        MemoryClient(url, team=SCOPE.team, agent=SCOPE.agent, user=SCOPE.user) as memory,
        httpx.Client(base_url=url, headers=_HEADERS) as http,
    ):
        bare = lambda: http.post(_PATH, json={**_IDS, "query": _QUERY}).json()["data"]  # noqa: E731
        sides = (lambda: memory.search_messages(_QUERY), bare)
        for call in sides:
            _batch(call, _WARM_UP)
        taken: tuple[list[float], list[float]] = ([], [])
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or not taken[0]:
            for call, kept in zip(sides, taken, strict=True):
                kept.append(_batch(call, _BATCH))
    return taken


def _batch(call: Callable[[], object], times: int) -> float:
    started = time.perf_counter()
    for _ in range(times):
        call()
    return time.perf_counter() - started


async def _asynchronous(url: str, seconds: float) -> tuple[list[float], list[float]]:
    """As `_blocking`, with coroutines."""
    async with (
        AsyncMemoryClient(url, team=SCOPE.team, agent=SCOPE.agent, user=SCOPE.user) as memory,
        httpx.AsyncClient(base_url=url, headers=_HEADERS) as http,
    ):

        async def client(times: int) -> float:
            started = time.perf_counter()
            for _ in range(times):
                await memory.search_messages(_QUERY)
            return time.perf_counter() - started

        async def bare(times: int) -> float:
            started = time.perf_counter()
            for _ in range(times):
                (await http.post(_PATH, json={**_IDS, "query": _QUERY})).json()["data"]
            return time.perf_counter() - started

        await asyncio.gather(client(_WARM_UP), bare(_WARM_UP))
        taken: tuple[list[float], list[float]] = ([], [])
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or not taken[0]:
            for side, kept in zip((client, bare), taken, strict=True):
                kept.append(await side(_BATCH))
    return taken


def _started(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started
