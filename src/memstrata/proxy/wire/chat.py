"""OpenAI Chat Completions: how a request is read, and where our text goes.

The system prompt is whatever system and developer messages lead the conversation; ours is one more at their end, with
the role of the one before it. So no message of the client changes its shape, which matters where a server takes only
strings. System messages further down are part of the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Literal

import msgspec

from memstrata.proxy.wire.answers import chat as answers
from memstrata.proxy.wire.answers import openai
from memstrata.proxy.wire.insertion import after, before, inside, placed_in_message
from memstrata.proxy.wire.replies.chat import ChatReader
from memstrata.proxy.wire.request import Block, Fabricated, ProxyRequest, ReplyReader, Said, Span, Unreadable, WireName
from memstrata.proxy.wire.scalars import count_at, flag_at, object_at, quoted, text_at
from memstrata.proxy.wire.spans import Document, Value, decoded
from memstrata.proxy.wire.splice import Edit
from memstrata.proxy.wire.tools import read_tools

__all__ = ["CHAT", "ChatWire"]

_SYSTEM = frozenset({"system", "developer"})
_RESULT = frozenset({"tool", "function"})
_MEDIA = frozenset({"image", "document", "input_audio"})
_KINDS: Mapping[str, str] = {"image_url": "image", "file": "document"}


class _Part(msgspec.Struct, gc=False):
    type: str
    text: str | None = None
    cache_control: dict[str, object] | None = None


class _Function(msgspec.Struct, gc=False):
    name: str = ""


class _Call(msgspec.Struct, gc=False):
    id: str | None = None
    function: _Function | None = None
    custom: _Function | None = None


class _Message(msgspec.Struct, gc=False):
    role: str = ""
    content: str | list[_Part] | None = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None
    tool_call_id: str | None = None
    name: str | None = None


_MESSAGES = msgspec.json.Decoder(list[_Message])


class ChatWire:
    """`POST /v1/chat/completions`."""

    name: WireName = "chat"

    def read(self, body: bytes) -> ProxyRequest:
        document = Document(body)
        members = document.members(document.root)
        if "messages" not in members:
            raise Unreadable("there are no messages")
        array = members["messages"]
        messages: list[_Message] = decoded(_MESSAGES, array.raw)
        pairs = zip(document.objects(array), messages, strict=True)
        said = [_said(document, span, parts, message) for (span, parts), message in pairs]
        system = list(takewhile(lambda one: one.role in _SYSTEM, said))
        tools = read_tools(members, "tools", "functions")
        return ProxyRequest(
            wire="chat",
            body=body,
            model=text_at(members, "model"),
            stream=flag_at(members, "stream"),
            max_tokens=count_at(members, "max_completion_tokens", "max_tokens"),
            system=tuple(block for one in system for block in one.blocks),
            system_span=Span(system[0].span.start, system[-1].span.end) if system else None,
            system_plain=len(system) == 1 and system[0].plain,
            messages=tuple(said[len(system) :]),
            tools=tools.names,
            tools_digest=tools.digest,
            thinking=_thinking(members),
            metadata=object_at(members, "metadata"),
            marks=sum(block.marked for one in said for block in one.blocks),
            structured=object_at(members, "response_format").get("type") in ("json_schema", "json_object"),
            previous_response_id="",
        )

    def place_system(
        self, request: ProxyRequest, text: str, *, mark_ttl: Literal["5m", "1h"] | None = None
    ) -> tuple[Edit, ...]:
        document = Document(request.body)
        array = document.members(document.root)["messages"]
        role, last = "system", None
        for span, members in document.objects(array):
            found = text_at(members, "role")
            if found not in _SYSTEM:
                break
            role, last = found, span
        ours = b'{"role":' + quoted(role) + b',"content":' + quoted(text) + b"}"
        if last is not None:
            return (after(last, ours),)
        if request.messages:
            return (before(request.messages[0].span, ours),)
        return (inside(array.span, ours),)

    def place_recalled(self, request: ProxyRequest, at: int, block: bytes) -> tuple[Edit, ...]:
        return placed_in_message(request.messages[at], block, b"text")

    def recalled_block(self, text: str) -> bytes:
        return b'{"type":"text","text":' + quoted(text) + b"}"

    def error(self, status: int, kind: str, message: str) -> bytes:
        return openai.error(status, kind, message)

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
        return answers.ask(tool, arguments, stream=stream, model=model, ident=ident, reasoning=reasoning)

    def replies(self) -> ReplyReader:
        return ChatReader()


CHAT = ChatWire()


def _said(document: Document, span: Span, members: Mapping[str, Value], message: _Message) -> Said:
    value = members.get("content")
    content = None if value is None or message.content is None else value.span
    if message.role in _RESULT:
        ident = message.tool_call_id or message.name or ""
        blocks: tuple[Block, ...] = (Block("tool_result", _flattened(message), ident, content or span),)
    else:
        blocks = _content(document, value, message) + _calls(document, members, message)
    return Said(message.role, blocks, span, content, isinstance(message.content, str))


def _content(document: Document, value: Value | None, message: _Message) -> tuple[Block, ...]:
    if value is None or message.content is None:
        return ()
    if isinstance(message.content, str):
        return (Block("text", message.content, "", value.span),)
    spans = document.elements(value, len(message.content))
    return tuple(_block(document, span, part) for span, part in zip(spans, message.content, strict=True))


def _block(document: Document, span: Span, part: _Part) -> Block:
    marked = part.cache_control is not None
    if part.type == "text":
        return Block("text", part.text or "", "", span, marked)
    kind = _KINDS.get(part.type, part.type)
    digest = document.digest(span) if kind in _MEDIA else ""
    return Block(kind, "", "", span, marked, digest)


def _calls(document: Document, members: Mapping[str, Value], message: _Message) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if message.tool_calls:
        spans = document.elements(members["tool_calls"], len(message.tool_calls))
        for place, call in zip(spans, message.tool_calls, strict=True):
            called = call.function or call.custom
            blocks.append(Block("tool_use", "", call.id or "", place, name=called.name if called else ""))
    if message.function_call is not None:
        blocks.append(Block("tool_use", "", "", members["function_call"].span, name=message.function_call.name))
    return tuple(blocks)


def _flattened(message: _Message) -> str:
    if isinstance(message.content, list):
        return "\n".join(part.text or "" for part in message.content if part.type == "text")
    return message.content or ""


def _thinking(members: Mapping[str, Value]) -> Literal["", "enabled", "disabled", "adaptive"]:
    """Return what the request says about thinking; servers have three ways to say it."""
    match object_at(members, "thinking").get("type"):
        case "enabled" | "disabled" | "adaptive" as said:
            return said
    if "enable_thinking" in members:
        return "enabled" if flag_at(members, "enable_thinking") else "disabled"
    match text_at(members, "reasoning_effort"):
        case "":
            return ""
        case "none":
            return "disabled"
        case _:
            return "enabled"
