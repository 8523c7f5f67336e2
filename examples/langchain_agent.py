"""A LangChain agent that remembers on Tuesday what it was told on Monday.

Run `memstrata serve` in another shell, then: pip install "memstrata[langchain]" && python examples/langchain_agent.py
The model is a script, so no key is needed: it knows only what is in the request.
"""

import os
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from memstrata.client import MemoryClient
from memstrata.integrations.langchain import MemoryMiddleware


class ScriptedModel(BaseChatModel):
    """Knows what the request says, and nothing else."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        asked = messages[-1].text
        if "Remember" in asked.splitlines()[-1]:
            answer = "I will."
        else:
            answer = "No: you are allergic to walnuts." if "allergic to walnuts" in asked else "I do not know."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer))])


client = MemoryClient(
    os.environ.get("MEMSTRATA_URL", "http://127.0.0.1:8420"),
    team=os.environ.get("MEMSTRATA_TEAM", "examples"),
    agent="helper",
    user="maya",
)
with client, MemoryMiddleware(client) as memory:
    agent = create_agent(ScriptedModel(), middleware=[memory], checkpointer=InMemorySaver())
    for session, words in [
        ("monday", "Remember that I am allergic to walnuts."),
        ("tuesday", "May I eat walnut cake?"),
    ]:
        result = agent.invoke({"messages": [("user", words)]}, {"configurable": {"thread_id": session}})
        print(f"{session}: {words}\n  → {result['messages'][-1].text}")
        memory.drain()
        client.flush(session=session)  # what happens by itself after a while, now
