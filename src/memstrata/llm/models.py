"""All models of one process behind one `Chat`: the request's role decides who is asked."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from memstrata.clock import Clock
from memstrata.endpoint.http import Http
from memstrata.llm.protocol import MODEL_ROLES, ChatReply, ChatRequest, ModelRole
from memstrata.llm.provider import Provider
from memstrata.llm.roles import RoleModels
from memstrata.llm.terms import Terms
from memstrata.records import ComponentHealth

__all__ = ["Models"]


class Models:
    """Implements `protocol.Chat`. Roles with the same choice share a provider, and with it breaker, pause and stop.

    An async context manager: leaving it closes the connections.
    """

    def __init__(self, models: RoleModels, clock: Clock) -> None:
        self._http = Http()
        choices = {role: models.of(role) for role in MODEL_ROLES}
        providers = {choice: Provider(choice, self._http, clock) for choice in dict.fromkeys(choices.values())}
        self._providers: Mapping[ModelRole, Provider] = {role: providers[choice] for role, choice in choices.items()}

    async def complete(self, request: ChatRequest) -> ChatReply:
        return await self._providers[request.role].complete(request)

    def health(self) -> Mapping[ModelRole, ComponentHealth]:
        """Return the state of each role's model."""
        return {role: provider.health() for role, provider in self._providers.items()}

    def terms(self, role: ModelRole) -> Terms:
        """Return what the endpoint of a role's model has turned out to accept so far."""
        return self._providers[role].terms

    def resume(self) -> None:
        """Ask those again that had refused key or account."""
        for provider in self._providers.values():
            provider.resume()

    async def close(self) -> None:
        await self._http.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
