"""What a model provider says, in each of the three protocols, whole or as events: for `memstrata.testing.upstream`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Call", "Protocol", "Says", "Tokens", "events_of", "whole_of"]

Protocol = Literal["anthropic", "chat", "responses"]
Event = tuple[str, Mapping[str, Any] | str]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that the client is to run."""

    name: str
    arguments: Mapping[str, Any]
    id: str = "call_1"


@dataclass(frozen=True, slots=True)
class Tokens:
    """Counted as the provider bills: `input` without what came from the cache."""

    input: int = 10
    output: int = 5
    cache_read: int = 3
    cache_write: int = 1


@dataclass(frozen=True, slots=True)
class Says:
    """A good answer. `pieces` is in how many deltas the text comes; `stop` is the protocol's word, "" for the usual one."""

    text: str = "hello"
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    pieces: int = 3
    stop: str = ""
    tokens: Tokens = Tokens()


def whole_of(protocol: Protocol, said: Says, model: str) -> dict[str, Any]:
    """Return the answer as one object."""
    match protocol:
        case "anthropic":
            return _message(said, model)
        case "chat":
            return _completion(said, model)
        case "responses":
            return _response(said, model, "completed", _items(said))


def events_of(protocol: Protocol, said: Says, model: str) -> Iterator[Event]:
    """Yield the answer's events: a name, empty for none, and the data, a text where it is no object."""
    match protocol:
        case "anthropic":
            yield from _message_events(said, model)
        case "chat":
            yield from _completion_events(said, model)
        case "responses":
            yield from _response_events(said, model)


def _pieces(said: Says) -> Iterator[str]:
    size = max(1, -(-len(said.text) // max(1, said.pieces)))
    for start in range(0, len(said.text), size):
        yield said.text[start : start + size]


def _message(said: Says, model: str) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    if said.thinking:
        blocks.append({"type": "thinking", "thinking": said.thinking, "signature": "c2lnbmVk"})
    if said.text:
        blocks.append({"type": "text", "text": said.text})
    blocks += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in said.calls]
    tokens = said.tokens
    usage = {
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation_input_tokens": tokens.cache_write,
    }
    return {
        "id": "msg_upstream",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": said.stop or ("tool_use" if said.calls else "end_turn"),
        "stop_sequence": None,
        "usage": usage,
    }


def _message_events(said: Says, model: str) -> Iterator[Event]:
    message = _message(said, model)
    begun = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        start, deltas = _block_events(said, block)
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": said.tokens.output}})
    events.append({"type": "message_stop"})
    yield from ((event["type"], event) for event in events)


def _block_events(said: Says, block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            deltas: list[dict[str, Any]] = [{"type": "text_delta", "text": piece} for piece in _pieces(said)]
            return {"type": "text", "text": ""}, deltas
        case "thinking":
            return {"type": "thinking", "thinking": "", "signature": ""}, [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case _:
            written = json.dumps(block["input"])
            half = len(written) // 2
            parts = (written[:half], written[half:])
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]


def _chat_usage(tokens: Tokens) -> dict[str, Any]:
    prompt = tokens.input + tokens.cache_read + tokens.cache_write
    return {
        "prompt_tokens": prompt,
        "completion_tokens": tokens.output,
        "total_tokens": prompt + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
    }


def _functions(said: Says) -> list[dict[str, Any]]:
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
        for call in said.calls
    ]


def _completion(said: Says, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.thinking:
        message["reasoning_content"] = said.thinking
    if said.calls:
        message["tool_calls"] = _functions(said)
    finish = said.stop or ("tool_calls" if said.calls else "stop")
    return {
        "id": "chatcmpl-upstream",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": _chat_usage(said.tokens),
    }


def _completion_events(said: Says, model: str) -> Iterator[Event]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if said.thinking:
        deltas.append({"reasoning_content": said.thinking})
    deltas += [{"content": piece} for piece in _pieces(said)]
    for index, function in enumerate(_functions(said)):
        written = function["function"]["arguments"]
        declared = {**function, "index": index, "function": {"name": function["function"]["name"], "arguments": ""}}
        deltas += [{"tool_calls": [declared]}, {"tool_calls": [{"index": index, "function": {"arguments": written}}]}]
    head = {"id": "chatcmpl-upstream", "object": "chat.completion.chunk", "created": 0, "model": model}
    for delta in deltas:
        yield "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    finish = said.stop or ("tool_calls" if said.calls else "stop")
    yield "", {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    yield "", {**head, "choices": [], "usage": _chat_usage(said.tokens)}
    yield "", "[DONE]"


def _items(said: Says) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if said.thinking:
        summary = [{"type": "summary_text", "text": said.thinking}]
        items.append({"id": "rs_upstream", "type": "reasoning", "summary": summary})
    if said.text:
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        items.append(
            {"id": "msg_upstream", "type": "message", "status": "completed", "role": "assistant", "content": content}
        )
    items += [
        {
            "id": f"fc_{call.id}",
            "type": "function_call",
            "status": "completed",
            "call_id": call.id,
            "name": call.name,
            "arguments": json.dumps(call.arguments),
        }
        for call in said.calls
    ]
    return items


def _response(said: Says, model: str, status: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    tokens = said.tokens
    read = tokens.input + tokens.cache_read + tokens.cache_write
    usage = {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": tokens.cache_read},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + tokens.output,
    }
    return {
        "id": "resp_upstream",
        "object": "response",
        "created_at": 0,
        "status": status,
        "model": model,
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage if status == "completed" else None,
    }


def _response_events(said: Says, model: str) -> Iterator[Event]:
    events: list[dict[str, Any]] = []
    begun = _response(said, model, "in_progress", [])
    events += [{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}]
    for index, item in enumerate(_items(said)):
        place = {"output_index": index, "item_id": item["id"]}
        opened = {**item, "content": []} if item["type"] == "message" else item
        if item["type"] == "function_call":
            opened = {**item, "arguments": "", "status": "in_progress"}
        events.append({"type": "response.output_item.added", "output_index": index, "item": opened})
        if item["type"] == "message":
            part = {**place, "content_index": 0}
            empty = {"type": "output_text", "text": "", "annotations": []}
            events.append({"type": "response.content_part.added", **part, "part": empty})
            events += [{"type": "response.output_text.delta", **part, "delta": piece} for piece in _pieces(said)]
            events.append({"type": "response.output_text.done", **part, "text": said.text})
            events.append({"type": "response.content_part.done", **part, "part": item["content"][0]})
        elif item["type"] == "function_call":
            written = item["arguments"]
            events.append({"type": "response.function_call_arguments.delta", **place, "delta": written})
            events.append({"type": "response.function_call_arguments.done", **place, "arguments": written})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": _response(said, model, "completed", _items(said))})
    for number, event in enumerate(events):
        yield event["type"], {**event, "sequence_number": number}
