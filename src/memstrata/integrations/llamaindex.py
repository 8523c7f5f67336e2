"""Memory for LlamaIndex's agents and agent workflows: `memory.run` in place of `agent.run`.

    memory = LlamaMemory(client, store=SqliteWatermarkStore("turns.db"))
    agent = RememberingFunctionAgent(llm=llm, tools=memory.tools())
    async with memory.run(agent, "where do I live?", memory=chat) as handler:
        print(await handler)

Recall goes into what one step of an agent sends. The framework's own memory blocks are not used: they are given messages
when its short-term memory is flushed, not when a turn ends, and what they put into a message stays there where a chat store
hands out the messages it keeps. Source: `reference/hub-sdk-plugins.md` §E.8.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from llama_index.core.agent.workflow import AgentOutput, AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool, FunctionTool, ToolMetadata
from workflows.handler import WorkflowHandler

from memstrata.client import Recalled, TurnIds, view_plain
from memstrata.client.turn import Seen
from memstrata.integrations.run_memory import AgentMemory, current_run

__all__ = ["LlamaMemory", "RememberingFunctionAgent", "RememberingReActAgent", "view_chat"]

T = TypeVar("T")

_log = logging.getLogger(__name__)


def view_chat(messages: Iterable[object]) -> tuple[Seen, ...]:
    """View chat messages. Those of other types have no role and no text."""
    return view_plain(_entry(message) for message in messages)


class LlamaMemory(AgentMemory):
    """Memory for the runs of any number of agents, workflows and conversations."""

    @staticmethod
    def framework_view(messages: Iterable[object]) -> tuple[Seen, ...]:
        return view_chat(messages)

    def tools(self) -> list[FunctionTool]:
        """Return the memory tools for an agent. All agents of a run share its budget."""

        def bound(name: str) -> Callable[..., Any]:
            async def call(**arguments: Any) -> str:
                return await self.call_tool(name, arguments)

            return call

        return [
            FunctionTool(
                async_fn=bound(one.name), metadata=_Metadata(one.description, one.name, parameters=one.parameters)
            )
            for one in self.specs
        ]

    @asynccontextmanager
    async def run(
        self,
        agent: BaseWorkflowAgent | AgentWorkflow,
        user_msg: str | ChatMessage | None = None,
        *,
        ids: TurnIds | None = None,
        **options: Any,
    ) -> AsyncIterator[WorkflowHandler]:
        """Run an agent as its own `run` does, with the same options: `async with memory.run(agent, text) as handler`.

        The turn is captured at the end of the block if the run came to its end there. A run that waits for a person has
        not; it is captured when it was resumed with its `ctx`, its `memory` and no message, also in another process if
        there is a `store`. The session is that of a `Memory` unless `ids` has one.
        """
        chat = await _guarded("a context", _chat_memory(options))
        ids = ids or TurnIds()
        run = self.open(ids if ids.session else replace(ids, session=getattr(chat, "session_id", None)))
        history = options.get("chat_history")
        before = await _guarded("a chat memory", _begins_with(chat, history, user_msg)) or []
        resumes = user_msg is None and not history
        await run.open(before, resumes=resumes)
        if user_msg is not None:
            options["user_msg"] = user_msg
        with run.entered():
            handler = agent.run(**options)
        if resumes and chat is not None:
            # A context that was written down is without it.
            await _guarded("a context", handler.ctx.store.set("memory", chat))
        yield handler
        if handler.is_done():
            finished = handler.get_stop_event()
            output = getattr(finished, "result", finished)
            if isinstance(output, AgentOutput):
                # A ReAct agent leaves its thoughts in its memory, not its answer; and a memory may be flushed meanwhile.
                await run.ended(lambda: [*before, output.response])


class _Remembering:
    """A step that sends what memory has along. The framework's messages are copied, not changed."""

    async def take_step(
        self, ctx: AgentContext, llm_input: list[ChatMessage], tools: Sequence[AsyncBaseTool], memory: BaseMemory
    ) -> AgentOutput:
        """Take a step of the agent below this class."""
        run = current_run()
        if run is not None and isinstance(run.owner, LlamaMemory) and run.owns(memory):
            llm_input = await run.carried(llm_input, (), self._with_memory)
        return await super().take_step(ctx, llm_input, tools, memory)  # type: ignore[misc]

    def _with_memory(self, messages: list[ChatMessage], recalled: Recalled) -> list[ChatMessage]:
        messages = _prefixed(messages, recalled.prepend_context)
        added = recalled.append_system_context
        if not added:
            return messages
        if messages and messages[0].role == "system":
            return [_with_blocks(messages[0], [*messages[0].blocks, TextBlock(text=f"\n{added}")]), *messages[1:]]
        return [ChatMessage(role="system", content=added), *messages]


