"""Answers of our own in OpenAI Chat Completions. `created` is 0: an answer depends on its arguments alone."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from memstrata.proxy.wire.answers.openai import error_value
from memstrata.proxy.wire.request import Fabricated
from memstrata.proxy.wire.sse import event_bytes

__all__ = ["answer", "ask", "cut_short"]

_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def cut_short(message: str) -> bytes:
    """Return the event that ends a stream whose upstream died."""
    return event_bytes({"error": error_value(502, "", message)})


def answer(text: str, *, stream: bool, model: str, ident: str) -> Fabricated:
    """Return an assistant's text."""
    if not stream:
        return _whole(ident, model, {"content": text, "refusal": None}, "stop")
    return _chunks(ident, model, ({"content": ""}, {"content": text}), "stop")


def ask(
    tool: str, arguments: Mapping[str, object], *, stream: bool, model: str, ident: str, reasoning: str
) -> Fabricated:
    """Return one call of a client's tool. `reasoning` goes out as `reasoning_content`, which DeepSeek's models demand."""
    thought: dict[str, object] = {"reasoning_content": reasoning} if reasoning else {}
    written = msgspec.json.encode(arguments).decode()
    call: dict[str, object] = {"id": ident, "type": "function", "function": {"name": tool, "arguments": written}}
    if not stream:
        return _whole(ident, model, {"content": None, "refusal": None, "tool_calls": [call]} | thought, "tool_calls")
    declared = call | {"index": 0, "function": {"name": tool, "arguments": ""}}
    deltas: tuple[dict[str, object], ...] = (
        {"content": None} | thought,
        {"tool_calls": [declared]},
        {"tool_calls": [{"index": 0, "function": {"arguments": written}}]},
    )
    return _chunks(ident, model, deltas, "tool_calls")


def _whole(ident: str, model: str, message: Mapping[str, object], finish: str) -> Fabricated:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish, "logprobs": None}
    body = _head(ident, model, "chat.completion") | {"choices": [choice], "usage": _USAGE}
    return Fabricated("application/json", msgspec.json.encode(body))


def _chunks(ident: str, model: str, deltas: tuple[dict[str, object], ...], finish: str) -> Fabricated:
    head = _head(ident, model, "chat.completion.chunk")
    choices: list[dict[str, object]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices[0]["delta"] = {"role": "assistant", **deltas[0]}
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    events = [event_bytes(head | {"choices": [choice]}) for choice in choices]
    events += [event_bytes(head | {"choices": [], "usage": _USAGE}), event_bytes("[DONE]")]
    return Fabricated("text/event-stream", b"".join(events))


def _head(ident: str, model: str, kind: str) -> dict[str, object]:
    return {"id": f"chatcmpl-{ident}", "object": kind, "created": 0, "model": model}
