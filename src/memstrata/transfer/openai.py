"""Message lists as the OpenAI APIs take and return them, whole or as JSON lines.

Accepted, nested in any way that makes sense: a message `{role, content}`, a list of messages, a conversation
`{"messages": [...]}`, a list of those, and any of these one per line. A message may carry `id`, a time and a
`session_id`; a conversation a `session_id` and a `title`. Messages outside any conversation and without session id form
one session. `content` is a string or a list of parts, of which the text parts are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memstrata.records import Role
from memstrata.transfer.builder import ImportBuilder, SessionBuilder
from memstrata.transfer.conversation import ImportFile, SkipReason
from memstrata.transfer.node import Node
from memstrata.transfer.roles import LeftOut, read_role
from memstrata.transfer.times import read_time

__all__ = ["read"]

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant"}
_SESSION_KEYS = ("session_id", "conversation_id")
_TIME_KEYS = ("timestamp", "created_at", "created", "time")
_TEXT_PARTS = ("text", "input_text", "output_text")
_PARTS_LEFT_OUT: Mapping[str, SkipReason] = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "image_file": "image",
    "audio": "audio",
    "input_audio": "audio",
    "tool_use": "tool call",
    "tool_call": "tool call",
    "tool_result": "tool message",
    "thinking": "reasoning",
    "reasoning": "reasoning",
}


def read(values: Iterable[Node]) -> ImportFile:
    """Read the top-level values of a file. Raises InvalidRequest naming the place of what is not a message."""
    builder = ImportBuilder("openai")
    loose = builder.session(None)
    for value in values:
        _read_value(value, builder, loose)
    return builder.build()


def _read_value(value: Node, builder: ImportBuilder, loose: SessionBuilder) -> None:
    """Read a message, a conversation, or a list of either; the latter is a conversation of its own on a line."""
    if not value.is_list():
        _read_entry(value, builder, loose)
        return
    own = builder.session(None) if value.place.line else loose
    for entry in value.items():
        if entry.is_list():
            inner = builder.session(None)
            for message in entry.items():
                _read_message(message, builder, inner)
        else:
            _read_entry(entry, builder, own)


def _read_entry(entry: Node, builder: ImportBuilder, loose: SessionBuilder) -> None:
    if not entry.has("messages"):
        _read_message(entry, builder, loose)
        return
    session = builder.session(entry.name(*_SESSION_KEYS, "id"), entry.name("title") or "")
    for message in entry.need("messages").items():
        _read_message(message, builder, session)


def _read_message(message: Node, builder: ImportBuilder, loose: SessionBuilder) -> None:
    role = read_role(message.need("role"), _ROLES)
    if isinstance(role, LeftOut):
        builder.skip(role.reason)
        return
    content = _content(message, builder)
    if content is not None:
        session_id = message.name(*_SESSION_KEYS)
        session = builder.session(session_id) if session_id else loose
        session.add(role, content, read_time(message.get(*_TIME_KEYS)), message.name("id"))


def _content(message: Node, builder: ImportBuilder) -> str | None:
    """Return the text of a message; None if it holds only what is left out, which has then been counted."""
    content = message.get("content")
    if content is None:
        if message.get("tool_calls", "function_call") is not None:
            builder.skip("tool call")
            return None
        if not message.has("content"):
            raise message.place.error('no "content"')
        return ""
    if content.is_text():
        return content.text()
    texts = []
    left_out: list[SkipReason] = []
    for part in content.items():
        text = _part_text(part)
        if text is None:
            kind = part.need("type").text()
            left_out.append(_PARTS_LEFT_OUT.get(kind, "attachment"))
        else:
            texts.append(text)
    for reason in left_out:
        builder.skip(reason)
    return None if left_out and not texts else "\n".join(texts)


def _part_text(part: Node) -> str | None:
    if part.is_text():
        return part.text()
    text = part.get("text")
    if text is None:
        return part.need("text").text() if part.need("type").value in _TEXT_PARTS else None
    # The Assistants API wraps the string once more: {"text": {"value": …}}.
    return text.need("value").text() if text.is_object() else text.text()
