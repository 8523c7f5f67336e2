"""Turns of a LangChain agent with memory, with hooks that do nothing, and with none; seconds of each as JSON.

    python benchmarks/middleware_turns.py URL TURNS TEAM AGENT USER

The model answers at once. Each turn has forty messages before it and a thread of its own. The time of the request that
recalls is taken in the transport, so all that the client does around it counts as memory's own. What a turn leaves to be sent
afterwards is waited for between turns: it runs beside the next ones, not in their way. LangGraph makes a step with a
checkpoint of each start and end hook, which the hooks that do nothing show by themselves.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

import httpx
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from memstrata.client import MemoryClient
from memstrata.integrations.langchain import MemoryMiddleware

_BEFORE = 20  # exchanges
_WARM_UP = 5


class _Model(BaseChatModel):
    """Answers at once."""

    @property
    def _llm_type(self) -> str:
        return "ready"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Green tea."))])


class _Watched(MemoryMiddleware):
    """Says how long a request waits for memory before it goes to the model."""

    request_seconds = 0.0

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        started = time.perf_counter()

        def reached(carrying: Any) -> Any:
            self.request_seconds = time.perf_counter() - started
            return handler(carrying)

        return super().wrap_model_call(request, reached)


class _Idle(AgentMiddleware[Any, Any, Any]):
    """Has the hooks of memory and does nothing in them."""

    state_schema = MemoryMiddleware.state_schema

    def __init__(self, tools: Sequence[Any]) -> None:
        super().__init__()
        self.tools = list(tools)

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"memstrata_run": "", "memstrata_turn": ""}

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request)

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(request)

    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"memstrata_run": "", "memstrata_turn": ""}


class _Timed(httpx.HTTPTransport):
    """Adds up how long recall took on the wire and in the server."""

    recall_seconds = 0.0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        started = time.perf_counter()
        response = super().handle_request(request)
        if request.url.path == "/v3/recall":
            response.read()
            self.recall_seconds += time.perf_counter() - started
        return response


def main(url: str, turns: str, team: str, agent_id: str, user: str) -> None:
    """Run the turns and print what they took."""
    timed = _Timed()
    taken: dict[str, list[float]] = {side: [] for side in ("memory", "request", "recall_http", "idle", "bare")}
    with (
        MemoryClient(url, team=team, agent=agent_id, user=user, transport=timed) as client,
        _Watched(client) as memory,
    ):
        remembering = create_agent(_Model(), middleware=[memory], checkpointer=InMemorySaver())
        idle = create_agent(_Model(), middleware=[_Idle(memory.tools)], checkpointer=InMemorySaver())
        bare = create_agent(_Model(), tools=memory.tools, checkpointer=InMemorySaver())
        for number in range(-_WARM_UP, int(turns)):
            timed.recall_seconds = 0.0
            seconds = {"memory": _turn(remembering, number)}
            seconds |= {"request": memory.request_seconds, "recall_http": timed.recall_seconds}
            if memory.drain() or not timed.recall_seconds:
                raise RuntimeError("a turn was not recalled for, or not captured")
            seconds |= {"idle": _turn(idle, number), "bare": _turn(bare, number)}
            if number >= 0:
                for side, one in seconds.items():
                    taken[side].append(one)
    print(json.dumps(taken))


def _turn(agent: Any, number: int) -> float:
    earlier = [
        message
        for exchange in range(_BEFORE)
        for message in (HumanMessage(f"question {number}.{exchange}"), AIMessage(f"answer {exchange}"))
    ]
    entered = {"messages": [*earlier, HumanMessage(f"which tea, for the {number}th time?")]}
    started = time.perf_counter()
    agent.invoke(entered, {"configurable": {"thread_id": f"bench-{number}"}})
    return time.perf_counter() - started


if __name__ == "__main__":
    main(*sys.argv[1:])
