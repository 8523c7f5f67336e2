"""What distills; and waiting until everything is distilled, showing how far it is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.client import AsyncMemoryClient, PipelineStatus
from memstrata.records import MODEL_ROLES
from memstrata.settings import Settings

__all__ = ["Distilled", "distill", "distiller_state"]

_LOOK_SECONDS = 1.0
# With a model one step can take a minute, and a failed one waits before it is tried again.
_PATIENCE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Distilled:
    """What there is after the wait. `unfinished` says what is left, empty when nothing is."""

    memories: int
    scenes: int
    personas: int
    unfinished: str

    def as_json(self) -> Mapping[str, Any]:
        return {
            "memories": self.memories,
            "scenes": self.scenes,
            "personas": self.personas,
            "unfinished": self.unfinished or None,
        }


def distiller_state(settings: Settings) -> str:
    """Return what distills, in a few words."""
    llm = settings.llm
    if not llm.configured:
        return say("server.distiller.rules")
    models = dict.fromkeys(getattr(llm, f"{role}_model") or llm.model for role in MODEL_ROLES)
    return say("server.distiller.model", models=", ".join(models))


async def distill(client: AsyncMemoryClient, screen: Screen) -> Distilled:
    """Distill all that waits in the client's scope.

    Gives up when nothing has moved for five minutes, and at once where the pipeline is switched off.
    """
    pipeline = (await client.health()).components.get("pipeline", {})
    patience = _PATIENCE_SECONDS if pipeline.get("state") == "ok" else 0.0
    started = moved = time.monotonic()
    status = await client.status()
    total = status.layers["l1"].pending
    with screen.step(say("distill.step"), total or None) as step:
        while True:
            before, asked = _waiting(status), time.monotonic()
            status = await client.flush(wait_seconds=_LOOK_SECONDS)
            now = time.monotonic()
            moved = now if _waiting(status) != before else moved
            # A flush that comes back before its time has found nothing that can be done.
            ended = status.idle or now - asked < _LOOK_SECONDS / 2
            found = await _count(client, status)
            counts = {"memories": found.memories, "scenes": found.scenes, "personas": found.personas}
            step.show(say("distill.progress", **counts), total - status.layers["l1"].pending, total or None)
            if ended or now - moved > patience:
                break
        step.show(say("distill.done", **counts, seconds=time.monotonic() - started))
    if found.unfinished:
        screen.line(say("distill.unfinished", reason=found.unfinished), "yellow", indent=2)
    return found


async def _count(client: AsyncMemoryClient, status: PipelineStatus) -> Distilled:
    persona = await client.persona()
    has_persona = persona is not None and bool(persona.content)
    return Distilled(await client.count_memories(), len(await client.scenes()), int(has_persona), _unfinished(status))


def _waiting(status: PipelineStatus) -> tuple[int, ...]:
    return tuple(layer.pending for layer in status.layers.values())


def _unfinished(status: PipelineStatus) -> str:
    if status.idle:
        return ""
    errors = (layer.last_error for layer in status.layers.values() if layer.last_error)
    waiting = (
        say("distill.waiting", number=layer.pending, layer=name.upper())
        for name, layer in status.layers.items()
        if layer.pending and name != "l3"  # the persona is renewed by its triggers; memories may wait for it for ever
    )
    return next(errors, None) or next(waiting, "")
