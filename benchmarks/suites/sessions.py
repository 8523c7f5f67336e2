"""From what was said to what is remembered: nothing lost, nothing twice, and how soon.

Distilled without a model, by rules. So each turn states one thing that the rules take in, and carries a code that no other
turn has.
"""

from __future__ import annotations

import asyncio
import time

from benchmarks.bench import SHORT_WAITS, Bench
from benchmarks.driver import Body, Call, Client
from benchmarks.figures import lost_and_doubled, percentile
from benchmarks.machine import cpu_seconds
from benchmarks.remembered import add, code, ids, memories, until_remembered, visible

__all__ = ["measure"]

_SESSIONS = 50
_TURNS = 20
_SINGLE_SESSIONS = 30


async def measure(bench: Bench) -> None:
    """Measure single turns in sessions of their own, then 50 sessions of 20 turns at once."""
    async with bench.serve(bench.new_folder(), SHORT_WAITS) as server, Client(server) as client:
        await _single_turns(bench, client)
        before = cpu_seconds(server.pid)
        await _many_turns(bench, client)
        bench.record.figure("sessions.server_cpu_seconds", cpu_seconds(server.pid) - before)


async def _single_turns(bench: Bench, client: Client) -> None:
    """Time from the add to the first search that finds the memory."""
    scope = ids("team-visible")
    found = await visible(
        client, scope, _SINGLE_SESSIONS, lambda number, own: _turn(scope, f"visible-{own}", number, 0, own)
    )
    bench.record.figure("visible.missing", found.missing)
    if waits := found.milliseconds:
        bench.record.figure("visible.p50_ms", percentile(waits, 50))
        bench.record.figure("visible.p95_ms", percentile(waits, 95), max=max(waits))


async def _many_turns(bench: Bench, client: Client) -> None:
    scope = ids("team-sessions")
    codes = {(session, turn): code() for session in range(_SESSIONS) for turn in range(_TURNS)}
    latencies: list[float] = []
    started = time.perf_counter()

    async def session(number: int) -> None:
        for turn in range(_TURNS):
            before = time.perf_counter()
            await client.ask(_turn(scope, f"session-{number}", number, turn, codes[number, turn]))
            latencies.append(1000 * (time.perf_counter() - before))

    await asyncio.gather(*(session(number) for number in range(_SESSIONS)))
    added = time.perf_counter() - started
    remembered = await until_remembered(client, scope, len(codes), started)
    lost, doubled = lost_and_doubled(codes.values(), await memories(client, scope))
    bench.record.figure("sessions.added_seconds", added)
    bench.record.figure("sessions.remembered_seconds", remembered)
    bench.record.figure("sessions.lost", lost)
    bench.record.figure("sessions.doubled", doubled)
    bench.record.figure("sessions.add_p50_ms", percentile(latencies, 50))
    bench.record.figure("sessions.add_p95_ms", percentile(latencies, 95))


def _turn(scope: Body, session_id: str, session: int, turn: int, own: str) -> Call:
    if session % 2:
        return add(scope, session_id, f"Remember that locker {session}-{turn} opens with code {own} .", "Noted.")
    return add(scope, session_id, f"请记住，{session}-{turn} 号柜的密码是 {own} 。", "记下了。")
