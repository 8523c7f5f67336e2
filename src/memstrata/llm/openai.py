"""Chat Completions, as OpenAI, DeepSeek, Qwen, vLLM, Ollama, LM Studio and many more speak it.

Reasoning (`reasoning_content`, `reasoning`) is never read as the answer; it is carried back with tool calls, because
DeepSeek refuses the next turn without it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memstrata.llm.errors import BadReply
from memstrata.llm.protocol import ChatMessage, ChatRequest, ToolCall, Usage
from memstrata.llm.terms import Terms
from memstrata.llm.wire import Ending, WireReply, counted, system_text

__all__ = ["ChatCompletions"]

_ENDINGS: Mapping[str, Ending] = {"length": "length", "max_tokens": "length", "content_filter": "content_filter"}


class ChatCompletions:
    """`POST {base_url}/chat/completions`, without streaming."""

    path = "/chat/completions"

    def headers(self, api_key: str) -> Mapping[str, str]:
        return {"authorization": f"Bearer {api_key}"} if api_key else {}

    def body(self, request: ChatRequest, model: str, terms: Terms, max_tokens: int) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model}
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": t.name, "description": t.description, "parameters": t.parameters},
                }
                for t in request.tools
            ]
        form = terms.form(request)
        if form == "json_schema":
            named = {"name": request.role, "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif form == "json_object":
            body["response_format"] = {"type": "json_object"}
        system = {"role": "system", "content": system_text(request, terms)}
        body["messages"] = [system, *(_message(message) for message in request.messages)]
        body[terms.tokens_field] = max_tokens
        if request.temperature is not None and terms.send_temperature:
            body["temperature"] = request.temperature
        return body | dict(terms.thinking_switch)

    def reply(self, payload: Mapping[str, Any]) -> WireReply:
        match payload:
            case {"choices": [{"message": dict(message), **choice}, *_]}:
                pass
            case _:
                raise BadReply("the endpoint's answer holds no choice with a message")
        calls = _tool_calls(message.get("tool_calls"))
        text = _text(message.get("content"))
        refused = isinstance(message.get("refusal"), str) and bool(message["refusal"]) and not text
        told = str(choice.get("finish_reason") or "")
        ending: Ending = "content_filter" if refused else _ENDINGS.get(told, "tool_calls" if calls else "stop")
        reasoning = message.get("reasoning_content")
        usage = payload.get("usage")
        return WireReply(
            text,
            calls,
            ending,
            str(payload.get("model") or ""),
            _usage(usage),
            {"reasoning_content": reasoning} if calls and isinstance(reasoning, str) else None,
            bool(reasoning or message.get("reasoning")) or _reasoning_tokens(usage) > 0,
        )


def _message(message: ChatMessage) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        sent["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
        sent |= message.carry or {}
    return sent


def _text(content: object) -> str:
    """Return the text of a message: a string, or the text parts of a list of parts."""
    if isinstance(content, list):
        return "".join(
            part["text"]
            for part in content
            if isinstance(part, dict)
            and part.get("type") in ("text", "output_text")
            and isinstance(part.get("text"), str)
        )
    return content if isinstance(content, str) else ""


def _tool_calls(found: object) -> tuple[ToolCall, ...]:
    calls: list[ToolCall] = []
    for number, call in enumerate(found if isinstance(found, list) else []):
        match call:
            case {"function": {"name": str(name), **function}}:
                arguments = function.get("arguments")
                given = arguments if isinstance(arguments, str) else _encoded(arguments)
                calls.append(ToolCall(str(call.get("id") or f"call_{number}"), name, given))
            case _:
                raise BadReply("the endpoint's answer holds a tool call without a function")
    return tuple(calls)


def _encoded(arguments: object) -> str:
    """Return arguments that came as an object, as Ollama has sent them, in the form of the format."""
    return json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, dict) else "{}"


def _reasoning_tokens(usage: object) -> int:
    match usage:
        case {"completion_tokens_details": {"reasoning_tokens": tokens}}:
            return counted(tokens)
        case _:
            return 0


def _usage(found: object) -> Usage | None:
    if not isinstance(found, dict):
        return None
    details = found.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else found.get("prompt_cache_hit_tokens")
    return Usage(counted(found.get("prompt_tokens")), counted(found.get("completion_tokens")), counted(cached), calls=1)
