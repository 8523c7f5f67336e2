"""A scripted model as a real HTTP server, speaking Chat Completions and Messages on one port of the loopback.

    async with ScriptedLLM() as model:
        model.script("extract", Reply('[{"content": "…"}]'), Status(429, retry_after="7"))
        model.always("resolve", Reply("[]"))
        ...  # point a client at model.base_url
        assert model.requests[0].prompt_tokens < 2_000

Everything that can be wrong on a wire is an answer here: statuses, hangs, resets, garbage, slowness; what can be wrong
in a reply's text is in `memstrata.testing.malformed`. Every request is kept, with its tokens counted as the benchmark
counts them. What is asked without a script is answered 404, so that a forgotten script is seen.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from aiohttp import web

from memstrata.llm.protocol import MODEL_ROLES, ToolCall
from memstrata.llm.provider import ROLE_HEADER
from memstrata.text.tokens import count_tokens

__all__ = [
    "Answer",
    "Garbage",
    "Hang",
    "Matcher",
    "RecordedRequest",
    "Reply",
    "Reset",
    "ScriptedLLM",
    "Slow",
    "Status",
]

_EARLIER_PROMPTS = 64  # of one role, that a new one is compared with


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request as it came. `prompt` is all text that the model would read: tools, system prompt, messages, in order.

    `cached_tokens` is the longest prefix of the prompt that an earlier one of the same role began with.
    `schema_tokens`, those of a schema in `response_format`, are not part of `prompt_tokens`.
    """

    role: str  # from the role header, else from a model named after a role, else empty
    protocol: Literal["chat_completions", "messages"]
    model: str
    system: str
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...]
    body: Mapping[str, Any]
    raw: bytes
    headers: Mapping[str, str]  # names in lower case
    prompt: str
    prompt_tokens: int
    schema_tokens: int
    cached_tokens: int

    @property
    def last_user_text(self) -> str:
        """The newest user message."""
        texts = (
            _text_of(message.get("content")) for message in reversed(self.messages) if message.get("role") == "user"
        )
        return next(texts, "")


@dataclass(frozen=True, slots=True)
class Reply:
    """A good answer of the protocol, whatever its text is worth. `finish` is Chat Completions' word for the reason.

    `usage` is (prompt, completion, cached) tokens, counted by default; None leaves usage out of the answer.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Literal["stop", "length", "content_filter", "tool_calls"] = "stop"
    reasoning: str = ""  # goes where the protocol has it apart from the answer
    usage: tuple[int, int, int] | Literal["counted"] | None = "counted"


@dataclass(frozen=True, slots=True)
class Status:
    """An answer other than 200, with the error object of the protocols."""

    status: int
    message: str = "scripted failure"
    code: str = ""
    retry_after: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hang:
    """No answer as long as the server lives."""


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection breaks after that many bytes of a good answer."""

    reply: Reply = Reply("cut in the middle")
    after_bytes: int = 20


@dataclass(frozen=True, slots=True)
class Garbage:
    """200 with a body that is no answer."""

    body: bytes = b"<html>Bad gateway</html>"
    content_type: str = "text/html"


@dataclass(frozen=True, slots=True)
class Slow:
    """A good answer in pieces with pauses between them."""

    reply: Reply
    pieces: int = 4
    pause_seconds: float = 0.02


Answer = Reply | Status | Hang | Reset | Garbage | Slow
Matcher = str | Callable[[RecordedRequest], bool]
"""A role's name, or a condition on the request."""
Script = Answer | Callable[[RecordedRequest], Answer]
"""An answer, or a function that makes one from the request."""


