"""`MetadataClient` of the contract's SDK and its twin: the verbs are ours, the transport is the SDK's. Source: §9.1."""

from __future__ import annotations

from typing import Any

from memstrata.client._metadata_assets import AssetVerbs
from memstrata.client._metadata_people import PeopleVerbs
from memstrata.client.compat._sender import AsyncStubSender, StubSender
from memstrata.client.compat._stub import Verify

__all__ = ["AsyncMetadataClient", "MetadataClient"]


class _MetadataVerbs(PeopleVerbs, AssetVerbs):
    def __init__(
        self,
        endpoint: str = "",
        api_key: str = "",
        service_id: str | None = None,
        *,
        user_key: str | None = None,
        timeout: float = 30,
        verify: Verify = True,
        stub: Any = None,
    ) -> None:
        self._connect(endpoint, api_key, service_id, timeout, verify, user_key, stub)

    def _connect(self, *arguments: Any) -> None:
        raise NotImplementedError


class MetadataClient(StubSender, _MetadataVerbs):
    """Users, teams, agents, tasks, assets and permissions."""


class AsyncMetadataClient(AsyncStubSender, _MetadataVerbs):
    """`MetadataClient` with coroutines."""
