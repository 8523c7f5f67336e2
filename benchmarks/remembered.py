"""Whether what was said is remembered, and when: turns that carry a code nobody else has, looked for over the API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from benchmarks.driver import Body, Call, Client

__all__ = ["POLL_SECONDS", "Visible", "add", "code", "ids", "memories", "until_remembered", "visible"]

POLL_SECONDS = 0.01
_VISIBLE_SECONDS = 30.0
_STALLED_SECONDS = 45.0
_PAGE = 100


@dataclass(frozen=True, slots=True)
class Visible:
    """How long single turns took from the add to the first search that found them; `missing` were never found."""

    milliseconds: tuple[float, ...]
    missing: int


def ids(team: str) -> Body:
    """Return the ids of a scope that no other measurement uses."""
    return {"team_id": team, "agent_id": "agent-b", "user_id": "user-b"}


def code() -> str:
    """Return a word that no other turn has."""
    return f"k{uuid4().hex[:12]}"


def add(scope: Body, session_id: str, said: str, answered: str) -> Call:
    """Return the request that adds one turn."""
    messages = [{"role": "user", "content": said}, {"role": "assistant", "content": answered}]
    return Call("/v3/conversation/add", {**scope, "session_id": session_id, "messages": messages})


async def visible(client: Client, scope: Body, samples: int, turn: Callable[[int, str], Call]) -> Visible:
    """Add single turns, `turn` giving each from its number and its code, and poll the search until it finds the code."""
    waits: list[float] = []
    for number in range(samples):
        own = code()
        started = time.perf_counter()
        await client.ask(turn(number, own))
        while not _holds(await client.ask(Call("/v3/atomic/search", {**scope, "query": own})), own):
            if time.perf_counter() - started > _VISIBLE_SECONDS:
                break
            await asyncio.sleep(POLL_SECONDS)
        else:
            waits.append(1000 * (time.perf_counter() - started))
    return Visible(tuple(waits), samples - len(waits))


async def until_remembered(client: Client, scope: Body, expected: int, started: float) -> float:
    """Return when the last memory came, in seconds since the start; gives up when no further one comes for a while."""
    most, last = -1, time.perf_counter()
    while most < expected and time.perf_counter() - last < _STALLED_SECONDS:
        total = (await client.ask(Call("/v3/atomic/count", scope)))["total"]
        if total > most:
            most, last = total, time.perf_counter()
        await asyncio.sleep(10 * POLL_SECONDS)
    return last - started


async def memories(client: Client, scope: Body) -> list[str]:
    """Return the texts of all memories of a scope."""
    texts: list[str] = []
    while True:
        page = await client.ask(Call("/v3/atomic/query", {**scope, "limit": _PAGE, "offset": len(texts)}))
        texts += [item["content"] for item in page["items"]]
        if not page["items"] or len(texts) >= page["total"]:
            return texts


def _holds(answer: Body, own: str) -> bool:
    return any(own in item["content"] for item in answer["items"])