class ScriptedLLM:
    """The server. Scripts are looked through in the order they were given; the first that matches and has answers left
    gives one. `always` comes after all of them, the newest first. `port` 0 takes a free one; with the port of one that has
    ended, a model comes back where it was.
    """

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.requests: list[RecordedRequest] = []
        self._scripts: list[tuple[Matcher, deque[Script]]] = []
        self._always: list[tuple[Matcher, Script]] = []
        self._gates: dict[str, asyncio.Event] = {}
        self._changed = asyncio.Condition()
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._url = ""

    @property
    def base_url(self) -> str:
        """The address for both protocols, ending in `/v1`."""
        return self._url

    def script(self, match: Matcher, *answers: Script) -> None:
        """Queue answers, one for each matching request."""
        self._scripts.append((match, deque(answers)))

    def always(self, match: Matcher, answer: Script) -> None:
        """Answer every matching request that no script answers."""
        self._always.insert(0, (match, answer))

    def clear(self) -> None:
        """Forget all scripts; the requests stay."""
        self._scripts.clear()
        self._always.clear()

    def requests_of(self, role: str) -> list[RecordedRequest]:
        return [request for request in self.requests if request.role == role]

    def tokens(self, role: str = "") -> tuple[int, int]:
        """Return the prompt tokens, and how many of them were cached, of one role or of all."""
        chosen = self.requests_of(role) if role else self.requests
        return sum(one.prompt_tokens for one in chosen), sum(one.cached_tokens for one in chosen)

    @contextmanager
    def paused(self, role: str) -> Iterator[None]:
        """Hold requests of a role, after they are recorded, until the block ends."""
        gate = self._gates[role] = asyncio.Event()
        try:
            yield
        finally:
            gate.set()
            self._gates.pop(role, None)

    async def received(self, count: int, role: str = "") -> None:
        """Wait until that many requests, of one role or of any, have come in all."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.requests_of(role) if role else self.requests) >= count)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._chat_completions)
        app.router.add_post("/v1/messages", self._messages)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        host, self.port = self._runner.addresses[0][:2]
        self._url = f"http://{host}:{self.port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _chat_completions(self, request: web.Request) -> web.StreamResponse:
        return await self._answered(request, "chat_completions")

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        return await self._answered(request, "messages")

    async def _answered(
        self, request: web.Request, protocol: Literal["chat_completions", "messages"]
    ) -> web.StreamResponse:
        recorded = self._record(await request.read(), request, protocol)
        async with self._changed:
            self._changed.notify_all()
        if recorded.role in self._gates:
            await self._gates[recorded.role].wait()
        answer = self._answer_to(recorded)
        match answer:
            case Reply():
                return web.json_response(_payload(answer, recorded))
            case Status():
                return _failure(answer)
            case Garbage():
                return web.Response(body=answer.body, content_type=answer.content_type)
            case Hang():
                await self._closing.wait()
                return web.Response(status=503)
            case Reset():
                content = json.dumps(_payload(answer.reply, recorded)).encode()
                async with _streamed(request, len(content)) as response:
                    await response.write(content[: answer.after_bytes])
                    if request.transport is not None:
                        request.transport.abort()
                return response
            case Slow():
                content = json.dumps(_payload(answer.reply, recorded)).encode()
                size = -(-len(content) // max(1, answer.pieces))
                async with _streamed(request, len(content)) as response:
                    for start in range(0, len(content), size):
                        await asyncio.sleep(answer.pause_seconds)
                        await response.write(content[start : start + size])
                return response

    def _answer_to(self, request: RecordedRequest) -> Answer:
        for match, queue in self._scripts:
            if queue and _matches(match, request):
                return _made(queue.popleft(), request)
        for match, script in self._always:
            if _matches(match, request):
                return _made(script, request)
        return Status(404, f"nothing is scripted for {request.role or 'a request without a role'}")

    def _record(
        self, raw: bytes, request: web.Request, protocol: Literal["chat_completions", "messages"]
    ) -> RecordedRequest:
        body: dict[str, Any] = json.loads(raw)
        messages = list(body.get("messages", []))
        system = _text_of(body.get("system"))
        if messages and messages[0].get("role") == "system":
            system = _text_of(messages.pop(0).get("content"))
        tools = tuple(body.get("tools", ()))
        model = str(body.get("model", ""))
        parts = [json.dumps(tool, ensure_ascii=False) for tool in tools]
        parts += [system, *(f"{message.get('role')}: {_said(message)}" for message in messages)]
        prompt = "\n".join(parts)
        role = request.headers.get(ROLE_HEADER) or next((name for name in MODEL_ROLES if model.endswith(name)), "")
        earlier = [one.prompt for one in self.requests_of(role)[-_EARLIER_PROMPTS:]]
        shared = max((_common_start(prompt, before) for before in earlier), key=len, default="")
        schema = body.get("response_format", {}).get("json_schema")
        recorded = RecordedRequest(
            role,
            protocol,
            model,
            system,
            tuple(messages),
            tools,
            body,
            raw,
            {name.lower(): value for name, value in request.headers.items()},
            prompt,
            count_tokens(prompt),
            count_tokens(json.dumps(schema, ensure_ascii=False)) if schema else 0,
            min(count_tokens(shared), count_tokens(prompt)),
        )
        self.requests.append(recorded)
        return recorded


def _common_start(one: str, other: str) -> str:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return one[:low]


def _matches(match: Matcher, request: RecordedRequest) -> bool:
    return match == request.role if isinstance(match, str) else match(request)


def _made(script: Script, request: RecordedRequest) -> Answer:
    return script(request) if callable(script) else script


@asynccontextmanager
async def _streamed(request: web.Request, length: int) -> AsyncIterator[web.StreamResponse]:
    response = web.StreamResponse(headers={"content-type": "application/json"})
    response.content_length = length
    await response.prepare(request)
    yield response


def _failure(answer: Status) -> web.Response:
    headers = dict(answer.headers) | ({"retry-after": answer.retry_after} if answer.retry_after else {})
    error = {"message": answer.message, "type": "scripted"} | ({"code": answer.code} if answer.code else {})
    return web.json_response({"type": "error", "error": error}, status=answer.status, headers=headers)


def _payload(reply: Reply, request: RecordedRequest) -> dict[str, Any]:
    said = reply.text + "".join(call.arguments for call in reply.tool_calls)
    counted = (request.prompt_tokens, count_tokens(said), request.cached_tokens)
    usage = counted if reply.usage == "counted" else reply.usage
    make = _completion if request.protocol == "chat_completions" else _message
    return make(reply, request, usage)


def _completion(reply: Reply, request: RecordedRequest, usage: tuple[int, int, int] | None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.tool_calls
        ]
    finish = "tool_calls" if reply.tool_calls and reply.finish == "stop" else reply.finish
    payload: dict[str, Any] = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": request.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if usage is not None:
        prompt, completion, cached = usage
        details = {"cached_tokens": cached}
        payload["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": details,
        }
    return payload


def _message(reply: Reply, request: RecordedRequest, usage: tuple[int, int, int] | None) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    if reply.reasoning:
        blocks.append({"type": "thinking", "thinking": reply.reasoning, "signature": "scripted"})
    forced = request.body.get("tool_choice", {}).get("name")
    answer = _object(reply.text) if forced else None
    if answer is not None:
        blocks.append({"type": "tool_use", "id": "toolu_answer", "name": forced, "input": answer})
    elif reply.text:
        blocks.append({"type": "text", "text": reply.text})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _object(call.arguments) or {}}
        for call in reply.tool_calls
    ]
    reasons = {"length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use", "stop": "end_turn"}
    finish = "tool_use" if reply.tool_calls and reply.finish == "stop" else reasons[reply.finish]
    payload: dict[str, Any] = {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": blocks,
        "stop_reason": finish,
    }
    if usage is not None:
        prompt, completion, cached = usage
        payload["usage"] = {
            "input_tokens": prompt - cached,
            "output_tokens": completion,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
        }
    return payload


def _object(text: str) -> dict[str, Any] | None:
    """Return a text as the object that a tool's input must be; None if it is none, as when a model answers in prose."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    parts: Sequence[Any] = content if isinstance(content, list) else ()
    return "".join(str(part.get("text") or part.get("content") or "") for part in parts if isinstance(part, dict))


def _said(message: Mapping[str, Any]) -> str:
    calls = message.get("tool_calls")
    return _text_of(message.get("content")) + (json.dumps(calls, ensure_ascii=False) if calls else "")
