"""Anthropic Messages: how a request is read, and where our text goes.

Ours is the last block of the system prompt. The client's own blocks stay where and as they are: the first may be the
attribution that the provider strips, and a cache mark ends a prefix that the client counts on. At most four marks
are allowed, longer lives before shorter ones; a mark of ours repeats the one right before it, so it breaks no order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Literal

import msgspec

from memstrata.proxy.wire.answers import anthropic as answers
from memstrata.proxy.wire.insertion import after, inside, instead, member_first, placed_in_message, wrapped
from memstrata.proxy.wire.replies.anthropic import AnthropicReader
from memstrata.proxy.wire.request import Block, Fabricated, ProxyRequest, ReplyReader, Said, Span, Unreadable, WireName
from memstrata.proxy.wire.scalars import count_at, flag_at, is_null, object_at, quoted, text_at
from memstrata.proxy.wire.spans import Document, Value, decoded
from memstrata.proxy.wire.splice import Edit

__all__ = ["ANTHROPIC", "AnthropicWire"]

_MARKS = 4


class _Part(msgspec.Struct, gc=False):
    """A content block. `content` is a tool's result: of the provider's own tools it may be one object."""

    type: str = ""
    text: str | None = None
    id: str | None = None
    tool_use_id: str | None = None
    name: str | None = None
    content: str | list[_Part] | dict[str, msgspec.Raw] | None = None
    source: msgspec.Raw = msgspec.Raw()
    cache_control: dict[str, object] | None = None


_Content = str | list[_Part] | None


class _Message(msgspec.Struct, gc=False):
    role: str = ""
    content: _Content = None


class _Tool(msgspec.Struct, gc=False):
    name: str = ""
    cache_control: dict[str, object] | None = None


_CONTENT: msgspec.json.Decoder[_Content] = msgspec.json.Decoder(_Content)
_MESSAGES = msgspec.json.Decoder(list[_Message])
_TOOLS = msgspec.json.Decoder(list[_Tool])


class AnthropicWire:
    """`POST /v1/messages` and `/v1/messages/count_tokens`."""

    name: WireName = "anthropic"

    def read(self, body: bytes) -> ProxyRequest:
        document = Document(body)
        members = document.members(document.root)
        if "messages" not in members:
            raise Unreadable("there are no messages")
        system = members.get("system")
        system_blocks, marks = _content(document, system, decoded(_CONTENT, system.raw) if system else None)
        messages: list[Said] = []
        array = members["messages"]
        said: list[_Message] = decoded(_MESSAGES, array.raw)
        for (span, parts), message in zip(document.objects(array), said, strict=True):
            value = parts.get("content")
            blocks, marked = _content(document, value, message.content)
            content = None if value is None or message.content is None else value.span
            messages.append(Said(message.role, blocks, span, content, isinstance(message.content, str)))
            marks += marked
        tools = _tools(members)
        return ProxyRequest(
            wire="anthropic",
            body=body,
            model=text_at(members, "model"),
            stream=flag_at(members, "stream"),
            max_tokens=count_at(members, "max_tokens"),
            system=system_blocks,
            system_span=system.span if system else None,
            system_plain=system is not None and system.first == b'"',
            messages=tuple(messages),
            tools=tuple(tool.name for tool in tools),
            tools_digest=hashlib.sha256(members["tools"].raw).hexdigest() if tools else "",
            thinking=_thinking(members),
            metadata=object_at(members, "metadata"),
            marks=marks
            + sum(tool.cache_control is not None for tool in tools)
            + bool(object_at(members, "cache_control")),
            structured=bool(object_at(members, "output_config").get("format") or object_at(members, "output_format")),
            previous_response_id="",
        )

    def place_system(
        self, request: ProxyRequest, text: str, *, mark_ttl: Literal["5m", "1h"] | None = None
    ) -> tuple[Edit, ...]:
        mark = _own_mark(request, mark_ttl)
        ours = b'{"type":"text","text":' + quoted(text) + (b',"cache_control":' + mark if mark else b"") + b"}"
        return _added_last(request, ours)

    def place_recalled(self, request: ProxyRequest, at: int, block: bytes) -> tuple[Edit, ...]:
        return placed_in_message(request.messages[at], block, b"text")

    def recalled_block(self, text: str) -> bytes:
        return b'{"type":"text","text":' + quoted(text) + b"}"

    def error(self, status: int, kind: str, message: str) -> bytes:
        return answers.error(status, kind, message)

    def cut_short(self, message: str) -> bytes:
        return answers.cut_short(message)

    def answer(self, text: str, *, stream: bool, model: str, ident: str) -> Fabricated:
        return answers.answer(text, stream=stream, model=model, ident=ident)

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
        return answers.ask(tool, arguments, stream=stream, model=model, ident=ident)

    def replies(self) -> ReplyReader:
        return AnthropicReader()


ANTHROPIC = AnthropicWire()


def _content(document: Document, value: Value | None, content: _Content) -> tuple[tuple[Block, ...], int]:
    """Return the blocks of a content, and how many cache marks are on them and inside them."""
    if value is None or content is None:
        return (), 0
    if isinstance(content, str):
        return (Block("text", content, "", value.span),), 0
    marks = 0
    blocks: list[Block] = []
    for span, part in zip(document.elements(value, len(content)), content, strict=True):
        marks += _marks(part)
        blocks.append(_block(span, part))
    return tuple(blocks), marks


def _block(span: Span, part: _Part) -> Block:
    marked = part.cache_control is not None
    match part.type:
        case "text":
            return Block("text", part.text or "", "", span, marked)
        case "tool_use":
            return Block("tool_use", "", part.id or "", span, marked, name=part.name or "")
        case "tool_result":
            return Block("tool_result", _flattened(part), part.tool_use_id or "", span, marked)
        case "image" | "document":
            return Block(part.type, "", "", span, marked, hashlib.sha256(part.source).hexdigest())
        case other:
            return Block(other, "", "", span, marked)


def _marks(part: _Part) -> int:
    inner = sum(_marks(one) for one in part.content) if isinstance(part.content, list) else 0
    return inner + (part.cache_control is not None)


def _flattened(part: _Part) -> str:
    if isinstance(part.content, list):
        return "\n".join(inner.text or "" for inner in part.content if inner.type == "text")
    return part.content if isinstance(part.content, str) else ""


def _own_mark(request: ProxyRequest, wished: Literal["5m", "1h"] | None) -> bytes:
    """Return the cache mark of our block, empty for none."""
    if request.marks >= _MARKS or not request.system:
        return b""
    last = request.system[-1]
    if last.marked:
        document = Document(request.body[last.span.start : last.span.end])
        return bytes(document.members(document.root)["cache_control"].raw)
    if wished is None or request.marks:
        return b""
    return b'{"type":"ephemeral"}' if wished == "5m" else b'{"type":"ephemeral","ttl":"1h"}'


def _added_last(request: ProxyRequest, ours: bytes) -> tuple[Edit, ...]:
    span = request.system_span
    if span is None:
        return (member_first(request.body, b"system", b"[" + ours + b"]"),)
    if not request.system:
        absent = request.body[span.start : span.start + 1] == b"n"
        return (instead(span, ours) if absent else inside(span, ours),)
    if not request.system_plain:
        return (after(request.system[-1].span, ours),)
    if not request.system[0].text:
        return (instead(span, ours),)
    return wrapped(span, b'[{"type":"text","text":', b"}," + ours + b"]")


def _tools(members: Mapping[str, Value]) -> list[_Tool]:
    value = members.get("tools")
    return [] if value is None or is_null(value) else decoded(_TOOLS, value.raw)


def _thinking(members: Mapping[str, Value]) -> Literal["", "enabled", "disabled", "adaptive"]:
    match object_at(members, "thinking").get("type"):
        case "enabled" | "disabled" | "adaptive" as said:
            return said
    return ""
