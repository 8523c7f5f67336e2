"""`forget`: shows what would go, and with `--yes` lets it go and waits until no byte is left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from memstrata.cli.connect import connected
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.client import AsyncMemoryClient, ForgettingReceipt

__all__ = ["Selection", "forget"]

_LOOK_SECONDS = 0.2
_PATIENCE_SECONDS = 60.0
_SHOWN = 5  # ids of each layer, to people; programs get all that the server names


@dataclass(frozen=True, slots=True)
class Selection:
    """What the flags say. None where one was not given: an empty list would be refused."""

    message_ids: list[str] | None
    memory_ids: list[str] | None
    session_ids: list[str] | None
    user: bool
    agent: bool
    team_only: bool
    since: str | None
    until: str | None


def forget(screen: Screen, place: Place, selection: Selection, *, confirmed: bool) -> None:
    """Show or do it. Raises what the client raises."""
    write_logs("warning")
    asyncio.run(_forget(screen, place, selection, confirmed))


async def _forget(screen: Screen, place: Place, selection: Selection, confirmed: bool) -> None:
    async with connected(place) as connection:
        if not confirmed:
            await _show(screen, connection.client, selection)
            return
        receipt = await _complete(connection.client, await connection.client.forget(**asdict(selection), confirm=True))
    screen.bullet(say("forget.gone", counts=_counted(receipt.counts), receipt=receipt.id))
    screen.line(say("forget.complete" if receipt.complete else "forget.incomplete"), indent=2)
    screen.json(
        {"forgetting_id": receipt.id, "counts": dict(receipt.counts), "complete": receipt.complete, "dry_run": False}
    )


async def _show(screen: Screen, client: AsyncMemoryClient, selection: Selection) -> None:
    foreseen = await client.forgettable(**asdict(selection))
    screen.bullet(say("forget.would", counts=_counted(foreseen.counts)))
    layers = {
        "session": foreseen.session_ids,
        "message": foreseen.message_ids,
        "memory": foreseen.memory_ids,
        "scene": foreseen.scene_paths,
    }
    for noun, ids in layers.items():
        if ids:
            shown = ", ".join(ids[:_SHOWN]) + (" …" if len(ids) > _SHOWN else "")
            screen.line(say("forget.ids", layer=say.count(noun, _count(foreseen.counts, noun)), ids=shown), indent=2)
    screen.line(say("forget.hint"))
    screen.json({"dry_run": True, "counts": dict(foreseen.counts)} | {name: list(ids) for name, ids in layers.items()})


async def _complete(client: AsyncMemoryClient, receipt: ForgettingReceipt) -> ForgettingReceipt:
    until = time.monotonic() + _PATIENCE_SECONDS
    while not receipt.complete and time.monotonic() < until:
        await asyncio.sleep(_LOOK_SECONDS)
        receipt = await client.forgetting_receipt(receipt.id)
    return receipt


def _counted(counts: Mapping[str, int]) -> str:
    return " · ".join(say.count(noun, _count(counts, noun)) for noun in ("session", "message", "memory", "scene"))


def _count(counts: Mapping[str, int], noun: str) -> int:
    return counts.get({"memory": "memories"}.get(noun, f"{noun}s"), 0)
