"""What the memory tools ask the server and what a model gets to read of it. No I/O.

A model's arguments are not trusted: unknown ones are ignored, the rest are checked and bounded. Nor are the texts that
come back: tags that could pose as somebody else are escaped, and an answer is cut at a character's end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from memstrata.client._calls import Call, Calls
from memstrata.client._errors import InvalidRequest, MemstrataClientError, NotFound
from memstrata.client._results import Found, Hit, Memory, Message, SceneText
from memstrata.client._splitting import shortened
from memstrata.client._tool_words import ToolWords
from memstrata.client.turn.markers import escape

__all__ = ["ToolSpec", "Unusable", "ask", "error_text", "specs"]

T = TypeVar("T")

MAX_QUERY = 2_000
MAX_PATH = 512
MAX_HITS = 20
DEFAULT_HITS = 5
NEIGHBOURS = 1
MAX_REFUSAL = 200
MAX_ARGUMENTS = 100_000  # characters of JSON; no call needs as many
_ALIASES = {
    "tdai_memory_search": "memory_search",
    "tdai_conversation_search": "conversation_search",
    "tdai_read_file": "read_scene",
}


class Unusable(Exception):
    """A call that cannot be made as it stands; the text says to the model why."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool as a model sees it. `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


def specs(words: ToolWords, calls_per_turn: int) -> tuple[ToolSpec, ...]:
    """Return the three tools."""
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_HITS, "description": words.limit}
    by_query = {"query": _text(words.query), "limit": limit}
    by_words = {"query": _text(words.message_query), "limit": limit}
    return (
        ToolSpec("memory_search", words.memory_search.format(calls_per_turn), _schema(by_query, "query")),
        ToolSpec("conversation_search", words.conversation_search.format(calls_per_turn), _schema(by_words, "query")),
        ToolSpec("read_scene", words.read_scene.format(calls_per_turn), _schema({"path": _text(words.path)}, "path")),
    )


def ask(name: str, arguments: object, scope: Calls, words: ToolWords, most_characters: int) -> Call[str]:
    """Return the call behind a tool call, whose answer is the text for the model. Raises Unusable."""
    given = _object(arguments, words)
    anywhere = scope.narrowed(None, None, None, None, ...)  # the present session is before the model already
    match _ALIASES.get(name, name):
        case "memory_search":
            query, limit = _query(given, words), _limit(given)
            call = anywhere.search(query, None, None, None, limit)
            return _reading(call, lambda found: _listed(found, _memory, words, most_characters))
        case "conversation_search":
            query, limit = _query(given, words), _limit(given)
            said = anywhere.search_messages(query, None, None, None, limit, NEIGHBOURS)
            return _reading(said, lambda found: _listed(found, _message, words, most_characters))
        case "read_scene":
            path = given.get("path")
            if not isinstance(path, str) or not path.strip():
                raise Unusable(words.no_path)
            return _reading(
                scope.read_scene(path.strip()[:MAX_PATH]), lambda scene: _scene(scene, words, most_characters)
            )
        case _:
            raise Unusable(words.no_such_tool)


def error_text(error: MemstrataClientError, words: ToolWords) -> str:
    """Return what a model is told of an error: what it can change, else that memory is out of reach."""
    if isinstance(error, NotFound):
        return words.nothing
    if isinstance(error, InvalidRequest):
        return words.refused.format(escape(shortened(error.message, MAX_REFUSAL, "…")))
    return words.unavailable


def _reading(call: Call[T], render: Callable[[T], str]) -> Call[str]:
    read = call.read
    return replace(call, read=lambda data: render(read(data)))  # type: ignore[return-value, arg-type]


def _object(arguments: object, words: ToolWords) -> Mapping[str, Any]:
    if isinstance(arguments, str) and len(arguments) <= MAX_ARGUMENTS:
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise Unusable(words.unreadable) from None
    if not isinstance(arguments, Mapping):
        raise Unusable(words.unreadable)
    return arguments


def _query(given: Mapping[str, Any], words: ToolWords) -> str:
    query = given.get("query")
    if not isinstance(query, str) or not query.strip():
        raise Unusable(words.no_query)
    return shortened(query.strip(), MAX_QUERY)


def _limit(given: Mapping[str, Any]) -> int:
    limit = given.get("limit")
    if not isinstance(limit, int) or isinstance(limit, bool):
        return DEFAULT_HITS
    return min(max(limit, 1), MAX_HITS)


def _listed(found: Found[T], line: Callable[[Hit[T]], str], words: ToolWords, most: int) -> str:
    if not found.hits:
        return words.nothing
    return shortened("\n".join([words.intro, *(line(hit) for hit in found.hits)]), most, words.cut)


def _memory(hit: Hit[Memory]) -> str:
    memory = hit.item
    label = f"{memory.type}|{memory.scene_name}" if memory.scene_name else memory.type
    times = [_day(time) for time in (memory.activity_start, memory.activity_end) if time]
    when = f" ({' – '.join(dict.fromkeys(times))})" if times else ""
    return f"- [{_one_line(label)}] {_one_line(memory.content)}{when}"


def _message(hit: Hit[Message]) -> str:
    around = hit.neighbours
    before, after = (around.before, around.after) if around else ((), ())
    lines = [f"- {_day(hit.item.said_at)} [{_one_line(hit.item.session_id)}]"]
    lines += [f"  {one.role}: {_one_line(one.content)}" for one in (*before, hit.item, *after)]
    return "\n".join(lines)


def _scene(scene: SceneText | None, words: ToolWords, most: int) -> str:
    if scene is None:
        return words.no_such_scene
    return shortened(f"{words.intro}\n{escape(scene.content)}", most, words.cut)


def _day(time: datetime | None) -> str:
    return "" if time is None else f"{time:%Y-%m-%d}"


def _one_line(text: str) -> str:
    return escape(" ".join(text.split()))


def _text(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}


def _schema(properties: Mapping[str, Any], required: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": [required], "additionalProperties": False}
