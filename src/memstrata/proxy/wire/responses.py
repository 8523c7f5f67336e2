"""OpenAI Responses: how a request is read, and where our text goes.

Ours is the last part of the developer (or system) message that is the first item, or without such a message an item of
its own in front. Only the first item is looked at: later developer messages come and go as the client's settings change,
and a text that moved with them would cut the cached prefix at the place it left. `instructions` stays untouched, since
servers treat it apart from the conversation and some clients have theirs checked. A request that goes on from an answer
kept by the server carries only what is new; our text is in the kept part, so there it is not added again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from memstrata.proxy.wire.answers import openai
from memstrata.proxy.wire.answers import responses as answers
from memstrata.proxy.wire.insertion import after, before, inside, instead, member_first, placed_in_message, wrapped
from memstrata.proxy.wire.replies.responses import CLIENT_CALLS, ResponsesReader
from memstrata.proxy.wire.request import Block, Fabricated, ProxyRequest, ReplyReader, Said, Span, WireName
from memstrata.proxy.wire.scalars import count_at, flag_at, is_null, is_text, object_at, quoted, text_at, text_of
from memstrata.proxy.wire.spans import Document, Value, decoded
from memstrata.proxy.wire.splice import Edit
from memstrata.proxy.wire.tools import read_tools

__all__ = ["RESPONSES", "ResponsesWire"]

_SYSTEM = frozenset({"system", "developer"})
_KINDS: Mapping[str, str] = {
    "input_text": "text",
    "output_text": "text",
    "input_image": "image",
    "input_file": "document",
}
_MEDIA = frozenset({"image", "document", "input_audio"})
_RESULTS = "_output"
_USER_OPENING = b'{"type":"message","role":"user","content":'


class _Part(msgspec.Struct, gc=False):
    type: str
    text: str | None = None


_Content = str | list[_Part] | None


class _Item(msgspec.Struct, gc=False):
    """An item of `input`. `output` is kept raw: of some kinds it is an object."""

    type: str = "message"
    role: str = ""
    content: _Content = None
    call_id: str | None = None
    name: str | None = None
    output: msgspec.Raw = msgspec.Raw()


_CONTENT: msgspec.json.Decoder[_Content] = msgspec.json.Decoder(_Content)
_PARTS = msgspec.json.Decoder(list[_Part])
_ITEMS = msgspec.json.Decoder(list[_Item])


class ResponsesWire:
    """`POST /v1/responses` and `/v1/responses/compact`."""

    name: WireName = "responses"

    def read(self, body: bytes) -> ProxyRequest:
        document = Document(body)
        members = document.members(document.root)
        instructions = members.get("instructions")
        system = _blocks(document, instructions, decoded(_CONTENT, instructions.raw) if instructions else None)
        tools = read_tools(members, "tools")
        return ProxyRequest(
            wire="responses",
            body=body,
            model=text_at(members, "model"),
            stream=flag_at(members, "stream"),
            max_tokens=count_at(members, "max_output_tokens"),
            system=system,
            system_span=instructions.span if instructions and system else None,
            system_plain=bool(instructions and instructions.first == b'"'),
            messages=_messages(document, members.get("input")),
            tools=tools.names,
            tools_digest=tools.digest,
            thinking=_thinking(members),
            metadata={**object_at(members, "metadata"), **object_at(members, "client_metadata")},
            marks=0,
            structured=_structured(members),
            previous_response_id=_goes_on_from(members),
        )

    def place_system(
        self, request: ProxyRequest, text: str, *, mark_ttl: Literal["5m", "1h"] | None = None
    ) -> tuple[Edit, ...]:
        if request.previous_response_id:
            return ()
        part = self.recalled_block(text)
        ours = b'{"type":"message","role":"developer","content":[' + part + b"]}"
        if _is_one_string(request):
            return _in_front_of_string(request.messages[0].span, ours)
        if not request.messages:
            return (_in_empty_input(request.body, ours),)
        first = request.messages[0]
        if first.role not in _SYSTEM or first.content is None:
            return (before(first.span, ours),)
        if first.plain:
            if not first.blocks[0].text:
                return (instead(first.content, part),)
            return wrapped(first.content, b'[{"type":"input_text","text":', b"}," + part + b"]")
        return (after(first.blocks[-1].span, part) if first.blocks else inside(first.content, part),)

    def place_recalled(self, request: ProxyRequest, at: int, block: bytes) -> tuple[Edit, ...]:
        if _is_one_string(request):
            return _in_front_of_string(request.messages[at].span, _USER_OPENING + b"[" + block + b"]}")
        return placed_in_message(request.messages[at], block, b"input_text")

    def recalled_block(self, text: str) -> bytes:
        return b'{"type":"input_text","text":' + quoted(text) + b"}"

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
        return answers.ask(tool, arguments, stream=stream, model=model, ident=ident)

    def replies(self) -> ReplyReader:
        return ResponsesReader()


RESPONSES = ResponsesWire()


def _is_one_string(request: ProxyRequest) -> bool:
    return len(request.messages) == 1 and request.messages[0].span == request.messages[0].content


def _in_front_of_string(string: Span, item: bytes) -> tuple[Edit, ...]:
    """Return the edits that make an array of an `input` that is one string, with an item in front of it.

    System text and recalled text may both come here. The bytes around the string are the same for both, and an edit made
    twice counts once; so the edits go together in any order.
    """
    return (
        Edit(string.start, string.start, b"["),
        Edit(string.start, string.start, item + b","),
        Edit(string.start, string.start + 1, _USER_OPENING + b'"'),
        Edit(string.end, string.end, b"}]"),
    )


def _in_empty_input(body: bytes, item: bytes) -> Edit:
    document = Document(body)
    value = document.members(document.root).get("input")
    if value is None:
        return member_first(body, b"input", b"[" + item + b"]")
    return instead(value.span, item) if is_null(value) else inside(value.span, item)


def _messages(document: Document, value: Value | None) -> tuple[Said, ...]:
    if value is None or is_null(value):
        return ()
    if value.first == b'"':
        return (Said("user", (Block("text", text_of(value.raw), "", value.span),), value.span, value.span, plain=True),)
    items: list[_Item] = decoded(_ITEMS, value.raw)
    pairs = zip(document.objects(value), items, strict=True)
    return tuple(_said(document, span, members, item) for (span, members), item in pairs)


def _said(document: Document, span: Span, members: Mapping[str, Value], item: _Item) -> Said:
    if item.type == "message":
        value = members.get("content")
        content = None if value is None or item.content is None else value.span
        blocks = _blocks(document, value, item.content)
        return Said(item.role, blocks, span, content, isinstance(item.content, str))
    ident = item.call_id or ""
    if item.type.endswith(_RESULTS):
        return Said("tool", (Block("tool_result", _flattened(item.output), ident, span),), span, None, plain=False)
    if item.type in CLIENT_CALLS:
        block = Block("tool_use", "", ident, span, name=item.name or item.type)
    else:
        block = Block("thinking" if item.type == "reasoning" else item.type, "", ident, span)
    return Said("assistant", (block,), span, None, plain=False)


def _blocks(document: Document, value: Value | None, content: _Content) -> tuple[Block, ...]:
    """Return the parts of a content, or of instructions that are a list."""
    if value is None or content is None:
        return ()
    if isinstance(content, str):
        return (Block("text", content, "", value.span),)
    spans = document.elements(value, len(content))
    return tuple(_block(document, span, part) for span, part in zip(spans, content, strict=True))


def _block(document: Document, span: Span, part: _Part) -> Block:
    kind = _KINDS.get(part.type, part.type)
    if kind == "text":
        return Block("text", part.text or "", "", span)
    digest = document.digest(span) if kind in _MEDIA else ""
    return Block(kind, "", "", span, digest=digest)


def _flattened(output: msgspec.Raw) -> str:
    """Return the texts of a tool's output; an output that is an object, as a screenshot is, has none."""
    if is_text(output):
        return text_of(output)
    parts = decoded(_PARTS, output) if bytes(memoryview(output)[:1]) == b"[" else []
    return "\n".join(part.text or "" for part in parts if _KINDS.get(part.type) == "text")


def _thinking(members: Mapping[str, Value]) -> Literal["", "enabled", "disabled"]:
    effort = object_at(members, "reasoning").get("effort")
    if not effort:
        return ""
    return "disabled" if effort == "none" else "enabled"


def _structured(members: Mapping[str, Value]) -> bool:
    form = object_at(members, "text").get("format")
    return isinstance(form, dict) and form.get("type") in ("json_schema", "json_object")


def _goes_on_from(members: Mapping[str, Value]) -> str:
    """Return the answer or the conversation, kept by the server, that a request goes on from."""
    if previous := text_at(members, "previous_response_id"):
        return previous
    kept = members.get("conversation")
    if kept is None or is_null(kept):
        return ""
    if is_text(kept.raw):
        return text_of(kept.raw)
    ident = object_at(members, "conversation").get("id")
    return ident if isinstance(ident, str) else ""
