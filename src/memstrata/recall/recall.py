"""The read path: all legs at once, one deadline, and what arrived is returned.

Memories by search, the persona, the scene index, and the same of agents whose memory is borrowed. A leg that fails or is
late costs itself and is named in `degraded`; it never costs the others, and it is never shown as "nothing there".
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

from memstrata.errors import MemstrataError
from memstrata.recall.render import UNLIMITED, render_memories, render_profile, shown_documents, shown_memories
from memstrata.records import (
    PERSONA_PATH,
    BorrowedMemory,
    Document,
    Found,
    Lender,
    MemoryRecord,
    ProfileScope,
    Recall,
    Scope,
    Shown,
)
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

    def __init__(
        self,
        finder: Finder,
        store: Store,
        settings: RecallSettings,
        profile_scope: ProfileScope,
        lenders: Callable[[Scope], Awaitable[tuple[Lender, ...]]] | None = None,
    ) -> None:
        self._finder = finder
        self._store = store
        self._settings = settings
        self._profile_scope = profile_scope
        self._lenders = lenders if settings.borrowed else None
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
        most = limit or self._settings.limit
        legs: dict[Leg, Callable[[], Awaitable[Any]]] = {
            "memories": lambda: self._memories(scope, asked, most, task_id, seconds),
            "persona": lambda: self._persona(scope),
            "scenes": lambda: self._scenes(scope),
        }
        wanted: dict[str, Awaitable[Any]] = {leg: legs[leg]() for leg in legs if leg in include}
        if self._lenders is not None and include:
            wanted["borrowed"] = self._borrowed(self._lenders, scope, asked, most, task_id, seconds, include)
        arrived, degraded = await self._gather(wanted, seconds)
        found: Found[MemoryRecord] = arrived.get("memories") or Found(())
        persona: Document | None = arrived.get("persona")
        scenes: tuple[Document, ...] = arrived.get("scenes") or ()
        tokens = (self._settings.max_tokens if max_tokens is None else max_tokens) or UNLIMITED
        borrowed: tuple[BorrowedMemory, ...]
        borrowed, less = arrived.get("borrowed") or ((), ())
        memories = [render_memories(found.hits, self._settings, tokens)]
        tokens -= count_tokens(memories[0])
        profiles = [render_profile(persona, scenes, self._settings, tokens)]
        tokens -= count_tokens(profiles[0])
        shown = [*shown_memories(memories[0], found.hits)]
        read: list[tuple[Lender | None, Document]] = [
            (None, document) for document in shown_documents(profiles[0], persona, scenes)
        ]
        for one in borrowed:
            name = one.lender.name or one.lender.agent
            memories.append(render_memories(one.hits, self._settings, tokens, lender=name))
            tokens -= count_tokens(f"{memories[-1]}\n\n")
            profiles.append(render_profile(one.persona, one.scenes, self._settings, tokens, lender=name))
            tokens -= count_tokens(f"{profiles[-1]}\n\n")
            shown += shown_memories(memories[-1], one.hits)
            read += [(one.lender, document) for document in shown_documents(profiles[-1], one.persona, one.scenes)]
        return Recall(
            hits=found.hits,
            persona=persona,
            scenes=scenes,
            prepend_context="\n\n".join(filter(None, memories)),
            append_system_context="\n\n".join(filter(None, profiles)),
            degraded=tuple(dict.fromkeys((*degraded, *found.degraded, *less))),
            elapsed_ms=(time.perf_counter() - started) * 1000,
            borrowed=borrowed,
            shown=Shown(tuple(shown), tuple(read)),
        )

    async def _gather(self, legs: Mapping[str, Awaitable[Any]], seconds: float) -> tuple[dict[str, Any], list[str]]:
        tasks = {leg: asyncio.ensure_future(work) for leg, work in legs.items()}
        try:
            if tasks:
                await asyncio.wait(tasks.values(), timeout=seconds)
        finally:
            for task in tasks.values():
                task.cancel()
        arrived: dict[str, Any] = {}
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

    def _missing(self, leg: str, reason: str) -> str:
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

    async def _borrowed(
        self,
        lenders: Callable[[Scope], Awaitable[tuple[Lender, ...]]],
        scope: Scope,
        query: str,
        limit: int,
        task_id: str | None,
        seconds: float,
        include: Collection[Leg],
    ) -> tuple[tuple[BorrowedMemory, ...], tuple[str, ...]]:
        """Return what the lenders' memories have, and what was left out of the search in them.

        Of the same user, and only what is asked of the agent's own memory.
        """
        found: list[BorrowedMemory] = []
        less: list[str] = []
        for lender in await lenders(scope):
            theirs = replace(scope, team=lender.team, agent=lender.agent)
            hits: Found[MemoryRecord] = Found(())
            if "memories" in include:
                hits = await self._memories(theirs, query, limit, task_id, seconds)
            less += hits.degraded
            persona = await self._persona(theirs) if "persona" in include else None
            scenes = await self._scenes(theirs) if "scenes" in include else ()
            if hits.hits or persona or scenes:
                found.append(BorrowedMemory(lender, hits.hits, persona, scenes))
        return tuple(found), tuple(less)
