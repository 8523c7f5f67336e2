"""What a chat model is to this house: one request, one reply, whichever wire format and endpoint carry it.

A request holds the long static part first (`system`, then tools and messages in order), and every wire keeps that
order, because providers cache the longest prefix that is byte-identical to an earlier prompt (about a tenth of the
price). So: what never changes belongs into `system`, what changes belongs into the last message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from memstrata.records import MODEL_ROLES, ModelRole, Usage

__all__ = [
    "MODEL_ROLES",
    "Chat",
    "ChatMessage",
    "ChatReply",
    "ChatRequest",
    "FinishReason",
    "ModelRole",
    "ToolCall",
    "ToolSpec",
    "Usage",
]

FinishReason = Literal["stop", "tool_calls"]
"""How a usable reply ended. A reply that was cut short or withheld is no reply but an error."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants to be run. `arguments` is JSON text as the model wrote it: not yet checked."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One turn after the system prompt. A `tool` message answers the call `tool_call_id`.

    `carry` is what the endpoint wants back unread with an assistant's tool calls (signed thinking, reasoning text).
    """

    role: Literal["user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    carry: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call. `schema` is the JSON schema that the reply must have; it is a hint to the endpoint, never trusted.

    It names no scope: whose tokens are spent is known to `spend.Metered`, and a provider has no use for it.
    """

    role: ModelRole
    system: str
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 4_096  # of the completion; doubled once when the reply does not fit
    temperature: float | None = None  # None leaves it to the endpoint
    timeout_seconds: float = 180.0  # for each HTTP exchange


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What came back, complete. `usage` counts every exchange that it took, also those that were repeated.

    `reasoned`: the endpoint sent or billed reasoning apart from the text, whether or not it was asked to leave it out.
    """

    text: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage
    finish_reason: FinishReason
    model: str  # as the endpoint names it
    elapsed_ms: float
    carry: Mapping[str, Any] | None = None
    reasoned: bool = False

    def as_message(self) -> ChatMessage:
        """Return the reply as the turn that precedes the results of its tool calls."""
        return ChatMessage("assistant", self.text, self.tool_calls, carry=self.carry)


class Chat(Protocol):
    """Anything that answers. Raises `errors.CallFailed`, named by what happened to the call."""

    async def complete(self, request: ChatRequest) -> ChatReply: ...
