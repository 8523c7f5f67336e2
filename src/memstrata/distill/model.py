"""The distiller that asks models: each of its four questions is put by the room of its layer.

Every call is booked for its owner and bounded by the instance's daily budget, here and nowhere else.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import tzinfo

from memstrata.clock import Clock
from memstrata.distill.atoms.extract import extract_with_model
from memstrata.distill.atoms.resolve import resolve_with_model
from memstrata.distill.calls import CallSettings
from memstrata.distill.persona.generate import portray_with_model
from memstrata.distill.protocol import (
    Decisions,
    Extraction,
    MessageBatch,
    PersonaDraft,
    PersonaRequest,
    Poison,
    ResolveRequest,
    Retry,
    SceneDraft,
    SceneRequest,
)
from memstrata.distill.scenes.consolidate import consolidate_with_model
from memstrata.errors import Misconfigured
from memstrata.llm import Chat, Metered, ModelChoice, RoleModels, SpendBook
from memstrata.records import MODEL_ROLES, Mode, Origin, Profile, Scope
from memstrata.settings import LlmSettings

__all__ = ["ModelDistiller", "role_models"]

_MORE_TIME = 1.5  # for L2, whose replies are the longest


class ModelDistiller:
    """Implements `Distiller` over a `Chat`, which it does not own."""

    origin: Origin = "model"

    def __init__(
        self, chat: Chat, book: SpendBook, clock: Clock, settings: LlmSettings, mode: Mode, zone: tzinfo
    ) -> None:
        self._chat = chat
        self._book = book
        self._clock = clock
        self._budget = settings.daily_tokens or None
        self._call = CallSettings(zone, mode, settings.max_tokens, settings.timeout_seconds)

    async def extract(self, batch: MessageBatch) -> Extraction | Retry | Poison:
        return await extract_with_model(self._chat_of(batch.scope), batch, self._call)

    async def resolve(self, request: ResolveRequest) -> Decisions | Retry | Poison:
        return await resolve_with_model(self._chat_of(request.scope), request, self._call)

    async def consolidate(self, request: SceneRequest) -> SceneDraft | Retry | Poison:
        call = replace(self._call, timeout_seconds=_MORE_TIME * self._call.timeout_seconds)
        return await consolidate_with_model(self._chat_of(request.profile), request, call)

    async def portray(self, request: PersonaRequest) -> PersonaDraft | Retry | Poison:
        return await portray_with_model(self._chat_of(request.profile), request, self._call)

    def _chat_of(self, owner: Scope | Profile) -> Chat:
        return Metered(self._chat, self._book, self._clock, owner, self._budget)


def role_models(settings: LlmSettings) -> RoleModels:
    """Return which model answers for which role. Raises Misconfigured where a role lacks its model or its endpoint."""
    own = {
        role: (getattr(settings, f"{role}_base_url"), getattr(settings, f"{role}_model"), getattr(settings, f"{role}_api_key"))
        for role in MODEL_ROLES
    }  # fmt: skip
    choices = {}
    for role, (base_url, model, api_key) in own.items():
        if not (base_url or settings.base_url):
            raise Misconfigured(f"llm.base_url: a model is named, but no endpoint for the role {role}")
        if not (model or settings.model):
            raise Misconfigured(f"llm.model: an endpoint is named, but no model for the role {role}")
        # A key belongs to its endpoint: the common one is never sent to another address.
        key = api_key or ("" if base_url and base_url != settings.base_url else settings.api_key)
        choices[role] = ModelChoice(
            base_url or settings.base_url, model or settings.model, key, settings.dialect, settings.disable_thinking
        )
    return RoleModels(**choices)
