"""Memory for Google ADK: a plugin of a runner, for all agents that it runs.

    memory = AdkMemory(client)
    runner = Runner(app=App(name="helpdesk", root_agent=agent, plugins=[memory]), session_service=sessions)

A turn is cut from the session's own events, which have ids and outlive the process; so a paused run can be finished by any
process, and no event is sent twice. It is no memory service: that interface is handed the whole session again and again.
Source: `reference/hub-sdk-plugins.md` §E.8.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from memstrata.client import AsyncMemoryClient, CaptureRules, Recalled, TurnIds, WatermarkStore, view_plain
from memstrata.client._tool_words import ToolLanguage
from memstrata.client.turn import Seen
from memstrata.client.turn.watermark import is_genuine_user
from memstrata.integrations.run_memory import AgentMemory, RunMemory

__all__ = ["AdkMemory", "view_events"]

_log = logging.getLogger(__name__)

MAX_RUNS = 10_000  # runs that were cancelled leave no trace, so the oldest go
_MEDIA = frozenset({"image", "audio", "video"})

_inside_tool: ContextVar[bool] = ContextVar("memstrata_adk_inside_tool", default=False)


def view_events(events: Iterable[Any]) -> tuple[Seen, ...]:
    """View the events of a session. Answers of tools and compacted events are nobody's words."""
    return view_plain(_message(event) for event in events)


class AdkMemory(BasePlugin):
    """Memory for any number of sessions and runs. An agent that runs as a tool of another gets and leaves nothing."""

    def __init__(
        self,
        client: AsyncMemoryClient,
        *,
        ids: Callable[[Session], TurnIds] = lambda session: TurnIds(session=session.id, user=session.user_id),
        tools: bool = True,
        store: WatermarkStore | None = None,
        rules: CaptureRules | None = None,
        snapshot: bool = False,
        language: ToolLanguage = "en",
    ) -> None:
        """`ids` says whose memory a session uses; by default that of its user. `tools`: agents get the memory tools.

        The rest is as in `AgentMemory`.
        """
        super().__init__(name="memstrata")
        self.memory = AgentMemory(
            client, view=view_events, store=store, rules=rules, snapshot=snapshot, language=language
        )
        self._ids = ids
        self._tools = tools
        self._runs: OrderedDict[str, RunMemory] = OrderedDict()

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Open the run's memory."""
        if _inside_tool.get():
            return
        try:
            self._runs[invocation_context.invocation_id] = self.memory.open(self._ids(invocation_context.session))
        except Exception as error:  # noqa: BLE001 - never into the agent
            _log.warning("a run goes without memory: %s", type(error).__name__)
        while len(self._runs) > MAX_RUNS:
            self._runs.popitem(last=False)

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Put what is remembered into the request. The session's events stay as they are."""
        run = self._runs.get(callback_context.invocation_id)
        if run is not None:
            asked = _up_to_user(callback_context.session.events)
            await run.carried(llm_request, asked, partial(self._inject, run, asked))

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> None:
        """Mark the tool's own task, so that a runner inside it is known as nested."""
        _inside_tool.set(True)

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Hand over the turn, unless the run waits for an answer from outside; then the run that has it does."""
        run = self._runs.pop(invocation_context.invocation_id, None)
        events = invocation_context.session.events
        if run is not None and not _waits(events, invocation_context.invocation_id):
            await run.ended(lambda: events)

    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: Exception) -> None:
        """Leave the turn open; the next one carries it."""
        self._runs.pop(invocation_context.invocation_id, None)

    async def close(self) -> None:
        """Deliver what can be delivered. The client stays open."""
        await self.memory.aclose()

    def _inject(self, run: RunMemory, asked: Sequence[Event], request: LlmRequest, recalled: Recalled) -> LlmRequest:
        contents = _prefixed(request.contents, asked, recalled.prepend_context)
        if recalled.append_system_context:
            request.append_instructions([recalled.append_system_context])
        # Gemini refuses a request that asks for a schema and has functions.
        if self._tools and not (request.config.response_schema or request.config.response_json_schema):
            tools = [_MemoryTool(run, one.name, one.description, dict(one.parameters)) for one in self.memory.specs]
            request.append_tools([tool for tool in tools if tool.name not in request.tools_dict])
        request.contents = contents
        return request


class _MemoryTool(BaseTool):
    def __init__(self, run: RunMemory, name: str, description: str, parameters: dict[str, Any]) -> None:
        super().__init__(name=name, description=description)
        self._run = run
        self._parameters = parameters

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._parameters
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> str:
        return await self._run.call_tool(self.name, args)


def _message(event: Event) -> dict[str, object]:
    parts = (event.content.parts or []) if event.content else []
    answers = any(part.function_response for part in parts)
    calls = any(part.function_call for part in parts)
    texts = [_text(part) for part in parts]
    text = "\n".join(one for one in texts if one)
    role = "tool" if answers and not text else "user" if event.author == "user" else "assistant"
    return {
        "id": event.id,
        "role": role if text or answers or calls else "other",
        "content": text,
        "tool_calls": calls,
        "timestamp": datetime.fromtimestamp(event.timestamp, UTC),
        "synthetic": event.actions is not None and event.actions.compaction is not None,
    }


def _text(part: types.Part) -> str:
    if part.text:
        return "" if part.thought else str(part.text)
    media = part.inline_data or part.file_data
    if media is None:
        return ""
    kind = (media.mime_type or "").split("/")[0]
    return f"[{kind if kind in _MEDIA else 'file'}]"


def _up_to_user(events: Sequence[Event]) -> list[Event]:
    """Return the events up to the newest that a user said: where a turn begins, also when its run is resumed."""
    seen = view_events(events)
    newest = max((at for at, message in enumerate(seen) if is_genuine_user(message)), default=-1)
    return list(events[: newest + 1])


def _waits(events: Sequence[Event], invocation_id: str) -> bool:
    """Whether a call of this invocation still waits for its answer, such as an approval."""
    waiting: set[str] = set()
    for event in events:
        if event.invocation_id == invocation_id:
            waiting |= event.long_running_tool_ids or set()
            parts = (event.content.parts or []) if event.content else []
            waiting -= {part.function_response.id for part in parts if part.function_response}
    return bool(waiting)


def _prefixed(contents: list[types.Content], asked: Sequence[Event], block: str) -> list[types.Content]:
    """Return contents with the block in front of the newest user message, which is a copy."""
    if not block or not asked or asked[-1].content is None:
        return contents
    said = [part.text for part in asked[-1].content.parts or [] if part.text]
    for at in range(len(contents) - 1, -1, -1):
        parts = contents[at].parts or []
        if contents[at].role == "user" and [part.text for part in parts if part.text] == said:
            marked = types.Content(role="user", parts=[types.Part(text=f"{block}\n\n"), *parts])
            return [*contents[:at], marked, *contents[at + 1 :]]
    _log.warning("the user's message is not in a request; it goes without memories")
    return contents
