"""Which distiller works here: the model that is configured, or rules; and what its state is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memstrata.clock import Clock, zone_of
from memstrata.distill.protocol import Distiller
from memstrata.distill.rules import RulesDistiller
from memstrata.records import ComponentHealth
from memstrata.settings import Settings
from memstrata.store.protocol import Store

if TYPE_CHECKING:
    from memstrata.llm import Models

__all__ = ["Chosen", "chosen_distiller"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A distiller with what concerns the process: its health, and a way to ask again after it was refused."""

    distiller: Distiller
    health: Callable[[], ComponentHealth]
    resume: Callable[[], None] = lambda: None


@asynccontextmanager
async def chosen_distiller(settings: Settings, store: Store, clock: Clock) -> AsyncIterator[Chosen]:
    """Yield the distiller that the settings name. Raises Misconfigured for half a model or an unknown time zone."""
    zone = zone_of(settings.time_zone)
    if not settings.llm.configured:
        yield Chosen(
            RulesDistiller(zone), lambda: ComponentHealth("reduced", "no model configured: distilling by rules")
        )
        return
    # Loaded only where they are used: the HTTP client alone is a third of a second of a server's start.
    from memstrata.distill.model import ModelDistiller, role_models
    from memstrata.distill.spending import StoreSpendBook
    from memstrata.llm import Models

    async with Models(role_models(settings.llm), clock) as models:
        book = StoreSpendBook(store)
        distiller = ModelDistiller(models, book, clock, settings.llm, settings.pipeline.mode, zone)
        yield Chosen(distiller, lambda: _health(models), models.resume)


def _health(models: Models) -> ComponentHealth:
    """Return the state of all roles' models as one: the worst, with the reason of each that is not well."""
    roles = models.health()
    details: dict[str, int | float | str | bool] = {role: one.details["model"] for role, one in roles.items()}
    unwell: dict[str, list[str]] = {}
    for role, one in roles.items():
        if one.state != "ok":
            unwell.setdefault(one.reason, []).append(role)
    reason = "; ".join(f"{', '.join(names)}: {why}" for why, names in unwell.items())
    if not unwell:
        return ComponentHealth("ok", details=details)
    failed = any(one.state == "failed" for one in roles.values())
    return ComponentHealth("failed" if failed else "reduced", reason, details)
