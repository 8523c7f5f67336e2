"""Turns of a LangChain agent with memory and without, one after the other; seconds of each as JSON on standard output.

    python benchmarks/middleware_turns.py URL TURNS TEAM AGENT USER

The model answers at once. Each turn has forty messages before it and a thread of its own. The time of the request that
recalls is taken in the transport, so all that the client does around it counts as memory's own. What a turn leaves to be sent
afterwards is waited for between turns: it runs beside the next ones, not in their way.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

import httpx
from langchain.agents import create_agent
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
    taken: dict[str, list[float]] = {"with": [], "without": [], "http": []}
    with (
        MemoryClient(url, team=team, agent=agent_id, user=user, transport=timed) as client,
        MemoryMiddleware(client) as memory,
    ):
        remembering = create_agent(_Model(), middleware=[memory], checkpointer=InMemorySaver())
        bare = create_agent(_Model(), tools=memory.tools, checkpointer=InMemorySaver())
        for number in range(-_WARM_UP, int(turns)):
            timed.recall_seconds = 0.0
            whole = _turn(remembering, number)
            http = timed.recall_seconds
            if memory.drain() or not http:
                raise RuntimeError("a turn was not recalled for, or not captured")
            alone = _turn(bare, number)
            if number >= 0:
                taken["with"].append(whole)
                taken["without"].append(alone)
                taken["http"].append(http)
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
