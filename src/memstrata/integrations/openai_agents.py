"""Memory for the OpenAI Agents SDK: `memory.run` in place of `Runner.run`.

    memory = AgentsMemory(client, store=SqliteWatermarkStore("turns.db"))
    agent = Agent(name="Helper", tools=memory.tools())
    result = await memory.run(agent, "where do I live?", session=SQLiteSession("thread-1"))

Recall goes through the filter in front of each model call, whose result no session stores. The start and end hooks of
agents are left alone: they come again with each handoff, and a turn is what one `run` does. Source:
`reference/hub-sdk-plugins.md` §E.8.
"""

from __future__ import annotations

import inspect
import logging
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from agents import (
    Agent,
    FunctionTool,
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    RunResult,
    RunResultStreaming,
    RunState,
    ToolApprovalItem,
)
from agents.run_config import CallModelData, ModelInputData
from agents.tool_context import ToolContext

from memstrata.client import Recalled, TurnIds, view_openai_responses
from memstrata.client.turn import Seen
from memstrata.client.turn.fingerprints import is_fingerprint
from memstrata.integrations.run_memory import AgentMemory, RunMemory

__all__ = ["AgentsMemory", "view_items"]

_log = logging.getLogger(__name__)

_GUARDS = (InputGuardrailTripwireTriggered, OutputGuardrailTripwireTriggered)
_SERVER_SIDE = ("conversation_id", "previous_response_id", "auto_previous_response_id")


def view_items(items: Iterable[object]) -> tuple[Seen, ...]:
    """View items of a run without their ids: where a provider gives none, the SDK puts one and the same in all."""
    return view_openai_responses(
        {key: value for key, value in item.items() if key != "id" or is_fingerprint(str(value))}
        if isinstance(item, Mapping)
        else item
        for item in items
    )


class AgentsMemory(AgentMemory):
    """Memory for the runs of any number of agents and sessions."""

    @staticmethod
    def framework_view(messages: Iterable[object]) -> tuple[Seen, ...]:
        return view_items(messages)

    def tools(self) -> list[FunctionTool]:
        """Return the memory tools for `Agent(tools=...)`. All agents of a run share its budget."""

        async def call(name: str, _: ToolContext[Any], arguments: str) -> str:
            return await self.call_tool(name, arguments)

        return [
            FunctionTool(one.name, one.description, dict(one.parameters), partial(call, one.name), False)
            for one in self.specs
        ]

    async def run(
        self,
        agent: Agent[Any],
        input: str | Sequence[Any] | RunState[Any],  # noqa: A002 - as `Runner.run` has it
        *,
        ids: TurnIds | None = None,
        run_config: RunConfig | None = None,
        **options: Any,
    ) -> RunResult:
        """Run an agent as `Runner.run` does, with the same options and errors.

        The SDK's session is the session in memory too unless `ids` has one. A run that stops for an approval is captured
        when it was resumed to its end, also in another process if there is a `store`.
        """
        hooked = _Run(self.open(ids), input, run_config, options)
        with hooked.memory.entered():
            try:
                result = await Runner.run(agent, input, run_config=hooked.config, **options)
            except _GUARDS:
                await hooked.blocked()
                raise
        await hooked.ended(result)
        return result

    @asynccontextmanager
    async def run_streamed(
        self,
        agent: Agent[Any],
        input: str | Sequence[Any] | RunState[Any],  # noqa: A002 - as `Runner.run_streamed` has it
        *,
        ids: TurnIds | None = None,
        run_config: RunConfig | None = None,
        **options: Any,
    ) -> AsyncIterator[RunResultStreaming]:
        """Run an agent as `Runner.run_streamed` does: `async with memory.run_streamed(agent, text) as result`.

        The turn is captured at the end of the block if the stream was read to its end there.
        """
        hooked = _Run(self.open(ids), input, run_config, options)
        with hooked.memory.entered():
            result = Runner.run_streamed(agent, input, run_config=hooked.config, **options)
        try:
            yield result
        except _GUARDS:
            await hooked.blocked()
            raise
        await hooked.ended(result)


class _Run:
    """The filter of one run, and what becomes of its list at the end."""

    def __init__(self, memory: RunMemory, given: object, config: RunConfig | None, options: Mapping[str, Any]) -> None:
        self.memory = memory
        self._resumes = isinstance(given, RunState)
        self._session = options.get("session")
        # A conversation that the provider keeps takes in what it is sent; instructions are not part of it. And it shows a
        # run its own messages alone, so these get ids that no other run's have.
        self._kept_by_provider = any(options.get(name) or getattr(given, f"_{name}", None) for name in _SERVER_SIDE)
        self._key = uuid.uuid4().hex
        config = config or RunConfig()
        self._theirs = config.call_model_input_filter
        self.config = replace(config, call_model_input_filter=self._filter)

    async def blocked(self) -> None:
        """Close a turn that a guardrail ended."""
        self._take_session()
        await self.memory.ended(lambda: self.memory.messages, blocked=True)

    async def ended(self, result: RunResult | RunResultStreaming) -> None:
        """Capture a run that came to its end; one that waits for an approval has not."""
        if not result.interruptions and result.final_output is not None:
            await self.memory.ended(lambda: self._said(result))

    async def _filter(self, data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        if self._theirs is not None:
            answer = self._theirs(data)
            given = await answer if inspect.isawaitable(answer) else answer
            if not isinstance(given, ModelInputData):
                return given  # the SDK says what is wrong with it
        self._take_session()
        return await self.memory.carried(given, self._named(given.input), self._inject)

    def _take_session(self) -> None:
        """Have the SDK's session as the session in memory, unless the ids have one. Some have no id before they are used."""
        if self._session is None or self.memory.ids.session:
            return
        try:
            self.memory.ids = replace(self.memory.ids, session=self._session.session_id)
        except Exception as error:  # noqa: BLE001 - never into the agent
            _log.warning("a session has no id: %s", type(error).__name__)

    def _inject(self, given: ModelInputData, recalled: Recalled) -> ModelInputData:
        instructions = recalled.in_system(given.instructions or "")
        items = recalled.in_messages(given.input, view=view_items)
        if self._kept_by_provider or items == given.input:
            instructions = "\n\n".join(part for part in (instructions, recalled.prepend_context) if part)
            items = given.input
        return ModelInputData(items, instructions or given.instructions)

    def _said(self, result: RunResult | RunResultStreaming) -> list[Any]:
        """Return the whole list. `result.input` is not what it began with once a handoff has rewritten it."""
        if self._resumes:
            return self._named(result.to_input_list())
        new = [item.to_input_item() for item in result.new_items if not isinstance(item, ToolApprovalItem)]
        return [*self.memory.messages, *self._named(new, len(self.memory.messages))]

    def _named(self, items: Sequence[Any], first: int = 0) -> list[Any]:
        if not self._kept_by_provider:
            return list(items)
        return [
            {**item, "id": f"fp-{self._key}-{first + at}"} if isinstance(item, Mapping) else item
            for at, item in enumerate(items)
        ]
