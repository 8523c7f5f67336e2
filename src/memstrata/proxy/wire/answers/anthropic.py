"""Answers of our own in Anthropic Messages. No thinking is made up: one without a signature would be refused later."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from memstrata.proxy.wire.request import Fabricated
from memstrata.proxy.wire.sse import event_bytes

__all__ = ["answer", "ask", "cut_short", "error"]

_KINDS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error(status: int, kind: str, message: str) -> bytes:
    """Return an error body. A `kind` that the protocol does not know gives way to the status's usual one."""
    usual = _KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
    return msgspec.json.encode(_error(kind if kind in _KINDS.values() else usual, message))


def cut_short(message: str) -> bytes:
    """Return the event that ends a stream whose upstream died."""
    return event_bytes(_error("api_error", message), "error")


def answer(text: str, *, stream: bool, model: str, ident: str) -> Fabricated:
    """Return an assistant's text."""
    block: dict[str, object] = {"type": "text", "text": text}
    start: dict[str, object] = {"type": "text", "text": ""}
    delta: dict[str, object] = {"type": "text_delta", "text": text}
    return _message(f"msg_{ident}", model, "end_turn", block, start, delta, stream=stream)


def ask(tool: str, arguments: Mapping[str, object], *, stream: bool, model: str, ident: str) -> Fabricated:
    """Return one call of a client's tool."""
    call: dict[str, object] = {"type": "tool_use", "id": ident, "name": tool}
    delta: dict[str, object] = {"type": "input_json_delta", "partial_json": msgspec.json.encode(arguments).decode()}
    return _message(
        f"msg_{ident}", model, "tool_use", call | {"input": arguments}, call | {"input": {}}, delta, stream=stream
    )


def _message(
    ident: str,
    model: str,
    stop: str,
    block: Mapping[str, object],
    start: Mapping[str, object],
    delta: Mapping[str, object],
    *,
    stream: bool,
) -> Fabricated:
    usage = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message: dict[str, object] = {
        "id": ident,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }
    if not stream:
        return Fabricated("application/json", msgspec.json.encode(message))
    events: tuple[dict[str, object], ...] = (
        {"type": "message_start", "message": message | {"content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    )
    return Fabricated("text/event-stream", b"".join(event_bytes(event, str(event["type"])) for event in events))


def _error(kind: str, message: str) -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": message}}
