"""Memory for AutoGen (`autogen-agentchat`): an `AssistantAgent` that recalls before it answers and hands over its turns.

    agent = MemoryAgent("helper", model_client, memory_client=client.with_scope(session="s1"))
    result = await agent.run(task="where do I live?")

AutoGen's own memory interface adds a system message to the stored context at each call; here the context shows the model a
decorated copy and stores nothing more. An agent sees the messages since its last reply alone, so each turn is a list of its
own, behind a mark that stands for what came before. Source: `reference/hub-sdk-plugins.md` §E.8.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, cast

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, HandoffMessage, ToolCallSummaryMessage
from autogen_core import CancellationToken
from autogen_core.model_context import ChatCompletionContext, UnboundedChatCompletionContext
from autogen_core.models import ChatCompletionClient, LLMMessage, SystemMessage, UserMessage
from autogen_core.tools import BaseTool, ParametersSchema, ToolSchema
from pydantic import BaseModel, ConfigDict

from memstrata.client import (
    AsyncMemoryClient,
    CaptureRules,
    Recalled,
    RecorderStatus,
    TurnIds,
    WatermarkStore,
    view_plain,
)
from memstrata.client._tool_calls import ToolSpec
from memstrata.client._tool_words import ToolLanguage
from memstrata.integrations.lone_turn import Answered, Spoken, asked, said
from memstrata.integrations.run_memory import AgentMemory, RunMemory

__all__ = ["MemoryAgent"]

TOOL_ITERATIONS = 4  # three memory calls and the answer


class MemoryAgent(AssistantAgent):
    """An assistant with memory. In a team, give memory to the agent that speaks to the user."""

    def __init__(
        self,
        name: str,
        model_client: ChatCompletionClient,
        *,
        memory_client: AsyncMemoryClient,
        ids: TurnIds | None = None,
        user_sources: Collection[str] = ("user",),
        memory_tools: bool = True,
        tools: Sequence[Any] | None = None,
        model_context: ChatCompletionContext | None = None,
        store: WatermarkStore | None = None,
        rules: CaptureRules | None = None,
        snapshot: bool = False,
        language: ToolLanguage = "en",
        **given: Any,
    ) -> None:
        """`user_sources` are the names under which users speak: to AutoGen, other agents of a team are users too.

        `memory_tools` needs an agent without a workbench. What is not named here is as in `AssistantAgent`, but that it may
        take tools four times before it answers; the rest is as in `AgentMemory`.
        """
        self.memories = AgentMemory(
            memory_client, view=view_plain, store=store, rules=rules, snapshot=snapshot, language=language
        )
        self._ids = ids or TurnIds()
        self._answers = Answered()
        self._user_sources = frozenset(user_sources)
        self._shown = _ShownContext(model_context or UnboundedChatCompletionContext(), self._user_sources)
        if memory_tools:
            tools = [*(tools or ()), *(_MemoryTool(self.memories, one) for one in self.memories.specs)]
            given.setdefault("max_tool_iterations", TOOL_ITERATIONS)
        super().__init__(name, model_client, tools=tools, model_context=self._shown, **given)

    @property
    def memory_status(self) -> RecorderStatus:
        """What was captured, what waits, what failed."""
        return self.memories.status

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """As `AssistantAgent`. The turn is handed over with the response, so not by a run that fails or is cancelled."""
        turn = asked(*(_spoken(message, "user") for message in messages if message.source in self._user_sources))
        run = self.memories.open(self._ids if self._answers.holds_new(turn) else replace(self._ids, nested=True))
        answers = super().on_messages_stream(messages, cancellation_token)
        try:
            while True:
                with run.entered(), self._shown.during(run, turn):
                    item = await anext(answers, None)
                if item is None:
                    return
                if isinstance(item, Response):
                    await run.ended(partial(_answered, turn, item.chat_message))
                    self._answers.note(turn)
                yield item
        finally:
            await answers.aclose()

    async def close(self) -> None:
        """Deliver what can be delivered. The clients stay open."""
        await super().close()
        await self.memories.aclose()


class _ShownContext(ChatCompletionContext):
    """A context that shows the model a copy with memories in it. What it stores is its inner context's alone."""

    def __init__(self, inner: ChatCompletionContext, user_sources: Collection[str]) -> None:
        super().__init__()
        self._inner = inner
        self._user_sources = user_sources
        self._running: ContextVar[tuple[RunMemory, Sequence[Spoken]] | None] = ContextVar(
            "memstrata_autogen", default=None
        )

    @contextmanager
    def during(self, run: RunMemory, turn: Sequence[Spoken]) -> Iterator[None]:
        """Show what this run recalls, to tasks that start within."""
        token = self._running.set((run, turn))
        try:
            yield
        finally:
            self._running.reset(token)

    async def add_message(self, message: LLMMessage) -> None:
        await self._inner.add_message(message)

    async def get_messages(self) -> list[LLMMessage]:
        messages = await self._inner.get_messages()
        running = self._running.get()
        return messages if running is None else await running[0].carried(messages, running[1], self._with)

    async def clear(self) -> None:
        await self._inner.clear()

    async def save_state(self) -> Mapping[str, Any]:
        return await self._inner.save_state()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        await self._inner.load_state(state)

    def _with(self, messages: list[LLMMessage], recalled: Recalled) -> list[LLMMessage]:
        shown = list(messages)
        for at in range(len(shown) - 1, -1, -1):
            message = shown[at]
            if recalled.prepend_context and isinstance(message, UserMessage) and message.source in self._user_sources:
                block, content = f"{recalled.prepend_context}\n\n", message.content
                joined = f"{block}{content}" if isinstance(content, str) else [block, *content]
                shown[at] = message.model_copy(update={"content": joined})
                break
        stable = recalled.append_system_context
        return [SystemMessage(content=stable), *shown] if stable else shown


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="allow")


class _MemoryTool(BaseTool[_Arguments, str]):
    def __init__(self, memory: AgentMemory, spec: ToolSpec) -> None:
        super().__init__(_Arguments, str, spec.name, spec.description)
        self._memory = memory
        self._spec = spec

    @property
    def schema(self) -> ToolSchema:
        parameters = cast("ParametersSchema", dict(self._spec.parameters))
        return ToolSchema(name=self._spec.name, description=self._spec.description, parameters=parameters)

    async def run(self, args: _Arguments, cancellation_token: CancellationToken) -> str:
        return await self._memory.call_tool(self._spec.name, args.model_dump())


def _spoken(message: BaseChatMessage, role: str) -> Spoken:
    return said(role, message.to_model_text(), message.id, message.created_at)


def _answered(turn: Sequence[Spoken], reply: BaseChatMessage) -> list[Spoken]:
    """Return a turn with its reply. The bare result of a tool, or a handoff, is nothing that the agent said."""
    silent = isinstance(reply, ToolCallSummaryMessage | HandoffMessage)
    return [*turn, _spoken(reply, "tool" if silent else "assistant")]
