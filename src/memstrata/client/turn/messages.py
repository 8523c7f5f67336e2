"""What turn capture needs to know about a message, whatever framework it came from.

A view is read once, at the edge; everything behind it is pure. What a view does not recognise has the role `other` and
no text, because a message list may hold anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from memstrata.client._times import wire_time

__all__ = ["ContentRead", "MessageView", "Role", "Seen", "aware_time", "field_of", "read_content"]

Role = Literal["user", "assistant", "tool", "system", "other"]

_PLACEHOLDERS: Mapping[str, str] = {
    "image": "[image]",
    "image_url": "[image]",
    "input_image": "[image]",
    "audio": "[audio]",
    "input_audio": "[audio]",
    "video": "[video]",
    "document": "[file]",
    "file": "[file]",
    "input_file": "[file]",
}
_TEXT_BLOCKS = frozenset({"text", "input_text", "output_text"})
_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "server_tool_call", "function_call"})
_RESULT_BLOCKS = frozenset({"tool_result", "web_search_tool_result", "function_call_output"})


class MessageView(Protocol):
    """One message of a list. `said_at` is ISO 8601 in UTC with a Z, None where the message does not say."""

    @property
    def id(self) -> str | None: ...
    @property
    def role(self) -> Role: ...
    @property
    def text(self) -> str: ...
    @property
    def calls_tools(self) -> bool: ...
    @property
    def is_synthetic(self) -> bool: ...
    @property
    def said_at(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Seen:
    """A `MessageView` as a value. `is_synthetic`: a runtime wrote it in a speaker's name, such as a summary."""

    id: str | None
    role: Role
    text: str = ""
    calls_tools: bool = False
    is_synthetic: bool = False
    said_at: str | None = None


@dataclass(frozen=True, slots=True)
class ContentRead:
    """The text of a content, media as placeholders, and whether it calls tools or only answers such calls."""

    text: str
    calls_tools: bool = False
    only_results: bool = False


def field_of(message: object, name: str) -> Any:
    """Return a field of a mapping or an attribute of an object, None where there is none."""
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def read_content(content: object) -> ContentRead:
    """Read a string, or a list of strings and typed blocks. Thinking and unknown blocks have no text."""
    if isinstance(content, str):
        return ContentRead(content)
    if not isinstance(content, Sequence) or isinstance(content, bytes | bytearray):
        return ContentRead("")
    texts: list[str] = []
    calls = results = False
    for block in content:
        if isinstance(block, str):
            texts.append(block)
            continue
        kind = field_of(block, "type")
        if not isinstance(kind, str):
            continue
        if kind in _TEXT_BLOCKS:
            text = field_of(block, "text")
            texts.append(text if isinstance(text, str) else "")
        elif kind in _PLACEHOLDERS:
            texts.append(_PLACEHOLDERS[kind])
        calls = calls or kind in _CALL_BLOCKS
        results = results or kind in _RESULT_BLOCKS
    joined = "\n".join(text for text in texts if text)
    return ContentRead(joined, calls, only_results=results and not joined)


def aware_time(value: object) -> str | None:
    """Return a time as the server reads it, None for what is not an instant."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    return wire_time(value) if isinstance(value, datetime) and value.tzinfo is not None else None
