"""`status`: what each layer holds, what waits to be distilled, and how the parts are."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from memstrata.cli.connect import Connection, connected
from memstrata.cli.layers import Layers, gather_layers, show_layers
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.client import Budget, Health, LayerStatus, PipelineStatus

__all__ = ["show_pipeline", "status"]

# Switched off for a command that only looks, so their state says nothing about the installation.
_OFF_IN_PROCESS = frozenset({"pipeline", "mirror", "embedding"})


def status(screen: Screen, place: Place) -> None:
    """Show the state of one scope and of the server, if there is one."""
    write_logs("warning")
    asyncio.run(_status(screen, place))


async def _status(screen: Screen, place: Place) -> None:
    async with connected(place) as connection:
        client = connection.client
        health, layers, pipeline = await client.health(), await gather_layers(client), await client.status()
    parts = _parts(connection, health)
    _show(screen, connection, health, layers, pipeline, parts)
    screen.json(
        {
            "server": {"url": connection.url, "version": health.version, "status": health.status}
            if connection.url
            else None,
            "data_dir": None if place.url else str(connection.settings.data_dir),
            "layers": layers.as_json(),
            "pipeline": {
                "idle": pipeline.idle,
                "distiller": pipeline.distiller,
                "budget": asdict(pipeline.budget) if pipeline.budget else None,
                **{name: asdict(layer) for name, layer in pipeline.layers.items()},
            },
            "components": parts,
        }
    )


def _show(
    screen: Screen,
    connection: Connection,
    health: Health,
    layers: Layers,
    pipeline: PipelineStatus,
    parts: Mapping[str, Mapping[str, Any]],
) -> None:
    if connection.url:
        state = say(f"status.state.{health.status}")
        screen.bullet(say("status.server", url=connection.url, version=health.version, state=state))
    else:
        screen.bullet(say("status.no_server", folder=connection.settings.data_dir))
    screen.line()
    show_layers(screen, layers)
    screen.line()
    show_pipeline(screen, pipeline)
    screen.line()
    for name, part in parts.items():
        said = [say(f"status.state.{part['state']}"), part.get("reason", ""), _proxied(part) if name == "proxy" else ""]
        screen.item(name, " · ".join(one for one in said if one), indent=2, width=14)


def show_pipeline(screen: Screen, pipeline: PipelineStatus) -> None:
    """Show what waits in each layer, and what models cost today."""
    screen.line(say("status.waiting"), "bold")
    for name, layer in pipeline.layers.items():
        screen.item(name.upper(), _waits(layer), indent=2)
    if pipeline.budget is not None:
        screen.item(say("status.tokens"), _tokens(pipeline.budget), indent=2)


def _parts(connection: Connection, health: Health) -> Mapping[str, Mapping[str, Any]]:
    hidden = frozenset[str]() if connection.url else _OFF_IN_PROCESS
    return {name: part for name, part in health.components.items() if name not in hidden}


def _proxied(part: Mapping[str, Any]) -> str:
    """Return what went through the proxy since it started; nothing where the server does not tell numbers."""
    counts = part.get("details")
    if not counts:
        return ""
    return say(
        "status.proxy",
        requests=counts.get("requests", 0),
        without=counts.get("without_memory", 0),
        recalled=counts.get("recalled", 0),
        waiting=counts.get("turns_waiting_ready", 0),
        parked=counts.get("turns_waiting_parked", 0),
        share=counts.get("cache_read_ratio", 0.0),
    )


def _waits(layer: LayerStatus) -> str:
    text = say(f"status.layer.{layer.state if layer.pending else 'idle'}", pending=layer.pending)
    if layer.parked:
        text = f"{text} · {say('status.parked', number=layer.parked)}"
    return f"{text} · {say('status.last_error', error=layer.last_error)}" if layer.last_error else text


def _tokens(budget: Budget) -> str:
    if budget.limit_tokens is None:
        return say("status.tokens.used", used=budget.used_tokens)
    name = "status.tokens.spent" if budget.spent else "status.tokens.limited"
    return say(name, used=budget.used_tokens, limit=budget.limit_tokens)
