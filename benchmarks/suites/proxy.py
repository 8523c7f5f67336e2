"""What the proxy costs: the same streams from the same provider, directly and through it, in turns.

Provider, proxy and driver are a process each. Requests are those of a session that is bound: forty messages, a question
whose entry lies in the ledger. First bytes are measured while 16 streams run at a model's pace; long streams come as fast as
they can. Times of both sides hold the driver's and the provider's work; what is added is the difference of their percentiles.
CPU is the proxy's alone.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import median

import aiohttp

from benchmarks.bench import L1_OFF, Bench
from benchmarks.figures import kept, percentile
from benchmarks.machine import cpu_seconds, rss_mb
from benchmarks.provider import PACE_SECONDS, STALLS, model_of
from benchmarks.server import Server

__all__ = ["measure"]

_STREAMS = 16
_SHORT, _LONG = 20, 2_000
_OPEN = 200
_DEADLINE_SECONDS = 120.0
_PATH = "/v1/messages?beta=true"
_THROUGH = f"/claude-code/default{_PATH}"


@dataclass
class _Side:
    """What one way of asking took: seconds to the first byte, and streams a second of each round."""

    url: str
    first_bytes: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)


async def measure(bench: Bench) -> None:
    """Measure first bytes, long streams, and what many open streams hold."""
    async with _provider() as address:
        environ = {**L1_OFF, "MEMSTRATA_PROXY_UPSTREAMS": f"anthropic={address}"}
        async with bench.serve(bench.new_folder(), environ) as server, _session() as http:
            direct, through = _Side(address + _PATH), _Side(server.url + _THROUGH)
            warm_up = (_streamed(http, through.url, model_of(_SHORT), number) for number in range(_STREAMS))
            await asyncio.gather(*warm_up)
            await _first_bytes(bench, http, direct, through)
            await _long_streams(bench, http, server, direct, through)
            await _open_streams(bench, http, server, through)


async def _first_bytes(bench: Bench, http: aiohttp.ClientSession, direct: _Side, through: _Side) -> None:
    for number in range(bench.rounds):
        for side in (direct, through):
            end = time.perf_counter() + bench.seconds
            loops = (_until(http, side, end, one) for one in range(_STREAMS))
            taken = [seconds for loop in await asyncio.gather(*loops) for seconds in loop]
            side.first_bytes += taken
            way = "direct" if side is direct else "through"
            bench.record.figure(f"proxy.first_byte.{way}.round_{number}_ms", 1_000 * median(taken), requests=len(taken))
    for percent in (50, 99):
        one, other = (1_000 * percentile(side.first_bytes, percent) for side in (direct, through))
        bench.record.figure(f"proxy.first_byte.added_p{percent}_ms", other - one, direct=one, through=other)


async def _until(http: aiohttp.ClientSession, side: _Side, end: float, number: int) -> list[float]:
    taken: list[float] = []
    await asyncio.sleep(number * _SHORT * PACE_SECONDS / _STREAMS)  # so that they do not begin together
    while time.perf_counter() < end or not taken:
        taken.append(await _streamed(http, side.url, model_of(_SHORT, paced=True), number))
    return taken


async def _long_streams(
    bench: Bench, http: aiohttp.ClientSession, server: Server, direct: _Side, through: _Side
) -> None:
    cpu, streams = 0.0, 0
    for _ in range(bench.rounds):
        for side in (direct, through):
            before, started = cpu_seconds(server.pid), time.perf_counter()
            await asyncio.gather(*(_streamed(http, side.url, model_of(_LONG), number) for number in range(_STREAMS)))
            side.rates.append(_STREAMS / (time.perf_counter() - started))
            if side is through:
                cpu += cpu_seconds(server.pid) - before
                streams += _STREAMS
    bench.record.figure(
        "proxy.long.kept", kept(direct.rates, through.rates), direct=direct.rates, through=through.rates
    )
    bench.record.figure("proxy.long.cpu_ms_per_100_chunks", 1_000 * cpu / (streams * _LONG / 100), streams=streams)


async def _open_streams(bench: Bench, http: aiohttp.ClientSession, server: Server, through: _Side) -> None:
    before = rss_mb(server.pid)
    async with asyncio.TaskGroup() as group:
        opened = [group.create_task(_opened(http, through.url, number)) for number in range(_OPEN)]
    bench.record.figure("proxy.open_streams.rss_mb", rss_mb(server.pid), before=before, streams=_OPEN)
    for task in opened:
        task.result().close()


async def _opened(http: aiohttp.ClientSession, url: str, number: int) -> aiohttp.ClientResponse:
    answer = await http.post(url, data=_body(STALLS, number), headers=_headers(number))
    await answer.content.readany()
    return answer


async def _streamed(http: aiohttp.ClientSession, url: str, model: str, number: int) -> float:
    """Read a whole answer and return the seconds to its first byte. Raises RuntimeError if it is not whole."""
    started = time.perf_counter()
    async with http.post(url, data=_body(model, number), headers=_headers(number)) as answer:
        await answer.content.readany()
        first = time.perf_counter() - started
        last = b""
        async for part in answer.content.iter_any():
            last = part
        if answer.status != 200 or (last and b"message_stop" not in last[-200:]):
            raise RuntimeError(f"a stream did not come whole: {answer.status}")
    return first


def _headers(number: int) -> dict[str, str]:
    return {"x-claude-code-session-id": f"session-{number}", "x-api-key": "key", "content-type": "application/json"}


_bodies: dict[tuple[str, int], bytes] = {}


def _body(model: str, number: int) -> bytes:
    """Return a request of a session in its middle: 40 messages of 2,000 characters, marked as clients mark them."""
    if (model, number) not in _bodies:
        texts = [{"type": "text", "text": f"{at} " + "word " * 400} for at in range(41)]
        marked = {**texts.pop(), "cache_control": {"type": "ephemeral"}}
        said = [
            {"role": "user" if at % 2 == 0 else "assistant", "content": [text]}
            for at, text in enumerate([*texts, marked])
        ]
        tools = [
            {"name": f"tool_{at}", "description": "d" * 400, "input_schema": {"type": "object"}} for at in range(20)
        ]
        system = [{"type": "text", "text": "You help. " * 300, "cache_control": {"type": "ephemeral"}}]
        body = {"model": model, "max_tokens": 4_096, "stream": True, "system": system, "tools": tools, "messages": said}
        _bodies[model, number] = json.dumps(body).encode()
    return _bodies[model, number]


def _session() -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=3)
    return aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=_DEADLINE_SECONDS))


@asynccontextmanager
async def _provider() -> AsyncIterator[str]:
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "benchmarks.provider", stdin=PIPE, stdout=PIPE)
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the provider has no pipes")
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.stdin.close()
        await process.wait()
