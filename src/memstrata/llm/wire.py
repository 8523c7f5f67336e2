"""What the two wire formats have in common: a request becomes a body, a body becomes a reply. No I/O here.

In every body `model`, tools and the form of the answer come before the messages and the numbers after them, so that
two requests of one role are the same bytes up to the first word that differs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from memstrata.llm.protocol import ChatRequest, ToolCall, Usage
from memstrata.llm.terms import Terms

__all__ = ["Ending", "Wire", "WireReply", "counted", "system_text"]

Ending = Literal["stop", "tool_calls", "length", "content_filter"]

_MOST_TOKENS = 1_000_000_000  # of one call


@dataclass(frozen=True, slots=True)
class WireReply:
    """A decoded answer, usable or not. `usage` is None when the endpoint did not say."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    ending: Ending
    model: str
    usage: Usage | None
    carry: Mapping[str, Any] | None = None
    reasoned: bool = False  # apart from the text


class Wire(Protocol):
    """One wire format."""

    path: str  # below the base URL

    def headers(self, api_key: str) -> Mapping[str, str]: ...
    def body(self, request: ChatRequest, model: str, terms: Terms, max_tokens: int) -> dict[str, Any]: ...
    def reply(self, payload: Mapping[str, Any]) -> WireReply:
        """Raises BadReply if the payload is none of this format."""
        ...


def system_text(request: ChatRequest, terms: Terms) -> str:
    """Return the system prompt; where the endpoint is not told the schema by itself, it ends with the schema."""
    if request.schema is None or terms.form(request) == "json_schema":
        return request.system
    schema = json.dumps(request.schema, ensure_ascii=False, separators=(",", ":"))
    return f"{request.system}\n\nAnswer with one JSON value of this JSON Schema and nothing else:\n{schema}"


def counted(value: object) -> int:
    """Return a token count as the endpoint gave it, 0 for what is none, and no more than a store can sum."""
    return min(value, _MOST_TOKENS) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
