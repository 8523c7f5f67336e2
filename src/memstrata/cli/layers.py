"""What each layer of a scope holds: gathered through the API, told in one line a layer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memstrata.cli.screen import Screen
from memstrata.cli.times import iso
from memstrata.cli.words import say
from memstrata.client import AsyncMemoryClient, Evidence, Memory, NotFound, Scene
from memstrata.distill.scenes.navigation import strip_navigation
from memstrata.records import MEMORY_TYPES

__all__ = ["PAGE", "Layers", "all_memories", "evidence_of", "gather_layers", "show_layers"]

PAGE = 100  # what the API gives at a time at most
_TOGETHER = 8
# Each memory's history is a request of its own; past this many, nobody waits for a number in a summary.
_TRACED = 1_000


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers of one scope. `superseded` is None where it was not counted."""

    messages: int
    first_said: datetime | None
    last_said: datetime | None
    types: Mapping[str, int]
    superseded: int | None
    scenes: tuple[Scene, ...]
    persona: str

    @property
    def memories(self) -> int:
        return sum(self.types.values())

    def as_json(self) -> Mapping[str, Any]:
        return {
            "l0": {"messages": self.messages, "since": iso(self.first_said), "until": iso(self.last_said)},
            "l1": {"memories": self.memories, "types": self.types, "superseded": self.superseded},
            "l2": [{"path": scene.path, "heat": scene.heat, "summary": scene.summary} for scene in self.scenes],
            "l3": {"characters": len(self.persona)},
        }


async def gather_layers(client: AsyncMemoryClient) -> Layers:
    """Ask the API what the client's scope holds."""
    newest = await client.messages(limit=1)
    oldest = await client.messages(limit=1, offset=newest.total - 1) if newest.total else newest
    counts = {kind: await client.count_memories(type=kind) for kind in sorted(MEMORY_TYPES)}
    types = {kind: count for kind, count in sorted(counts.items(), key=lambda item: -item[1]) if count}
    persona = await client.persona()
    return Layers(
        messages=newest.total,
        first_said=oldest.items[0].said_at if oldest.items else None,
        last_said=newest.items[0].said_at if newest.items else None,
        types=types,
        superseded=await _superseded(client) if sum(types.values()) <= _TRACED else None,
        scenes=await client.scenes(),
        persona=strip_navigation(persona.content) if persona else "",
    )


def show_layers(screen: Screen, layers: Layers, sessions: int | None = None) -> None:
    """Tell what the layers hold. `sessions` is said where it is known."""
    screen.item("L0", _messages(layers, sessions))
    screen.item("L1", _memories(layers))
    scenes = [say("layers.scene", path=scene.path, heat=scene.heat) for scene in layers.scenes]
    screen.item("L2", " · ".join(scenes) or say("layers.none"))
    characters = say.count("character", len(layers.persona))
    screen.item("L3", say("layers.l3", characters=characters) if layers.persona else say("layers.none"))


async def all_memories(client: AsyncMemoryClient) -> AsyncIterator[Memory]:
    """Yield every live memory once, the last changed first; what changes meanwhile may move but does not come twice."""
    seen: set[str] = set()
    offset = 0
    while True:
        page = await client.memories(limit=PAGE, offset=offset)
        for memory in page.items:
            if memory.id not in seen:
                seen.add(memory.id)
                yield memory
        offset += PAGE
        if offset >= page.total or not page.items:
            return


async def evidence_of(client: AsyncMemoryClient) -> AsyncIterator[Evidence]:
    """Yield the evidence of every live memory. One that was deleted meanwhile is left out."""
    waiting: list[Memory] = []
    async for memory in all_memories(client):
        waiting.append(memory)
        if len(waiting) == _TOGETHER:
            for evidence in await asyncio.gather(*(_trace(client, one.id) for one in waiting)):
                if evidence is not None:
                    yield evidence
            waiting.clear()
    for evidence in await asyncio.gather(*(_trace(client, one.id) for one in waiting)):
        if evidence is not None:
            yield evidence


async def _trace(client: AsyncMemoryClient, memory_id: str) -> Evidence | None:
    try:
        return await client.trace(memory_id)
    except NotFound:
        return None


async def _superseded(client: AsyncMemoryClient) -> int:
    """Count the versions that newer ones took the place of."""
    replaced = {(old.id, old.version) async for one in evidence_of(client) for old in one.replaced}
    return len(replaced)


def _messages(layers: Layers, sessions: int | None) -> str:
    if not layers.messages:
        return say("layers.none")
    span = {"since": _day(layers.first_said), "until": _day(layers.last_said)}
    messages = say.count("message", layers.messages)
    if sessions is None:
        return say("layers.l0", messages=messages, **span)
    return say("layers.l0_sessions", messages=messages, sessions=say.count("session", sessions), **span)


def _memories(layers: Layers) -> str:
    if not layers.memories:
        return say("layers.none")
    types = say("layers.separator").join(f"{count} {kind}" for kind, count in layers.types.items())
    text = say("layers.l1", memories=say.count("memory", layers.memories), types=types)
    return text + (say("layers.superseded", number=layers.superseded) if layers.superseded else "")


def _day(time: datetime | None) -> str:
    return time.astimezone().strftime("%Y-%m-%d") if time else "?"
