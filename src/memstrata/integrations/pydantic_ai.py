"""Memory for Pydantic AI: one capability of an agent.

    memory = MemoryCapability(client, store=SqliteWatermarkStore("turns.db"))
    agent = Agent("openai:gpt-5", capabilities=[memory])
    result = await agent.run("where do I live?", message_history=history)

The conversation's id is the session, so a conversation that goes on over its history goes on in memory. Recall goes into
each attempt at a request, the one place whose changes the framework does not write into its history: what the hooks before
it add to messages or instructions stays there. Source: `reference/hub-sdk-plugins.md` §E.8.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

from pydantic_ai import (
    AgentRunResult,
    BinaryContent,
    DeferredToolRequests,
    FunctionToolset,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RunContext,
    TextContent,
    TextPart,
    Tool,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.capabilities import AbstractCapability, WrapRunHandler
from pydantic_ai.models import ModelRequestContext

from memstrata.client import AsyncMemoryClient, CaptureRules, Recalled, TurnIds, WatermarkStore, view_plain
from memstrata.client._tool_words import ToolLanguage
from memstrata.client.turn import Seen
from memstrata.integrations.run_memory import AgentMemory, RunMemory

__all__ = ["MemoryCapability", "view_messages"]

_MEDIA = {"image-url": "image", "audio-url": "audio", "video-url": "video"}


def view_messages(messages: Iterable[object]) -> tuple[Seen, ...]:
    """View a history: each part of a request by itself, the text of a response as one message."""
    return view_plain(entry for message in messages for entry in _entries(message))


class MemoryCapability(AbstractCapability[Any]):
    """Memory for the runs of any number of agents and conversations. Close it where the program ends."""

    def __init__(
        self,
        client: AsyncMemoryClient,
        *,
        ids: Callable[[RunContext[Any]], TurnIds] | None = None,
        store: WatermarkStore | None = None,
        rules: CaptureRules | None = None,
        snapshot: bool = False,
        language: ToolLanguage = "en",
    ) -> None:
        """As `AgentMemory`. `ids` tells whose run it is, for an agent of many users; a session of None is the default one.
        What it raises ends the run, because without it the run would be somebody else's.

        A run that ends in deferred tools is captured when it was resumed to its end, also in another process if there is a
        `store`.
        """
        super().__init__()
        self.memory = AgentMemory(
            client, view=view_messages, store=store, rules=rules, snapshot=snapshot, language=language
        )
        self._ids = ids
        self._run: RunMemory | None = None

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return None: a capability that holds a client is not made from a specification."""
        return None

    async def for_run(self, ctx: RunContext[Any]) -> Self:
        """Return a copy with the state of one run."""
        ids = TurnIds() if self._ids is None else self._ids(ctx)
        own = copy.copy(self)
        own._run = self.memory.open(ids if ids.session else replace(ids, session=ctx.conversation_id))
        return own

    def get_toolset(self) -> FunctionToolset[Any]:
        """Return the memory tools."""

        def bound(name: str) -> Callable[..., Awaitable[str]]:
            async def call(**arguments: Any) -> str:
                return await (self._run or self.memory).call_tool(name, arguments)

            return call

        return FunctionToolset(
            [
                Tool.from_schema(bound(one.name), one.name, one.description, dict(one.parameters))
                for one in self.memory.specs
            ]
        )

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Capture a run that comes to its end. One that fails, is cancelled or defers tools is left open."""
        run = self._run
        if run is None:
            return await handler()
        with run.entered():
            result = await handler()
        if not isinstance(result.output, DeferredToolRequests):
            await run.ended(result.all_messages)
        return result

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put what memory has into one attempt at a request."""
        if self._run is None:
            return request_context
        return await self._run.carried(request_context, request_context.messages, _injected)


def _injected(request: ModelRequestContext, recalled: Recalled) -> ModelRequestContext:
    asked = request.model_request_parameters
    if recalled.append_system_context:
        part = InstructionPart(recalled.append_system_context, dynamic=True)
        asked = replace(asked, instruction_parts=[*(asked.instruction_parts or ()), part])
    messages = list(request.messages)
    for at in range(len(messages) - 1, -1, -1) if recalled.prepend_context else ():
        prefixed = _prefixed(messages[at], recalled.prepend_context)
        if prefixed is not None:
            messages[at] = prefixed
            break
    return replace(request, messages=messages, model_request_parameters=asked)


def _prefixed(message: ModelMessage, block: str) -> ModelMessage | None:
    """Return a copy with a block in front of its newest user prompt, None where it has none."""
    if not isinstance(message, ModelRequest):
        return None
    parts = list(message.parts)
    for at in range(len(parts) - 1, -1, -1):
        part = parts[at]
        if isinstance(part, UserPromptPart):
            said = part.content
            parts[at] = replace(part, content=f"{block}\n\n{said}" if isinstance(said, str) else [block, *said])
            return replace(message, parts=parts)
    return None


def _entries(message: object) -> Iterator[dict[str, Any]]:
    """Read a message as what `view_plain` takes."""
    parts = getattr(message, "parts", ())
    if isinstance(message, ModelRequest):
        for part in parts:
            if isinstance(part, UserPromptPart):
                yield {"role": "user", "content": _spoken(part.content), "timestamp": part.timestamp}
            else:
                yield {"role": "system" if part.part_kind == "system-prompt" else "tool"}
    elif isinstance(message, ModelResponse):
        yield {
            "role": "assistant",
            "content": "".join(part.content for part in parts if isinstance(part, TextPart)),
            "tool_calls": any(isinstance(part, ToolCallPart) for part in parts),
            "synthetic": any(part.part_kind == "compaction" for part in parts),
            "timestamp": message.timestamp,
        }


def _spoken(content: str | Sequence[Any]) -> list[Any]:
    """Return a prompt's content as text and typed blocks."""
    if isinstance(content, str):
        return [content]
    return [part if isinstance(part, str) else _block(part) for part in content]


def _block(part: Any) -> dict[str, Any]:
    if isinstance(part, TextContent):
        return {"type": "text", "text": part.content}
    if isinstance(part, BinaryContent):
        kind = part.media_type.partition("/")[0]
        return {"type": kind if kind in _MEDIA.values() else "file"}
    return {"type": "file" if part.kind in ("document-url", "uploaded-file") else _MEDIA.get(part.kind)}
