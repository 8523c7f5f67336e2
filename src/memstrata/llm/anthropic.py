"""Messages, as Anthropic and the gateways that imitate it speak it.

Structured output is a forced call of one tool whose parameters are the schema: every version and imitation knows that.
The system prompt is marked for the prompt cache, which here is not automatic.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from memstrata.llm.errors import BadReply
from memstrata.llm.protocol import ChatMessage, ChatRequest, ToolCall, Usage
from memstrata.llm.terms import Terms
from memstrata.llm.wire import Ending, WireReply, counted, system_text

__all__ = ["Messages"]

_VERSION = "2023-06-01"
_ANSWER = "answer"  # the tool that stands for a structured reply
_ENDINGS: Mapping[str, Ending] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


class Messages:
    """`POST {base_url}/messages`, without streaming."""

    path = "/messages"

    def headers(self, api_key: str) -> Mapping[str, str]:
        return {"anthropic-version": _VERSION} | ({"x-api-key": api_key} if api_key else {})

    def body(self, request: ChatRequest, model: str, terms: Terms, max_tokens: int) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model}
        if request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in request.tools
            ]
        elif terms.form(request) == "json_schema":
            told = "Give the answer."
            body["tools"] = [{"name": _ANSWER, "description": told, "input_schema": request.schema}]
            body["tool_choice"] = {"type": "tool", "name": _ANSWER}
        text = system_text(request, terms)
        body["system"] = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
        body["messages"] = list(_turns(request.messages))
        body["max_tokens"] = max_tokens
        if request.temperature is not None and terms.send_temperature:
            body["temperature"] = request.temperature
        return body | dict(terms.thinking_switch)

    def reply(self, payload: Mapping[str, Any]) -> WireReply:
        blocks = payload.get("content")
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            raise BadReply("the endpoint's answer holds no content blocks")
        texts: list[str] = []
        calls: list[ToolCall] = []
        thinking: list[Mapping[str, Any]] = []
        for block in blocks:
            match block:
                case {"type": "text", "text": str(text)}:
                    texts.append(text)
                case {"type": "tool_use", "name": str(name), "input": arguments} if name == _ANSWER:
                    texts = [json.dumps(arguments, ensure_ascii=False)]
                case {"type": "tool_use", "id": str(call_id), "name": str(name), "input": arguments}:
                    calls.append(ToolCall(call_id, name, json.dumps(arguments, ensure_ascii=False)))
                case {"type": "thinking" | "redacted_thinking"}:
                    thinking.append(block)
                case _:
                    continue  # kinds of block that are added later
        told = str(payload.get("stop_reason") or "")
        return WireReply(
            "".join(texts),
            tuple(calls),
            _ENDINGS.get(told, "tool_calls" if calls else "stop"),
            str(payload.get("model") or ""),
            _usage(payload.get("usage")),
            {"thinking": thinking} if calls and thinking else None,
            bool(thinking),
        )


def _turns(messages: tuple[ChatMessage, ...]) -> Iterator[dict[str, Any]]:
    """Yield the turns; results of one step's tool calls form one user turn, as the format wants them."""
    for is_result, group in groupby(messages, key=lambda message: message.role == "tool"):
        if is_result:
            results = [
                {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content}
                for message in group
            ]
            yield {"role": "user", "content": results}
        else:
            yield from ({"role": message.role, "content": _content(message)} for message in group)


def _content(message: ChatMessage) -> str | list[Mapping[str, Any]]:
    if not message.tool_calls:
        return message.content
    blocks: list[Mapping[str, Any]] = list((message.carry or {}).get("thinking", ()))
    if message.content:  # an empty text block is refused
        blocks.append({"type": "text", "text": message.content})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments)}
        for call in message.tool_calls
    ]
    return blocks


def _input(arguments: str) -> Mapping[str, Any]:
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _usage(found: object) -> Usage | None:
    if not isinstance(found, dict):
        return None
    cached = counted(found.get("cache_read_input_tokens"))
    # Unlike elsewhere, input_tokens leaves out what was read from or written to the cache.
    prompt = counted(found.get("input_tokens")) + cached + counted(found.get("cache_creation_input_tokens"))
    return Usage(prompt, counted(found.get("output_tokens")), cached, calls=1)
