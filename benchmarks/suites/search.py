"""How long a search takes: one large scope, and many small ones in one file.

The questions are those of the 200 facts, drawn at random, so each is asked many times and the pages it needs are in
memory: what is measured is the work, not the disk.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from benchmarks.bench import CONNECTIONS, L1_OFF, SCOPE, Bench
from benchmarks.dataset import gold
from benchmarks.driver import Call, closed_loop
from benchmarks.server import Server
from memstrata.records import Scope

__all__ = ["measure"]

_LIMIT = 5
_WARM_UP_SECONDS = 1.0
_SMALL_ROWS = 2_000
_PATHS = {
    "atomic_search": "/v3/atomic/search",
    "conversation_search": "/v3/conversation/search",
    "recall": "/v3/recall",
}


async def measure(bench: Bench) -> None:
    """Search memories and messages, and recall, at 1, 8 and 32 connections; of the small scopes memories and messages."""
    async with bench.serve(await bench.loaded([SCOPE], bench.rows), L1_OFF) as server:
        await _rounds(bench, server, bench.large, [SCOPE], tuple(_PATHS))
    small = [Scope("default", f"team-{number}", SCOPE.agent, SCOPE.user) for number in range(bench.small_scopes)]
    async with bench.serve(await bench.loaded(small, _SMALL_ROWS), L1_OFF) as server:
        await _rounds(
            bench,
            server,
            f"{bench.small_scopes}x{_SMALL_ROWS // 1000}k",
            small,
            ("atomic_search", "conversation_search"),
        )


async def _rounds(bench: Bench, server: Server, store: str, scopes: Sequence[Scope], operations: Sequence[str]) -> None:
    await server.settled()
    for operation in operations:
        await closed_loop(server, 1, _WARM_UP_SECONDS, _searching(operation, scopes))
    for number in range(bench.rounds):
        for operation in operations:
            for connections in CONNECTIONS:
                measured = await closed_loop(server, connections, bench.seconds, _searching(operation, scopes))
                bench.record.round(operation, store, number + 1, measured)


def _searching(operation: str, scopes: Sequence[Scope]) -> Callable[[int, int, random.Random], Call]:
    questions = [one.question for one in gold()]

    def call(client: int, sent: int, chance: random.Random) -> Call:
        scope = chance.choice(scopes)
        return Call(
            _PATHS[operation],
            {
                "team_id": scope.team,
                "agent_id": scope.agent,
                "user_id": scope.user,
                "query": chance.choice(questions),
                "limit": _LIMIT,
            },
        )

    return call
