"""Memory for LangChain agents: one middleware, the first of the list.

    memory = MemoryMiddleware(MemoryClient(team="acme", agent="helpdesk", user="maya"))
    agent = create_agent(model, tools, middleware=[memory, ...], checkpointer=checkpointer)
    agent.invoke({"messages": [("user", "where do I live?")]}, {"configurable": {"thread_id": "thread-1"}})

First, because its start hook must see the list before others edit it, and its end hook must see it last. Blocking and
asynchronous runs may be mixed. The turn in progress is a private key of the agent's state, so with a checkpointer a run
that was interrupted is captured by whatever process ends it. Source: `reference/hub-sdk-plugins.md` §E.6.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from types import TracebackType
from typing import Annotated, Any, NotRequired, Self, TypedDict, TypeVar

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ToolCallRequest
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import SystemMessage, ToolMessage

from memstrata.client import (
    CaptureRules,
    MemoryClient,
    Recalled,
    Recaller,
    RecorderStatus,
    Toolset,
    Turn,
    TurnIds,
    TurnRecorder,
    WatermarkStore,
    view_langchain,
)
from memstrata.client._tool_words import ToolLanguage, words_in
from memstrata.client.turn.parcel import decode_turn, encode_turn
from memstrata.client.turn.store import in_daemon_thread

__all__ = ["MemoryMiddleware", "ids_of"]

T = TypeVar("T")

_log = logging.getLogger(__name__)

MAX_RUNS = 10_000  # runs that failed or wait for a person stay until this many came after them


class MemoryState(TypedDict):
    """What a turn needs to be ended elsewhere. Hidden from the agent's input and output."""

    memstrata_run: NotRequired[Annotated[str, PrivateStateAttr]]
    memstrata_turn: NotRequired[Annotated[str, PrivateStateAttr]]


@dataclass(slots=True)
class _Run:
    """One run in this process. `began` here, or elsewhere and was resumed; `asked` a model."""

    toolset: Toolset
    recalled: Recalled | None = None
    began: bool = False
    asked: bool = False


def ids_of(runtime: Any) -> TurnIds:
    """Return whose run it is: the thread is the session; `context_schema` may have user, agent, team, task, session."""
    info = runtime.execution_info
    context = runtime.context

    def given(name: str) -> str | None:
        value = context.get(name) if isinstance(context, Mapping) else getattr(context, name, None)
        return value if isinstance(value, str) and value else None

    return TurnIds(
        session=given("session") or (info.thread_id if info else None),
        user=given("user"),
        agent=given("agent"),
        team=given("team"),
        task=given("task"),
        nested=bool(info) and "|" in (info.checkpoint_ns or ""),
    )


