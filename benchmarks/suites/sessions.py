"""From what was said to what is remembered: nothing lost, nothing twice, and how soon.

Distilled without a model, by rules. So each turn states one thing that the rules take in, and carries a code that no other
turn has.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from uuid import uuid4

from benchmarks.bench import Bench
from benchmarks.driver import Body, Call, Client
from benchmarks.figures import lost_and_doubled, percentile
from benchmarks.machine import cpu_seconds

__all__ = ["measure"]

_SESSIONS = 50
_TURNS = 20
_SINGLE_SESSIONS = 30
_POLL_SECONDS = 0.01
_VISIBLE_SECONDS = 30.0
_STALLED_SECONDS = 45.0
_PAGE = 100

# Short waits, as in the reference's figures: the last turns of a session wait for the idle time.
_SETTINGS: Mapping[str, str] = {
    "MEMSTRATA_PIPELINE_L1_IDLE_SECONDS": "5",
    "MEMSTRATA_PIPELINE_L2_DELAY_SECONDS": "2",
    "MEMSTRATA_PIPELINE_L2_MIN_INTERVAL_SECONDS": "5",
    "MEMSTRATA_PIPELINE_L2_MAX_INTERVAL_SECONDS": "60",
}


async def measure(bench: Bench) -> None:
    """Measure single turns in sessions of their own, then 50 sessions of 20 turns at once."""
    async with bench.serve(bench.new_folder(), _SETTINGS) as server, Client(server) as client:
        await _single_turns(bench, client)
        before = cpu_seconds(server.pid)
        await _many_turns(bench, client)
        bench.record.figure("sessions.server_cpu_seconds", cpu_seconds(server.pid) - before)


async def _single_turns(bench: Bench, client: Client) -> None:
    """Time from the add to the first search that finds the memory."""
    ids, waits, missing = _ids("team-visible"), [], 0
    for number in range(_SINGLE_SESSIONS):
        code = _code()
        started = time.perf_counter()
        await client.ask(_turn(ids, f"visible-{code}", number, 0, code))
        while not _holds(await client.ask(Call("/v3/atomic/search", {**ids, "query": code})), code):
            if time.perf_counter() - started > _VISIBLE_SECONDS:
                missing += 1
                break
            await asyncio.sleep(_POLL_SECONDS)
        else:
            waits.append(1000 * (time.perf_counter() - started))
    bench.record.figure("visible.missing", missing)
    if waits:
        bench.record.figure("visible.p50_ms", percentile(waits, 50))
        bench.record.figure("visible.p95_ms", percentile(waits, 95), max=max(waits))


async def _many_turns(bench: Bench, client: Client) -> None:
    ids = _ids("team-sessions")
    codes = {(session, turn): _code() for session in range(_SESSIONS) for turn in range(_TURNS)}
    latencies: list[float] = []
    started = time.perf_counter()

    async def session(number: int) -> None:
        for turn in range(_TURNS):
            before = time.perf_counter()
            await client.ask(_turn(ids, f"session-{number}", number, turn, codes[number, turn]))
            latencies.append(1000 * (time.perf_counter() - before))

    await asyncio.gather(*(session(number) for number in range(_SESSIONS)))
    added = time.perf_counter() - started
    remembered = await _until_remembered(client, ids, len(codes), started)
    lost, doubled = lost_and_doubled(codes.values(), await _memories(client, ids))
    bench.record.figure("sessions.added_seconds", added)
    bench.record.figure("sessions.remembered_seconds", remembered)
    bench.record.figure("sessions.lost", lost)
    bench.record.figure("sessions.doubled", doubled)
    bench.record.figure("sessions.add_p50_ms", percentile(latencies, 50))
    bench.record.figure("sessions.add_p95_ms", percentile(latencies, 95))


async def _until_remembered(client: Client, ids: Body, expected: int, started: float) -> float:
    """Return when the last memory came, in seconds since the start; gives up when no further one comes for a while."""
    most, last = -1, time.perf_counter()
    while most < expected and time.perf_counter() - last < _STALLED_SECONDS:
        total = (await client.ask(Call("/v3/atomic/count", ids)))["total"]
        if total > most:
            most, last = total, time.perf_counter()
        await asyncio.sleep(10 * _POLL_SECONDS)
    return last - started


async def _memories(client: Client, ids: Body) -> list[str]:
    texts: list[str] = []
    while True:
        page = await client.ask(Call("/v3/atomic/query", {**ids, "limit": _PAGE, "offset": len(texts)}))
        texts += [item["content"] for item in page["items"]]
        if not page["items"] or len(texts) >= page["total"]:
            return texts


def _turn(ids: Body, session_id: str, session: int, turn: int, code: str) -> Call:
    if session % 2:
        said, answer = f"Remember that locker {session}-{turn} opens with code {code} .", "Noted."
    else:
        said, answer = f"请记住，{session}-{turn} 号柜的密码是 {code} 。", "记下了。"
    messages = [{"role": "user", "content": said}, {"role": "assistant", "content": answer}]
    return Call("/v3/conversation/add", {**ids, "session_id": session_id, "messages": messages})


def _holds(answer: Body, code: str) -> bool:
    return any(code in item["content"] for item in answer["items"])


def _ids(team: str) -> Body:
    return {"team_id": team, "agent_id": "agent-b", "user_id": "user-b"}


def _code() -> str:
    return f"k{uuid4().hex[:12]}"
