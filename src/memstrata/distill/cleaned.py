"""A distiller whose texts lose their secrets: a model may put together what was told in two messages.

Around every distiller, so that no step and no layer can be forgotten. Runs before all that looks at a proposal.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from memstrata.distill.protocol import (
    Decisions,
    Distiller,
    Extraction,
    MessageBatch,
    PersonaDraft,
    PersonaRequest,
    ResolveRequest,
    SceneDraft,
    SceneRequest,
)
from memstrata.records import MemoryDraft, Origin, Poison, Profile, Retry, Scope

__all__ = ["CleanedDistiller"]

Clean = Callable[[Scope | Profile, Sequence[str]], Awaitable[tuple[str, ...]]]


class CleanedDistiller:
    """Asks `inner`. `clean` returns texts as they may be written for an owner."""

    def __init__(self, inner: Distiller, clean: Clean) -> None:
        self.origin: Origin = inner.origin
        self._inner = inner
        self._clean = clean

    async def extract(self, batch: MessageBatch) -> Extraction | Retry | Poison:
        found = await self._inner.extract(batch)
        if not isinstance(found, Extraction):
            return found
        (scene_name,) = await self._clean(batch.scope, [found.scene_name])
        drafts = await self._drafts(batch.scope, found.drafts)
        return replace(found, drafts=drafts, scene_name=scene_name)

    async def resolve(self, request: ResolveRequest) -> Decisions | Retry | Poison:
        found = await self._inner.resolve(request)
        if not isinstance(found, Decisions):
            return found
        drafts = await self._drafts(request.scope, [one.draft for one in found.items])
        items = tuple(replace(one, draft=draft) for one, draft in zip(found.items, drafts, strict=True))
        return replace(found, items=items)

    async def consolidate(self, request: SceneRequest) -> SceneDraft | Retry | Poison:
        found = await self._inner.consolidate(request)
        if not isinstance(found, SceneDraft):
            return found
        texts = [found.persona_request, *(text for one in found.writes for text in (one.body, one.summary))]
        wish, *rest = await self._clean(request.profile, texts)
        writes = tuple(
            replace(one, body=body, summary=summary)
            for one, body, summary in zip(found.writes, rest[::2], rest[1::2], strict=True)
        )
        return replace(found, writes=writes, persona_request=wish)

    async def portray(self, request: PersonaRequest) -> PersonaDraft | Retry | Poison:
        found = await self._inner.portray(request)
        if not isinstance(found, PersonaDraft):
            return found
        (body,) = await self._clean(request.profile, [found.body])
        return replace(found, body=body)

    async def _drafts(self, scope: Scope, drafts: Sequence[MemoryDraft]) -> tuple[MemoryDraft, ...]:
        texts = [text for one in drafts for text in (one.content, one.scene_name, one.slot)]
        cleaned = await self._clean(scope, texts)
        return tuple(
            replace(one, content=content, scene_name=scene_name, slot=slot)
            for one, content, scene_name, slot in zip(drafts, cleaned[::3], cleaned[1::3], cleaned[2::3], strict=True)
        )
