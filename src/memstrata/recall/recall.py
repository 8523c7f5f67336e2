"""The read path: three legs at once, one deadline, and what arrived is returned.

Memories by search, the persona, the scene index. A leg that fails or is late costs itself and is named in `degraded`; it
never costs the others, and it is never shown as "nothing there".
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Literal, get_args

from memstrata.errors import MemstrataError
from memstrata.recall.render import UNLIMITED, render_memories, render_profile
from memstrata.records import PERSONA_PATH, Document, Found, MemoryRecord, ProfileScope, Recall, Scope
from memstrata.search import MEMORIES, Finder
from memstrata.settings import RecallSettings
from memstrata.store.protocol import Store
from memstrata.store.shapes import MemoryFilter
from memstrata.text.markers import strip_injected
from memstrata.text.tokens import count_tokens
from memstrata.text.wellformed import well_formed

__all__ = ["MAX_QUERY", "Leg", "Recaller"]

_LOG = logging.getLogger(__name__)
MAX_QUERY = 2_000  # code points; the rest of a longer query is not looked at

Leg = Literal["memories", "persona", "scenes"]


class Recaller:
    """Answers recalls from a store."""

    def __init__(self, finder: Finder, store: Store, settings: RecallSettings, profile_scope: ProfileScope) -> None:
        self._finder = finder
        self._store = store
        self._settings = settings
        self._profile_scope = profile_scope
        self.failures: Counter[str] = Counter()

    async def recall(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int | None = None,
        budget_ms: int | None = None,
        max_tokens: int | None = None,
        task_id: str | None = None,
        include: Collection[Leg] = get_args(Leg),
    ) -> Recall:
        """Return what memory has for the query. Never raises for a leg: see `degraded`.

        `max_tokens` goes before the settings' own and bounds the blocks; `hits`, `persona` and `scenes` stay whole.
        """
        started = time.perf_counter()
        asked = strip_injected(well_formed(query))[:MAX_QUERY]
        seconds = self._settings.timeout_seconds if budget_ms is None else budget_ms / 1000
        legs: dict[Leg, Callable[[], Awaitable[Any]]] = {
            "memories": lambda: self._memories(scope, asked, limit or self._settings.limit, task_id, seconds),
            "persona": lambda: self._persona(scope),
            "scenes": lambda: self._scenes(scope),
        }
        arrived, degraded = await self._gather({leg: legs[leg]() for leg in legs if leg in include}, seconds)
        found: Found[MemoryRecord] = arrived.get("memories") or Found(())
        persona: Document | None = arrived.get("persona")
        scenes: tuple[Document, ...] = arrived.get("scenes") or ()
        tokens = (self._settings.max_tokens if max_tokens is None else max_tokens) or UNLIMITED
        memories = render_memories(found.hits, self._settings, tokens)
        return Recall(
            hits=found.hits,
            persona=persona,
            scenes=scenes,
            prepend_context=memories,
            append_system_context=render_profile(persona, scenes, self._settings, tokens - count_tokens(memories)),
            degraded=(*degraded, *found.degraded),
            elapsed_ms=(time.perf_counter() - started) * 1000,
        )

    async def _gather(self, legs: Mapping[Leg, Awaitable[Any]], seconds: float) -> tuple[dict[Leg, Any], list[str]]:
        tasks = {leg: asyncio.ensure_future(work) for leg, work in legs.items()}
        try:
            if tasks:
                await asyncio.wait(tasks.values(), timeout=seconds)
        finally:
            for task in tasks.values():
                task.cancel()
        arrived: dict[Leg, Any] = {}
        degraded: list[str] = []
        for leg, task in tasks.items():
            if not task.done() or task.cancelled():
                degraded.append(self._missing(leg, f"did not arrive within {seconds:g} s"))
            elif (error := task.exception()) is not None:
                # A leg is a documented fail-open edge: whatever went wrong in it, the turn goes on without it.
                known = isinstance(error, MemstrataError)
                _LOG.log(logging.WARNING if known else logging.ERROR, "recall of %s failed", leg, exc_info=error)
                degraded.append(self._missing(leg, str(error) if known else "internal error"))
            else:
                arrived[leg] = task.result()
        return arrived, degraded

    def _missing(self, leg: Leg, reason: str) -> str:
        self.failures[leg] += 1
        return f"{leg}: {reason}"

    async def _memories(
        self, scope: Scope, query: str, limit: int, task_id: str | None, seconds: float
    ) -> Found[MemoryRecord]:
        where = MemoryFilter(task_id=task_id)
        floor = self._settings.floor
        return await self._finder.find(MEMORIES, scope, query, where, limit, floor=floor, within_seconds=seconds)

    async def _persona(self, scope: Scope) -> Document | None:
        profile = scope.profile(self._profile_scope)
        return await self._store.read(lambda r: r.profiles.document(profile, "persona", PERSONA_PATH))

    async def _scenes(self, scope: Scope) -> tuple[Document, ...]:
        profile = scope.profile(self._profile_scope)
        return await self._store.read(lambda r: r.profiles.documents(profile, "scene"))
