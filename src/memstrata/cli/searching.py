"""`search`: the memories or messages that answer a query, best first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from memstrata.cli.connect import connected
from memstrata.cli.logs import write_logs
from memstrata.cli.options import Layer
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.times import iso, minute
from memstrata.cli.words import say
from memstrata.client import Found, Hit, Memory, Message
from memstrata.errors import InvalidRequest

__all__ = ["search"]


def search(screen: Screen, place: Place, query: str, layer: Layer, limit: int, neighbours: int = 0) -> None:
    """Search one layer. Finding nothing is an answer and said as one. Raises InvalidRequest for neighbours of memories."""
    write_logs("warning")
    if neighbours and layer != "messages":
        raise InvalidRequest(say("search.neighbours"), field="--neighbours")
    found = asyncio.run(_search(place, query, layer, limit, neighbours))
    for hit in found.hits:
        _around(screen, hit.neighbours.before if hit.neighbours else ())
        _show(screen, hit.item, hit.score)
        _around(screen, hit.neighbours.after if hit.neighbours else ())
    if not found.hits:
        screen.line(say("search.none", query=query))
    if found.degraded:
        screen.line(say("search.degraded", reasons="; ".join(found.degraded)), "yellow")
    screen.json(
        {
            "query": query,
            "layer": layer,
            "hits": [_hit_as_json(hit) for hit in found.hits],
            "degraded": list(found.degraded),
        }
    )


async def _search(
    place: Place, query: str, layer: Layer, limit: int, neighbours: int
) -> Found[Memory] | Found[Message]:
    async with connected(place) as connection:
        if layer == "messages":
            return await connection.client.search_messages(query, limit=limit, neighbours=neighbours or None)
        return await connection.client.search(query, limit=limit)


def _show(screen: Screen, item: Memory | Message, score: float) -> None:
    if isinstance(item, Memory):
        screen.item(f"{score:.2f} [{item.type}]", item.content)
        screen.line(" · ".join((minute(item.updated_at), item.scene_name, item.id)), "dim", indent=5)
    else:
        screen.item(f"{score:.2f} {item.role}", item.content)
        screen.line(" · ".join((minute(item.said_at), item.session_id, item.id)), "dim", indent=5)


def _around(screen: Screen, messages: Sequence[Message]) -> None:
    for message in messages:
        screen.item(message.role, message.content, indent=5, style="dim", text_style="dim")


def _hit_as_json(hit: Hit[Memory] | Hit[Message]) -> Mapping[str, Any]:
    legs = {leg: round(score, 4) for leg, score in hit.legs.items()}
    shape = {**_as_json(hit.item), "score": round(hit.score, 4), "legs": legs}
    if hit.neighbours is None:
        return shape
    sides = {"before": hit.neighbours.before, "after": hit.neighbours.after}
    return shape | {"neighbours": {side: [_as_json(item) for item in items] for side, items in sides.items()}}


def _as_json(item: Memory | Message) -> Mapping[str, Any]:
    if isinstance(item, Memory):
        times = {"created_at": iso(item.created_at), "updated_at": iso(item.updated_at)}
        return {
            "id": item.id,
            "type": item.type,
            "content": item.content,
            "priority": item.priority,
            "scene": item.scene_name,
            **times,
        }
    return {
        "id": item.id,
        "session_id": item.session_id,
        "role": item.role,
        "content": item.content,
        "said_at": iso(item.said_at),
    }