class RememberingFunctionAgent(_Remembering, FunctionAgent):
    """`FunctionAgent`, with memory in what it sends when it is run by `LlamaMemory.run`."""


class RememberingReActAgent(_Remembering, ReActAgent):
    """`ReActAgent`, with memory in what it sends when it is run by `LlamaMemory.run`."""

    def _with_memory(self, messages: list[ChatMessage], recalled: Recalled) -> list[ChatMessage]:
        # The step leaves out a first system message, because its own has the same text; so memory's is a second one.
        messages = _prefixed(messages, recalled.prepend_context)
        if not recalled.append_system_context:
            return messages
        has_prompt = bool(messages) and messages[0].role == "system"
        first = messages[0] if has_prompt else ChatMessage(role="system", content="")
        return [first, ChatMessage(role="system", content=recalled.append_system_context), *messages[has_prompt:]]


@dataclass
class _Metadata(ToolMetadata):
    """A tool's description with the schema that it already has."""

    parameters: Mapping[str, Any] = field(default_factory=dict)

    def get_parameters_dict(self) -> dict[str, Any]:
        return dict(self.parameters)


def _prefixed(messages: list[ChatMessage], block: str) -> list[ChatMessage]:
    """Return the messages with a block in front of the newest one of a user, which is a copy."""
    newest = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "user"), None)
    if not block or newest is None:
        return messages
    said = _with_blocks(messages[newest], [TextBlock(text=f"{block}\n"), *messages[newest].blocks])
    return [*messages[:newest], said, *messages[newest + 1 :]]


def _with_blocks(message: ChatMessage, blocks: list[Any]) -> ChatMessage:
    return message.model_copy(update={"blocks": blocks})


async def _chat_memory(options: Mapping[str, Any]) -> BaseMemory | None:
    """Return the chat memory that a run will use, None where it makes one."""
    context, given = options.get("ctx"), options.get("memory")
    return given if context is None else await context.store.get("memory", default=None) or given


async def _begins_with(
    chat: BaseMemory | None, history: Sequence[ChatMessage] | None, user_msg: str | ChatMessage | None
) -> list[ChatMessage]:
    """Return the list that a run begins with. A copy, because a state prompt is written into the stored messages."""
    messages = list(history or (() if chat is None else await chat.aget_all()))
    if user_msg is not None:
        messages.append(ChatMessage(role="user", content=user_msg) if isinstance(user_msg, str) else user_msg)
    return [message.model_copy(deep=True) for message in messages]


async def _guarded(what: str, work: Awaitable[T]) -> T | None:
    try:
        return await work
    except Exception as error:  # noqa: BLE001 - never into the agent
        _log.warning("%s could not be used: %s; the run goes on without memory", what, type(error).__name__)
        return None


def _entry(message: object) -> dict[str, Any]:
    """Read a message as what `view_plain` takes."""
    if not isinstance(message, ChatMessage):
        return {}
    calls = message.additional_kwargs.get("tool_calls") or any(isinstance(one, ToolCallBlock) for one in message.blocks)
    content = [
        {"type": one.block_type, "text": one.text if isinstance(one, TextBlock) else None} for one in message.blocks
    ]
    return {"role": str(message.role.value), "content": content, "tool_calls": calls}
