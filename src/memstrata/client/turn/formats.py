"""Views of the message lists of the common frameworks, by shape alone: none of them is imported.

Most lists carry no ids, or only on what a model wrote; there each message without one gets one from its text and place
(`fingerprints`). LangChain gives every message of an agent's state an id, so one that is missing there stays missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TypeAlias

from memstrata.client.turn.fingerprints import with_fingerprints
from memstrata.client.turn.messages import Role, Seen, aware_time, field_of, read_content

__all__ = [
    "Views",
    "view_anthropic",
    "view_langchain",
    "view_openai_chat",
    "view_openai_responses",
    "view_plain",
]

Views: TypeAlias = Callable[[Iterable[object]], tuple[Seen, ...]]
"""Reads a framework's list. It raises nothing for messages it does not know."""

_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_SUMMARY_SOURCES = frozenset({"summarization", "summary", "compaction"})


def view_openai_chat(messages: Iterable[object]) -> tuple[Seen, ...]:
    """View messages of Chat Completions, as mappings or as objects of its SDK."""
    return with_fingerprints(_spoken(message) for message in messages)


def view_anthropic(messages: Iterable[object]) -> tuple[Seen, ...]:
    """View messages of the Anthropic API. A user message that only answers tool calls is a tool's, not a user's."""
    return with_fingerprints(_spoken(message) for message in messages)


def view_plain(messages: Iterable[object]) -> tuple[Seen, ...]:
    """View `(role, content)` pairs, or mappings with `role`, `content` and optionally `id`, `timestamp`, `synthetic`."""
    return with_fingerprints(
        _spoken({"role": message[0], "content": message[1]})
        if isinstance(message, tuple) and len(message) == 2
        else _spoken(message)
        for message in messages
    )


def view_langchain(messages: Iterable[object]) -> tuple[Seen, ...]:
    """View LangChain messages. A summary that takes the place of history is synthetic, though its role is user."""
    return tuple(_langchain(message) for message in messages)


def view_openai_responses(items: Iterable[object]) -> tuple[Seen, ...]:
    """View items of the Responses API. A reply that a call follows in the same answer counts as calling tools."""
    listed = tuple(items)
    return with_fingerprints(_item(item, islice(listed, place + 1, None)) for place, item in enumerate(listed))


def _spoken(message: object) -> Seen:
    content = read_content(field_of(message, "content"))
    role = _role(field_of(message, "role"))
    calls = content.calls_tools or bool(field_of(message, "tool_calls")) or bool(field_of(message, "function_call"))
    return Seen(
        id=_id(message),
        role="tool" if role == "user" and content.only_results else role,
        text=content.text or _text(field_of(message, "refusal")),
        calls_tools=calls and role == "assistant",
        is_synthetic=field_of(message, "synthetic") is True,
        said_at=aware_time(field_of(message, "timestamp")),
    )


def _langchain(message: object) -> Seen:
    content = read_content(field_of(message, "content"))
    kind = _text(field_of(message, "type"))
    role = _role(field_of(message, "role") if kind == "chat" else kind.removesuffix("MessageChunk").lower())
    extra = field_of(message, "additional_kwargs")
    source = field_of(extra, "lc_source")
    # Only of an assistant: asking a message for a field it has not costs ten times as much as reading one.
    calls = role == "assistant" and (
        content.calls_tools
        or bool(field_of(message, "tool_calls"))
        or bool(field_of(message, "invalid_tool_calls"))
        or bool(field_of(extra, "tool_calls"))
        or bool(field_of(extra, "function_call"))
    )
    return Seen(
        id=_id(message),
        role="tool" if role == "user" and content.only_results else role,
        text=content.text,
        calls_tools=calls,
        is_synthetic=isinstance(source, str) and source in _SUMMARY_SOURCES,
    )


def _item(item: object, following: Iterable[object]) -> Seen:
    kind = _text(field_of(item, "type")) or "message"
    if kind == "message":
        role = _role(field_of(item, "role"))
        content = read_content(field_of(item, "content"))
        return Seen(_id(item), role, content.text, calls_tools=role == "assistant" and _call_follows(following))
    if kind.endswith("_call"):
        return Seen(_id(item), "assistant", calls_tools=True)
    if kind.endswith("_call_output"):
        return Seen(_id(item), "tool")
    return Seen(_id(item), "other", is_synthetic="compaction" in kind)


def _call_follows(following: Iterable[object]) -> bool:
    for item in following:
        kind = _text(field_of(item, "type"))
        if kind != "reasoning":
            return kind.endswith("_call")
    return False


def _role(value: object) -> Role:
    return _ROLES.get(value, "other") if isinstance(value, str) else "other"


def _id(message: object) -> str | None:
    return _text(field_of(message, "id")) or None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
