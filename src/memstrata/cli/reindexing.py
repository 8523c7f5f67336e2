"""`reindex`: follow how rows get their vectors until none is missing. No chat model is asked, and no text is touched.

The work itself is the memory's own: it begins with every start, and goes on where it was stopped. After a change of the model
this command only waits for it, and says why if it does not come to an end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memstrata.cli.connect import connected
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.client import AsyncMemoryClient
from memstrata.errors import Misconfigured, Unavailable

__all__ = ["reindex"]

_LOOK_SECONDS = 0.5
# An endpoint's answer to one batch may take a minute, and a model on this machine is loaded with the first.
_PATIENCE_SECONDS = 120.0
# Failures in a row after which nobody need wait: of batches, and of the first call, which tells how long vectors are.
_TRIES = 3
_FIRST_TRIES = 1


@dataclass(frozen=True, slots=True)
class _Vectors:
    """What the memory tells of its vectors. `rows` is None until its embedder has answered once."""

    embedder: str
    rows: int | None
    missing: int
    refused: int
    caught_up: bool
    failures: int
    failed: bool
    reason: str

    @property
    def done(self) -> bool:
        return self.rows is not None and self.caught_up and not self.missing

    @property
    def hopeless(self) -> bool:
        return not self.done and (self.failed or self.failures >= (_FIRST_TRIES if self.rows is None else _TRIES))


def reindex(screen: Screen, place: Place) -> None:
    """Wait until every row has its vector. Raises Misconfigured without an embedder, Unavailable where it fails."""
    write_logs("warning")
    asyncio.run(_reindex(screen, place))


async def _reindex(screen: Screen, place: Place) -> None:
    started = time.monotonic()
    async with connected(place, embeds=True) as connection:
        vectors = await _look(connection.client)
        with screen.step(say("reindex.step")) as step:
            moved = started
            while not vectors.done:
                now = time.monotonic()
                if vectors.hopeless or now - moved > _PATIENCE_SECONDS:
                    raise Unavailable(say("reindex.stuck", missing=vectors.missing, reason=vectors.reason))
                await asyncio.sleep(_LOOK_SECONDS)
                before, vectors = vectors, await _look(connection.client)
                moved = now if (vectors.rows, vectors.missing) != (before.rows, before.missing) else moved
                rows = vectors.rows or 0
                step.show(say("reindex.progress", done=rows - vectors.missing, rows=rows), rows - vectors.missing, rows)
            step.show(say("reindex.done", rows=vectors.rows, seconds=time.monotonic() - started))
    if vectors.refused:
        screen.line(say("reindex.refused", number=vectors.refused), "yellow", indent=2)
    screen.json({"embedder": vectors.embedder, "rows": vectors.rows, "missing": 0, "refused": vectors.refused})


async def _look(client: AsyncMemoryClient) -> _Vectors:
    health: Mapping[str, Any] = (await client.health()).components.get("embedding", {})
    part: Mapping[str, Any] = health.get("details", {})
    if "embedder" not in part:
        raise Misconfigured(say("reindex.none"))
    return _Vectors(
        embedder=str(part["embedder"]),
        rows=int(part["rows"]) if "rows" in part else None,
        missing=int(part.get("missing", 0)),
        refused=int(part.get("refused", 0)),
        caught_up=bool(part.get("caught_up")),
        failures=int(part.get("failures", 0)),
        failed=health.get("state") == "failed",
        reason=str(health.get("reason", "")),
    )
