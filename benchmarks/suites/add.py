"""How many durable adds a server takes, and whether that depends on what is stored already.

Rounds on an empty store and on a full one alternate, and so does which of the two comes first: whatever else the machine
does meets both alike. Each round on "empty" begins with a new folder, or the last rounds would not be.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from uuid import uuid4

from benchmarks.bench import CONNECTIONS, L1_OFF, SCOPE, Bench
from benchmarks.driver import Call, Round, closed_loop
from benchmarks.figures import kept
from benchmarks.server import Server

__all__ = ["measure"]

_TURNS_PER_SESSION = 20
_WARM_UP_SECONDS = 0.5


async def measure(bench: Bench) -> None:
    """Add turns of two messages at 1, 8 and 32 connections, to an empty store and into the scope of a full one."""
    full_folder = bench.work / "add-full"
    shutil.copytree(await bench.loaded([SCOPE], bench.rows), full_folder)
    empty: dict[int, list[Round]] = {connections: [] for connections in CONNECTIONS}
    full: dict[int, list[Round]] = {connections: [] for connections in CONNECTIONS}

    async with bench.serve(full_folder, L1_OFF) as full_server:

        async def on_full(connections: int) -> None:
            full[connections].append(await _round(full_server, connections, bench.seconds))
            bench.record.round("add", bench.large, len(full[connections]), full[connections][-1])

        async def on_empty(connections: int) -> None:
            async with bench.serve(bench.new_folder(), L1_OFF) as server:
                empty[connections].append(await _round(server, connections, bench.seconds))
            bench.record.round("add", "empty", len(empty[connections]), empty[connections][-1])

        for number in range(bench.rounds):
            for connections in CONNECTIONS:
                for run in (on_empty, on_full) if number % 2 == 0 else (on_full, on_empty):
                    await run(connections)

    for connections in CONNECTIONS:
        share = kept(_rates(empty[connections]), _rates(full[connections]))
        bench.record.figure(f"add.{bench.large}.{connections}.kept", share)


async def _round(server: Server, connections: int, seconds: float) -> Round:
    await server.settled()
    await closed_loop(server, connections, _WARM_UP_SECONDS, _adding(uuid4().hex[:8]))
    return await closed_loop(server, connections, seconds, _adding(uuid4().hex[:8]))


def _adding(run: str) -> Callable[[int, int, random.Random], Call]:
    """Return the maker of adds: a question with a ticket nobody else has, and its answer, twenty turns a session."""

    def call(client: int, sent: int, chance: random.Random) -> Call:
        asked, noted = (f"{chance.getrandbits(40):x}" for _ in range(2))
        messages = [
            {
                "role": "user",
                "content": f"第{sent}轮：我今天讨论了项目接口和部署计划，记得周{sent % 7}之前完成 ticket-{asked}",
            },
            {
                "role": "assistant",
                "content": f"Understood, I noted ticket {noted} and will remind you before the deadline.",
            },
        ]
        session_id = f"bench-{run}-{client}-{sent // _TURNS_PER_SESSION}"
        return Call(
            "/v3/conversation/add",
            {
                "team_id": SCOPE.team,
                "agent_id": SCOPE.agent,
                "user_id": SCOPE.user,
                "session_id": session_id,
                "messages": messages,
            },
        )

    return call


def _rates(rounds: list[Round]) -> list[float]:
    return [one.requests_per_second for one in rounds]
