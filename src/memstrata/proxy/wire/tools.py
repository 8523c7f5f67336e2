"""The tools of a request in OpenAI's two protocols: their names, and a digest to tell one set from another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from memstrata.proxy.wire.scalars import is_null
from memstrata.proxy.wire.spans import Value, decoded

__all__ = ["Tools", "read_tools"]


class _Named(msgspec.Struct):
    name: str = ""


class _Tool(msgspec.Struct):
    """Chat nests the name under the tool's type, Responses does not; the provider's own tools have only a type."""

    type: str = ""
    name: str = ""
    function: _Named | None = None
    custom: _Named | None = None
    tools: list[_Named] = []


_TOOLS = msgspec.json.Decoder(list[_Tool])


@dataclass(frozen=True, slots=True)
class Tools:
    """`names` in order; those in a namespace too. `digest` is over the bytes as sent, empty without tools."""

    names: tuple[str, ...]
    digest: str


def read_tools(members: Mapping[str, Value], *keys: str) -> Tools:
    """Return the tools in some members of a request. Raises Unreadable where they are no list of tools."""
    values = [value for key in keys if (value := members.get(key)) is not None and not is_null(value)]
    names = tuple(name for value in values for tool in decoded(_TOOLS, value.raw) for name in _names(tool))
    digest = hashlib.sha256(b"".join(bytes(value.raw) for value in values)).hexdigest() if names else ""
    return Tools(names, digest)


def _names(tool: _Tool) -> Iterator[str]:
    nested = tool.function or tool.custom
    yield tool.name or (nested.name if nested else tool.type)
    yield from (inner.name for inner in tool.tools)
