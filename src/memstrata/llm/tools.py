"""The loop in which a model works with tools until it has an answer, under limits that it cannot talk its way out of.

What a model does wrong goes back to it as an error result: an unknown tool, arguments that are no JSON, a refusal by the
toolset. What has no end is ended: too many steps, too many bytes, the same calls again and again. A final word saves the
last call: whoever asks may agree on one that says "these calls complete the work".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import json_repair

from memstrata.llm.errors import CallFailed
from memstrata.llm.protocol import Chat, ChatMessage, ChatReply, ChatRequest, ToolCall, ToolSpec, Usage
from memstrata.llm.scan import without_reasoning
from memstrata.llm.written_calls import written_calls

__all__ = ["LoopEnd", "LoopLimits", "ToolResult", "ToolUse", "Toolset", "run_tools", "says"]

Stop = Literal["answered", "steps", "bytes", "repeated"]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model is told. An error is told as one and changes nothing."""

    text: str
    is_error: bool = False


class Toolset(Protocol):
    """The tools of one piece of work. A mistake of the model is a result with `is_error`; what it raises ends the loop."""

    @property
    def specs(self) -> Sequence[ToolSpec]: ...
    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult: ...


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """`steps`: model calls. `result_bytes`: of one result, cut with a note. `total_bytes`: of all arguments and results.

    `argument_bytes`: of one call, which is not made beyond them. `repeats`: how often the same calls may follow each
    other with nothing but a warning in return.
    """

    steps: int = 20
    calls_per_step: int = 16
    argument_bytes: int = 64_000
    result_bytes: int = 64_000
    total_bytes: int = 400_000
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call that was made and what came of it."""

    name: str
    arguments: str
    result: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class LoopEnd:
    """How the loop ended. `text` is the last answer without reasoning; `messages` the conversation, to go on from."""

    stop: Stop
    text: str
    steps: int
    uses: tuple[ToolUse, ...]
    usage: Usage
    messages: tuple[ChatMessage, ...]
    model: str = ""
    elapsed_ms: float = 0.0


async def run_tools(
    chat: Chat, request: ChatRequest, toolset: Toolset, limits: LoopLimits | None = None, *, final_word: str = ""
) -> LoopEnd:
    """Run until the model answers without calling a tool, or a limit ends it.

    Calls that it wrote into its text count like others, where a reply has none of the protocol's own.
    A reply that calls tools and has `final_word` alone on a line of its text is an answer too, if all its calls succeed.
    Raises CallFailed, its `usage` counting all steps, when a call of the model fails: what tools did before is theirs.
    """
    bounds = limits or LoopLimits()
    loop = _Loop(toolset, bounds)
    request = replace(request, tools=tuple(toolset.specs), schema=None)
    messages = request.messages
    usage = Usage()
    elapsed_ms = 0.0
    reply: ChatReply | None = None
    stop: Stop = "steps"
    step = 0
    while step < bounds.steps:
        step += 1
        try:
            reply = await chat.complete(replace(request, messages=messages))
        except CallFailed as failure:
            failure.usage = usage + failure.usage
            raise
        usage += reply.usage
        elapsed_ms += reply.elapsed_ms
        turn = reply.as_message()
        if not turn.tool_calls and (written := written_calls(reply.text, loop.names, _texts(messages), len(messages))):
            turn = ChatMessage("assistant", "", written)
        if turn.content or turn.tool_calls:  # an empty turn is refused by endpoints
            messages = (*messages, _bounded(turn, bounds.argument_bytes))
        if not turn.tool_calls:
            stop = "answered"
            break
        results = await loop.step(turn.tool_calls)
        messages = (*messages, *results)
        if loop.ended is not None:
            stop = loop.ended
            break
        if final_word and loop.succeeded and says(reply.text, final_word):
            stop = "answered"
            break
    text = without_reasoning(reply.text) if reply else ""
    model = reply.model if reply else ""
    return LoopEnd(stop, text, step, tuple(loop.uses), usage, messages, model, elapsed_ms)


class _Loop:
    def __init__(self, toolset: Toolset, limits: LoopLimits) -> None:
        self.uses: list[ToolUse] = []
        self.ended: Stop | None = None
        self.succeeded = False  # all calls of the last step
        self.names = {spec.name for spec in toolset.specs}
        self._toolset = toolset
        self._limits = limits
        self._bytes = 0
        self._last: tuple[tuple[str, str], ...] = ()
        self._repeats = 0

    async def step(self, calls: tuple[ToolCall, ...]) -> list[ChatMessage]:
        """Make one step's calls in order; every one gets a result, because endpoints refuse a call without."""
        signature = tuple((call.name, _canonical(call.arguments, self._limits.argument_bytes)) for call in calls)
        self._repeats = self._repeats + 1 if signature == self._last else 0
        self._last = signature
        if self._repeats > self._limits.repeats:
            self.ended = "repeated"
        messages: list[ChatMessage] = []
        self.succeeded = True
        for number, call in enumerate(calls):
            result = await self._result(call, number)
            self.succeeded = self.succeeded and not result.is_error
            arguments = _cut(call.arguments, self._limits.argument_bytes)
            self.uses.append(ToolUse(call.name, arguments, result.text, result.is_error))
            text = f"Error: {result.text}" if result.is_error else result.text
            messages.append(ChatMessage("tool", text, tool_call_id=call.id))
        return messages

    async def _result(self, call: ToolCall, number: int) -> ToolResult:
        if self._repeats:
            return ToolResult("this very call was just made and its result has not changed; do something else", True)
        if self.ended == "bytes":
            return ToolResult("not done: the limit of this work is reached", True)
        if number >= self._limits.calls_per_step:
            return ToolResult(f"not done: at most {self._limits.calls_per_step} calls at a time", True)
        if call.name not in self.names:
            return ToolResult(f"there is no tool {call.name[:80]!r}; there are: {', '.join(sorted(self.names))}", True)
        size = _size(call.arguments)
        if size > self._limits.argument_bytes:
            return ToolResult(f"not done: {size} bytes of arguments, at most {self._limits.argument_bytes} fit", True)
        arguments = _arguments(call.arguments)
        if arguments is None:
            return ToolResult("the arguments are not a JSON object", True)
        self._bytes += size
        if self._bytes > self._limits.total_bytes:
            self.ended = "bytes"
            return ToolResult("not done: the limit of this work is reached", True)
        result = await self._toolset.call(call.name, arguments)
        text = _cut(result.text, self._limits.result_bytes)
        self._bytes += _size(text)
        return ToolResult(text, result.is_error)


def _texts(messages: Sequence[ChatMessage]) -> str:
    """Return what the model was shown: what it said itself is no part of it."""
    return "\n".join(message.content for message in messages if message.role != "assistant")


def _bounded(message: ChatMessage, limit: int) -> ChatMessage:
    """Return the turn with empty arguments where they are too long: the next steps would pay for them again."""
    calls = tuple(
        call if _size(call.arguments) <= limit else replace(call, arguments="{}") for call in message.tool_calls
    )
    return replace(message, tool_calls=calls)


def says(text: str, word: str) -> bool:
    """Return whether a reply has `word` alone on a line, outside of its reasoning; marks of emphasis do not matter."""
    return any(line.strip(" \t*_`#.") == word for line in without_reasoning(text).splitlines())


def _arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments of a call, repaired where that is needed; none at all is an empty object."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        try:
            found = json_repair.loads(text)
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, dict) else None


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _canonical(arguments: str, limit: int) -> str:
    found = _arguments(arguments) if _size(arguments) <= limit else None
    return arguments if found is None else json.dumps(found, sort_keys=True)


def _cut(text: str, limit: int) -> str:
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return text
    return raw[:limit].decode("utf-8", "ignore") + f"\n[cut: {len(raw)} bytes in all]"