class MemoryMiddleware(AgentMiddleware[Any, Any, Any]):
    """Captures each turn, recalls for each, and gives the agent the memory tools. For any number of threads."""

    state_schema = MemoryState

    def __init__(
        self,
        client: MemoryClient,
        *,
        ids: Callable[[Any], TurnIds] = ids_of,
        store: WatermarkStore | None = None,
        rules: CaptureRules | None = None,
        snapshot: bool = False,
        with_tools: bool = True,
        language: ToolLanguage = "en",
    ) -> None:
        """`ids` reads LangGraph's runtime. An agent that is itself a node of a graph needs `rules` with `capture_nested`.

        `store`: where turns wait for the server; without a checkpointer, also where an interrupted turn is written down.
        `snapshot`: persona and scenes stay as a session first saw them. `language`: of the tools.
        """
        super().__init__()
        self._client = client
        self._ids = ids
        self._language: ToolLanguage = language
        self._recorder = TurnRecorder(client, view=view_langchain, store=store, rules=rules)
        self._recaller = Recaller(client, view=view_langchain, snapshot=snapshot)
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._lock = threading.Lock()
        # The tools are here for what they say of themselves; `wrap_tool_call` runs them, with the budget of the run.
        self.tools = Toolset(client, language=language).langchain() if with_tools else []

    @property
    def status(self) -> RecorderStatus:
        """What was captured, what waits, what failed."""
        return self._recorder.status

    def drain(self, seconds: float = 5.0) -> int:
        """Deliver what waits; return how many turns still wait after that time."""
        return self._recorder.drain(seconds)

    def close(self, seconds: float = 5.0) -> None:
        """Deliver what can be delivered in that time and stop. The client stays open."""
        self._recorder.close(seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Place the watermark, once for each new input; a run that is resumed does not come here."""
        try:
            ids = self._ids(runtime)
            turn = self._recorder.begin(state["messages"], ids)
            key = uuid.uuid4().hex
            self._run(key, ids).began = True
            return {"memstrata_run": key, "memstrata_turn": encode_turn(turn) if turn else ""}
        except Exception as error:  # noqa: BLE001 - never into the agent
            _left_out("the start of a run", error)
            return {"memstrata_run": "", "memstrata_turn": ""}

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return await _aside(lambda: self.before_agent(state, runtime))

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Put into the request, which nothing stores, what the first request of the run recalled."""
        return handler(self._carrying(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        return await handler(await _aside(lambda: self._carrying(request)))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Run a memory tool within the budget of its run; leave every other tool alone."""
        return self._answer(request) if self._is_own(request) else handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        return await (_aside(lambda: self._answer(request)) if self._is_own(request) else handler(request))

    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Hand over what the turn added. It is not reached by a run that failed, was cancelled or waits for a person."""
        try:
            key = state.get("memstrata_run", "")
            with self._lock:
                run = self._runs.pop(key, None)
            ids = self._ids(runtime)
            blocked = run is not None and run.began and not run.asked
            self._recorder.capture(state["messages"], ids, self._turn(state, ids), blocked=blocked)
        except Exception as error:  # noqa: BLE001 - never into the agent
            _left_out("the end of a run", error)
        return {"memstrata_run": "", "memstrata_turn": ""}

    async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return await _aside(lambda: self.after_agent(state, runtime))

    def _carrying(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        try:
            ids = self._ids(request.runtime)
            run = self._run(request.state.get("memstrata_run", ""), ids)
            run.asked = True
            if run.recalled is None:
                run.recalled = self._recaller.recall(request.messages, ids)
            messages = run.recalled.in_messages(request.messages, view=view_langchain)
            return request.override(messages=messages, system_message=_system(request.system_message, run.recalled))
        except Exception as error:  # noqa: BLE001 - never into the agent
            _left_out("a request", error)
            return request

    def _is_own(self, request: ToolCallRequest) -> bool:
        return any(request.tool is tool for tool in self.tools)

    def _answer(self, request: ToolCallRequest) -> ToolMessage:
        call = request.tool_call
        try:
            run = self._run(request.state.get("memstrata_run", ""), self._ids(request.runtime))
            text = run.toolset.call(call["name"], call["args"])
        except Exception as error:  # noqa: BLE001 - a tool that raises ends the run
            _left_out("a tool call", error)
            text = words_in(self._language).unavailable
        return ToolMessage(text, tool_call_id=call["id"], name=call["name"])

    def _run(self, key: str, ids: TurnIds) -> _Run:
        with self._lock:
            run = self._runs.get(key)
            if run is None:
                # Tools search all sessions: what is known of a user does not end with a thread.
                own = self._client.with_scope(team=ids.team, agent=ids.agent, user=ids.user, session=None)
                run = _Run(Toolset(own, language=self._language))
                if key:
                    self._runs[key] = run
                if len(self._runs) > MAX_RUNS:
                    self._runs.popitem(last=False)
            return run

    def _turn(self, state: Any, ids: TurnIds) -> Turn | None:
        """Return the turn that the state holds, unless another user ends it than the one who began it."""
        text = state.get("memstrata_turn", "")
        turn = decode_turn(text) if text else None
        return turn if turn and turn.user == (ids.user or self._client._calls.user) else None


def _system(message: SystemMessage | None, recalled: Recalled) -> SystemMessage | None:
    block = recalled.append_system_context
    if not block:
        return message
    if message is None:
        return SystemMessage(block)
    if isinstance(message.content, str):
        return message.model_copy(update={"content": recalled.in_system(message.content)})
    return message.model_copy(update={"content": [*message.content, {"type": "text", "text": block}]})


async def _aside(work: Callable[[], T]) -> T:
    """Run what blocks in a thread of its own: in a pool, runs would wait for each other where the server is slow."""
    context = copy_context()
    return await in_daemon_thread(lambda: context.run(work))


def _left_out(part: str, error: Exception) -> None:
    _log.warning("memory was left out of %s: %s", part, type(error).__name__)
