"""`search`: the memories or messages that answer a query, best first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from memstrata.cli.connect import connected
from memstrata.cli.logs import write_logs
from memstrata.cli.options import Layer
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.times import iso, minute
from memstrata.cli.words import say
from memstrata.client import Found, Memory, Message

__all__ = ["search"]


def search(screen: Screen, place: Place, query: str, layer: Layer, limit: int) -> None:
    """Search one layer. Finding nothing is an answer and said as one."""
    write_logs("warning")
    found = asyncio.run(_search(place, query, layer, limit))
    for hit in found.hits:
        _show(screen, hit.item, hit.score)
    if not found.hits:
        screen.line(say("search.none", query=query))
    if found.degraded:
        screen.line(say("search.degraded", reasons="; ".join(found.degraded)), "yellow")
    screen.json(
        {
            "query": query,
            "layer": layer,
            "hits": [{**_as_json(hit.item), "score": round(hit.score, 4)} for hit in found.hits],
            "degraded": list(found.degraded),
        }
    )


async def _search(place: Place, query: str, layer: Layer, limit: int) -> Found[Memory] | Found[Message]:
    async with connected(place) as connection:
        if layer == "messages":
            return await connection.client.search_messages(query, limit=limit)
        return await connection.client.search(query, limit=limit)


def _show(screen: Screen, item: Memory | Message, score: float) -> None:
    if isinstance(item, Memory):
        screen.item(f"{score:.2f} [{item.type}]", item.content)
        screen.line(" · ".join((minute(item.updated_at), item.scene_name, item.id)), "dim", indent=5)
    else:
        screen.item(f"{score:.2f} {item.role}", item.content)
        screen.line(" · ".join((minute(item.said_at), item.session_id, item.id)), "dim", indent=5)


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
