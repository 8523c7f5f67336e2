"""A watermark store in Redis, over a client that the caller made: blocking or asyncio, both of redis-py's shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memstrata.client.turn.store import in_daemon_thread

__all__ = ["RedisWatermarkStore"]


class RedisWatermarkStore:
    """Texts under `prefix`. redis-py is not imported; a client with `aclose` is taken for an asynchronous one."""

    def __init__(self, client: Any, prefix: str = "memstrata:turn:") -> None:
        """Raises ValueError for a prefix with a character that Redis reads as a pattern."""
        if set(prefix) & set("*?[]\\^"):
            raise ValueError("the prefix must hold none of *?[]\\^, which Redis reads as a pattern")
        self._client = client
        self._prefix = prefix
        self._is_async = hasattr(client, "aclose")

    async def get(self, key: str) -> str | None:
        return _text(await self._call("get", self._prefix + key))

    async def put(self, key: str, value: str, ttl_seconds: int | None) -> None:
        await self._call("set", self._prefix + key, value, ex=ttl_seconds)

    async def delete(self, key: str) -> None:
        await self._call("delete", self._prefix + key)

    async def keys(self, prefix: str) -> Sequence[str]:
        pattern = f"{self._prefix}{prefix}*"
        if self._is_async:
            found = [key async for key in self._client.scan_iter(match=pattern)]
        else:
            found = await in_daemon_thread(lambda: list(self._client.scan_iter(match=pattern)))
        return sorted({text.removeprefix(self._prefix) for text in map(_text, found) if text})

    async def _call(self, command: str, *arguments: object, **options: object) -> Any:
        run = getattr(self._client, command)
        if self._is_async:
            return await run(*arguments, **options)
        return await in_daemon_thread(lambda: run(*arguments, **options))


def _text(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else None
