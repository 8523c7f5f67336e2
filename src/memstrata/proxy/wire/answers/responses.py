"""Answers of our own in OpenAI Responses. Every event carries its `type` and a running number, as clients expect."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from memstrata.proxy.wire.request import Fabricated
from memstrata.proxy.wire.sse import event_bytes

__all__ = ["answer", "ask", "cut_short"]

Json = dict[str, object]


def cut_short(message: str) -> bytes:
    """Return the event that ends a stream whose upstream died."""
    event = {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 0}
    return event_bytes(event, "error")


def answer(text: str, *, stream: bool, model: str, ident: str) -> Fabricated:
    """Return an assistant's text."""
    part: Json = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    empty: Json = part | {"text": ""}
    item: Json = {
        "id": f"msg_{ident}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    place: Json = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    between: tuple[Json, ...] = (
        {"type": "response.content_part.added", **place, "part": empty},
        {"type": "response.output_text.delta", **place, "delta": text, "logprobs": []},
        {"type": "response.output_text.done", **place, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part},
    )
    return _response(ident, model, item, item | {"status": "in_progress", "content": []}, between, stream=stream)


def ask(tool: str, arguments: Mapping[str, object], *, stream: bool, model: str, ident: str) -> Fabricated:
    """Return one call of a client's tool."""
    written = msgspec.json.encode(arguments).decode()
    item: Json = {
        "id": f"fc_{ident}",
        "type": "function_call",
        "status": "completed",
        "call_id": ident,
        "name": tool,
        "arguments": written,
    }
    place: Json = {"item_id": item["id"], "output_index": 0}
    between: tuple[Json, ...] = (
        {"type": "response.function_call_arguments.delta", **place, "delta": written},
        {"type": "response.function_call_arguments.done", **place, "name": tool, "arguments": written},
    )
    return _response(ident, model, item, item | {"status": "in_progress", "arguments": ""}, between, stream=stream)


def _response(
    ident: str, model: str, item: Json, started: Json, between: tuple[Json, ...], *, stream: bool
) -> Fabricated:
    usage: Json = {
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 0,
    }
    response: Json = {
        "id": f"resp_{ident}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [item],
        "parallel_tool_calls": False,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": usage,
    }
    if not stream:
        return Fabricated("application/json", msgspec.json.encode(response))
    pending: Json = response | {"status": "in_progress", "output": [], "usage": None}
    events: tuple[Json, ...] = (
        {"type": "response.created", "response": pending},
        {"type": "response.in_progress", "response": pending},
        {"type": "response.output_item.added", "output_index": 0, "item": started},
        *between,
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    )
    numbered = (event | {"sequence_number": at} for at, event in enumerate(events))
    return Fabricated("text/event-stream", b"".join(event_bytes(event, str(event["type"])) for event in numbered))
