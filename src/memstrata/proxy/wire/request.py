"""A client's request as the proxy sees it, whatever its protocol: values with the byte positions they came from.

Three protocols are read (`WireName`): Anthropic Messages, OpenAI Chat Completions, OpenAI Responses. Nothing here is
written back; a change to a body is an `Edit`. Offsets count bytes from the start of the body. What a request has
hundreds of is a struct, not a dataclass: those are made four times as quickly. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from memstrata.proxy.wire.splice import Edit

__all__ = [
    "Block",
    "Fabricated",
    "ProxyRequest",
    "Reply",
    "ReplyReader",
    "Said",
    "Span",
    "ToolCall",
    "Unreadable",
    "Usage",
    "Wire",
    "WireName",
]

WireName = Literal["anthropic", "chat", "responses"]


class Unreadable(ValueError):
    """The body is not a request of its protocol as we know it: the caller forwards the bytes untouched.

    Not JSON, not an object, a key twice, a member of another shape. The message names the place, never the contents.
    """


class Span(msgspec.Struct, frozen=True):
    """Bytes `start` up to `end` of a body: one JSON value without the whitespace around it."""

    start: int
    end: int


class Block(msgspec.Struct, frozen=True):
    """One part of a message.

    `kind` is the protocol's word, with one word for one thing: text (also input_text, output_text), image (also
    image_url, input_image), document (also file, input_file), tool_use (also tool_calls, function_call), tool_result
    (also role tool, function_call_output), thinking (also reasoning), redacted_thinking; other names as sent.
    `text` is what a text says, or a tool_result flattened to its texts; `id` the tool call's; `name` the tool's;
    `digest` the SHA-256 of a medium's bytes as sent; `marked` a cache mark on it. A content that was one JSON string
    is one text block whose span is the string's.
    """

    kind: str
    text: str
    id: str
    span: Span
    marked: bool = False
    digest: str = ""
    name: str = ""


class Said(msgspec.Struct, frozen=True):
    """One message. `content` is where its content stands, None without one; `plain`: it was one JSON string.

    In Responses a function_call or reasoning item is said by "assistant", a function_call_output by "tool", each with
    one block whose span is the item's.
    """

    role: str
    blocks: tuple[Block, ...]
    span: Span
    content: Span | None
    plain: bool


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """One request body, read.

    `system` holds the text of the system prompt (Chat: the leading system and developer messages; Responses:
    `instructions`); `system_span` is its place, None without one; `messages` everything else in order. `tools` are
    names; `tools_digest` is over the tools as sent. `max_tokens` is whatever the protocol calls the limit of the
    answer. `metadata` is the client's own (metadata, client_metadata). `marks` counts the cache marks of the whole
    body. `structured`: an answer in a schema is asked for.
    """

    wire: WireName
    body: bytes = field(repr=False)
    model: str
    stream: bool
    max_tokens: int | None
    system: tuple[Block, ...]
    system_span: Span | None
    system_plain: bool
    messages: tuple[Said, ...]
    tools: tuple[str, ...]
    tools_digest: str
    thinking: Literal["", "enabled", "disabled", "adaptive"]
    metadata: Mapping[str, object]
    marks: int
    structured: bool
    previous_response_id: str


@dataclass(frozen=True, slots=True)
class Fabricated:
    """An answer that the proxy gives itself, with status 200."""

    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens. `input` counts neither `cache_read` nor `cache_write`, whatever the protocol's own sum is."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the client has to run. `arguments` is JSON as sent, incomplete in a partial answer."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What an answer said, so far.

    `text`: its text blocks joined by a blank line, thinking left out. `stop`: the protocol's own word, "" before there
    is one. `tool_calls`: those the client runs; the provider's own tools are not among them. `complete`: the protocol's
    end was seen. `thinking`: there was some.
    """

    text: str
    stop: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage
    complete: bool
    message_id: str
    thinking: bool


class ReplyReader(Protocol):
    """Reads one answer beside its way to the client. Never raises: what it cannot read it counts in `faults`."""

    faults: int

    def feed(self, data: bytes) -> None:
        """Take the next bytes of an event stream, decompressed, cut anywhere."""
        ...

    def whole(self, body: bytes) -> None:
        """Take a JSON answer."""
        ...

    def reply(self) -> Reply:
        """Return what was said up to here."""
        ...


class Wire(Protocol):
    """One protocol. Stateless; the instances are ANTHROPIC, CHAT and RESPONSES, by name in `wires.WIRES`."""

    @property
    def name(self) -> WireName: ...

    def read(self, body: bytes) -> ProxyRequest:
        """Return the request in `body`. Raises Unreadable."""
        ...

    def place_system(
        self, request: ProxyRequest, text: str, *, mark_ttl: Literal["5m", "1h"] | None = None
    ) -> tuple[Edit, ...]:
        """Return the edits that add `text` as a block of its own at the end of the system prompt.

        `mark_ttl` wishes for a cache mark where the client set none on its system; a wish that would break the
        provider's rules is not granted. Only Anthropic has marks.
        """
        ...

    def place_recalled(self, request: ProxyRequest, at: int, block: bytes) -> tuple[Edit, ...]:
        """Return the edits that put `block` into `messages[at]`, before its first text, after its tool results.

        `block` is JSON from `recalled_block`, placed as it is. A content that was a string becomes two blocks.
        Raises Unreadable where that message is not the user's or has no content to put it in.
        """
        ...

    def recalled_block(self, text: str) -> bytes:
        """Return the JSON of a text block: the bytes that the ledger keeps."""
        ...

    def error(self, status: int, kind: str, message: str) -> bytes:
        """Return an error body in the protocol's shape. `kind` is the protocol's word, "" for the status's usual one."""
        ...

    def cut_short(self, message: str) -> bytes:
        """Return the event that ends a stream whose upstream died."""
        ...

    def answer(self, text: str, *, stream: bool, model: str, ident: str) -> Fabricated:
        """Return an answer that says `text`, with zero usage. `ident` becomes its id, after the protocol's prefix."""
        ...

    def ask(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        stream: bool,
        model: str,
        ident: str,
        reasoning: str = "",
    ) -> Fabricated:
        """Return an answer that calls `tool` once. `ident` is the call's id, as it is.

        `reasoning` is for clients that demand one beside a call (Chat: `reasoning_content`); others ignore it.
        """
        ...

    def replies(self) -> ReplyReader:
        """Return a fresh reader for one answer."""
        ...
