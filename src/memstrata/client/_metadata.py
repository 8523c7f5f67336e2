"""The clients of the directory: `MetadataClient` and its twin, whose verbs are in `_metadata_people` and `_metadata_assets`.

Names and arguments are the contract's, answers its dictionaries, so that code of its own SDK needs another import alone.
"""

from __future__ import annotations

import ssl

import httpx

from memstrata.client._connection import AsyncConnection, Connection
from memstrata.client._metadata_assets import AssetVerbs
from memstrata.client._metadata_people import PeopleVerbs

__all__ = ["AsyncMetadataClient", "MetadataClient"]


class MetadataClient(PeopleVerbs, AssetVerbs, Connection):
    """Users, teams, agents, tasks, assets and permissions of an instance, asked for by the person whose key it has.

    Every call raises `MemstrataClientError` or one of its branches; ParamError, before anything is sent, for an argument
    that is none. What only reads is retried as in `MemoryClient`.
    """

    def __init__(
        self,
        endpoint: str = "http://127.0.0.1:8420",
        *,
        api_key: str = "local",
        instance: str = "default",
        user_key: str | None = None,
        timeout: float = 30.0,
        tls: ssl.SSLContext | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Nothing is sent yet. Without a `user_key` only `verify_auth` and what is the operator's can be asked."""
        super().__init__(endpoint, api_key, instance, timeout, transport, user_key, tls)


class AsyncMetadataClient(PeopleVerbs, AssetVerbs, AsyncConnection):
    """`MetadataClient` with coroutines."""

    def __init__(
        self,
        endpoint: str = "http://127.0.0.1:8420",
        *,
        api_key: str = "local",
        instance: str = "default",
        user_key: str | None = None,
        timeout: float = 30.0,
        tls: ssl.SSLContext | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Nothing is sent yet. Without a `user_key` only `verify_auth` and what is the operator's can be asked."""
        super().__init__(endpoint, api_key, instance, timeout, transport, user_key, tls)
