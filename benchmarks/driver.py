"""Closed loops: so many clients, each of which sends its next request when the last one is answered.

One client library for every program that is measured, so that its cost is the same in all figures and their ratios hold.
It runs in this process, beside the server, and takes part of the machine; how much is written down with each round.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import aiohttp

from benchmarks.figures import percentile
from benchmarks.machine import busy_seconds, cpu_seconds, rss_mb
from benchmarks.server import Server

__all__ = ["Call", "Client", "Round", "closed_loop"]

Body = dict[str, Any]
_DEADLINE_SECONDS = 120.0
_HEADERS = {"Authorization": "Bearer benchmark", "x-tdai-service-id": "default"}


@dataclass(frozen=True, slots=True)
class Call:
    """One request: a path of the wire contract, its body, and headers besides the usual ones."""

    path: str
    body: Body
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Round:
    """What one closed loop measured."""

    connections: int
    requests: int
    errors: int  # any answer but a 200 that says success
    seconds: float
    requests_per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    server_cpu_ms: float  # per request
    client_cpu_percent: float  # of one core
    other_cpu_percent: float  # of one core: everything that is neither server nor client
    rss_mb: float  # of the server, at the end

    def as_dict(self) -> dict[str, float]:
        return {name: round(value, 4) for name, value in asdict(self).items()}


class Client:
    """A connection pool to one server. Open it with `async with`."""

    def __init__(self, server: Server) -> None:
        self._url = server.url
        # Connections are kept for less long than a server might keep them, so that none is closed under a request.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=3)
        timeout = aiohttp.ClientTimeout(total=_DEADLINE_SECONDS)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, headers=_HEADERS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def send(self, call: Call) -> Body | None:
        """Return the `data` of the answer, None if it is not a success."""
        try:
            async with self._session.post(self._url + call.path, json=call.body, headers=call.headers) as answer:
                read: Body = await answer.json(content_type=None)
                return read.get("data") or {} if answer.status == 200 and read.get("code") == 0 else None
        except (aiohttp.ClientError, TimeoutError, ValueError):
            return None

    async def ask(self, call: Call) -> Body:
        """The same where a failure ends the run. Raises RuntimeError."""
        data = await self.send(call)
        if data is None:
            raise RuntimeError(f"{call.path} failed for {call.body}")
        return data


@dataclass(slots=True)
class _Tally:
    latencies: list[float] = field(default_factory=list)
    errors: int = 0


async def closed_loop(
    server: Server, connections: int, seconds: float, call: Callable[[int, int, random.Random], Call]
) -> Round:
    """Drive the server with `connections` clients for `seconds`.

    `call` gives the next request from the client's number, how many it has sent, and its source of chance, which is the
    same in every run.
    """
    tally = _Tally()
    async with Client(server) as client:
        server_cpu, machine_cpu, own_cpu = cpu_seconds(server.pid), busy_seconds(), time.process_time()
        started = time.perf_counter()

        async def loop(number: int) -> None:
            chance = random.Random(1_000 * connections + number)
            sent = 0
            while time.perf_counter() - started < seconds:
                one = call(number, sent, chance)
                before = time.perf_counter()
                if await client.send(one) is None:
                    tally.errors += 1
                tally.latencies.append(time.perf_counter() - before)
                sent += 1

        await asyncio.gather(*(loop(number) for number in range(connections)))
        took = time.perf_counter() - started
        own_cpu = time.process_time() - own_cpu
        server_cpu = cpu_seconds(server.pid) - server_cpu
        machine_cpu = busy_seconds() - machine_cpu
    milliseconds = [1000 * one for one in tally.latencies]
    return Round(
        connections=connections,
        requests=len(milliseconds),
        errors=tally.errors,
        seconds=took,
        requests_per_second=len(milliseconds) / took,
        p50_ms=percentile(milliseconds, 50),
        p95_ms=percentile(milliseconds, 95),
        p99_ms=percentile(milliseconds, 99),
        max_ms=max(milliseconds),
        server_cpu_ms=1000 * server_cpu / len(milliseconds),
        client_cpu_percent=100 * own_cpu / took,
        other_cpu_percent=max(0.0, 100 * (machine_cpu - server_cpu - own_cpu) / took),
        rss_mb=rss_mb(server.pid),
    )
