"""A watermark store in a LangGraph `BaseStore` that the caller made. LangGraph is not imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["LangGraphWatermarkStore"]

MAX_KEYS = 1_000


class LangGraphWatermarkStore:
    """Texts in the namespace `(namespace, kind)`, where kind is the first part of a key.

    The parts of a namespace must not be empty nor hold a dot, so ids go into keys only.
    """

    def __init__(self, store: Any, namespace: str = "memstrata-turn") -> None:
        """Raises ValueError for a namespace that LangGraph refuses."""
        if not namespace or "." in namespace:
            raise ValueError("a namespace of LangGraph must not be empty nor hold a dot")
        self._store = store
        self._namespace = namespace

    async def get(self, key: str) -> str | None:
        space, name = self._place(key)
        item = await self._store.aget(space, name)
        value = getattr(item, "value", None)
        text = value.get("text") if isinstance(value, dict) else None
        return text if isinstance(text, str) else None

    async def put(self, key: str, value: str, ttl_seconds: int | None) -> None:
        space, name = self._place(key)
        options: dict[str, object] = {"index": False}
        if ttl_seconds is not None and getattr(self._store, "supports_ttl", False):
            options["ttl"] = ttl_seconds / 60
        await self._store.aput(space, name, {"text": value}, **options)

    async def delete(self, key: str) -> None:
        space, name = self._place(key)
        await self._store.adelete(space, name)

    async def keys(self, prefix: str) -> Sequence[str]:
        """Return the keys of the kind that `prefix` names, at most 1,000 of them."""
        space, rest = self._place(prefix)
        items = await self._store.asearch(space, limit=MAX_KEYS)
        names = (str(item.key) for item in items if tuple(item.namespace) == space)
        return sorted(f"{space[1]}/{name}" for name in names if name.startswith(rest))

    def _place(self, key: str) -> tuple[tuple[str, str], str]:
        kind, _, name = key.partition("/")
        return (self._namespace, kind), name
