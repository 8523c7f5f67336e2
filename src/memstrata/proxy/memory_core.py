"""The core as the proxy sees it: the public client over one connection, in this process or over the network.

There is no other way from the proxy to memory, so what holds for every client holds here: scopes, permissions, errors.
Where a user's key came with the request it goes along and narrows what is answered. Writing and the bridge have none and
speak as the gateway, for a binding that the user's key has opened.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import httpx

from memstrata.client import AsyncMemoryClient, AsyncMetadataClient, Memory, Message, Recall, Scene, SceneText
from memstrata.proxy.place import Place
from memstrata.proxy.recalled import RecalledMemory

__all__ = ["MemoryCore"]

_MOST_CLIENTS = 256
_TIMEOUT_SECONDS = 10.0
_PROFILE_SECONDS = 3.0


class MemoryCore:
    """Asks one core. Every method raises `MemstrataClientError`."""

    def __init__(self, endpoint: str, api_key: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        """`api_key` is the core's gateway key, empty for a core without one. Nothing is sent yet."""
        self._endpoint = endpoint
        self._api_key = api_key or "local"
        self._transport = transport if transport is not None else httpx.AsyncHTTPTransport()
        self._clients: OrderedDict[tuple[str, str], AsyncMemoryClient] = OrderedDict()

    def at(self, place: Place, user_key: str = "") -> AsyncMemoryClient:
        """Return a client for a place."""
        client = self._client(place.instance, user_key)
        return client.with_scope(
            team=place.team, agent=place.agent, user=place.user, session=place.session, task=place.task or None
        )

    def metadata(self, instance: str, user_key: str) -> AsyncMetadataClient:
        """Return a directory client that asks as a user."""
        return AsyncMetadataClient(
            self._endpoint,
            api_key=self._api_key,
            instance=instance,
            user_key=user_key or None,
            timeout=_TIMEOUT_SECONDS,
            transport=self._transport,
        )

    async def recall(self, place: Place, query: str, limit: int, seconds: float) -> Sequence[RecalledMemory]:
        """Return the memories of all sessions of a place that bear on a text, best first."""
        budget = max(1, round(seconds * 1_000))
        found = await self._across(place).recall(query, limit=limit, budget_ms=budget, include=["memories"])
        return [RecalledMemory(hit.item.id, hit.item.type, hit.item.content) for hit in found.hits]

    async def profile(self, place: Place, user_key: str = "") -> Recall:
        """Return the persona and the scenes of a place."""
        return await self._across(place, user_key).recall("-", include=["persona", "scenes"], timeout=_PROFILE_SECONDS)

    async def memories(self, place: Place, query: str, limit: int) -> Sequence[Memory]:
        """Find memories of all sessions, best first."""
        return (await self._across(place).search(query, limit=limit)).items

    async def list_memories(self, place: Place, limit: int, offset: int) -> Sequence[Memory]:
        """Return memories, newest first."""
        return (await self._across(place).memories(limit=limit, offset=offset)).items

    async def list_messages(self, place: Place, session: str | None, limit: int, offset: int) -> Sequence[Message]:
        """Return messages of one session, or of all."""
        return (await self._across(place).messages(session=session, limit=limit, offset=offset)).items

    async def scenes(self, place: Place) -> Sequence[Scene]:
        """Return the index of scenes, hottest first."""
        return await self._across(place).scenes()

    async def messages(self, place: Place, query: str, limit: int) -> Sequence[Message]:
        """Find messages of all sessions."""
        return (await self._across(place).search_messages(query, limit=limit)).items

    async def scene(self, place: Place, path: str) -> SceneText | None:
        """Read a scene; None where there is none."""
        return await self._across(place).read_scene(path)

    async def forget(self, place: Place, memory_ids: Sequence[str], user_key: str) -> int:
        """Let go of memories in every copy; return how many went. The user's own key decides whether that may be."""
        receipt = await self._across(place, user_key).forget(memory_ids=memory_ids)
        return receipt.counts.get("memories", 0)

    async def close(self) -> None:
        """Close the connection."""
        await self._transport.aclose()

    def _across(self, place: Place, user_key: str = "") -> AsyncMemoryClient:
        return self.at(place, user_key).with_scope(session=None, task=None)

    def _client(self, instance: str, user_key: str) -> AsyncMemoryClient:
        key = (instance, user_key)
        client = self._clients.get(key)
        if client is None:
            client = AsyncMemoryClient(
                self._endpoint,
                api_key=self._api_key,
                instance=instance,
                team="-",
                agent="-",
                user="-",
                user_key=user_key or None,
                timeout=_TIMEOUT_SECONDS,
                transport=self._transport,
            )
            self._clients[key] = client
            if len(self._clients) > _MOST_CLIENTS:
                self._clients.popitem(last=False)
        else:
            self._clients.move_to_end(key)
        return client
