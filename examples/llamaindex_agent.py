"""A LlamaIndex agent that remembers on Tuesday what it was told on Monday.

Run `memstrata serve` in another shell, then: pip install "memstrata[llamaindex]" && python examples/llamaindex_agent.py
The model is a script, so no key is needed: it knows only what is in the request.
"""

import asyncio
import os
from collections.abc import Sequence
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer

from memstrata.client import AsyncMemoryClient, TurnIds
from memstrata.integrations.llamaindex import LlamaMemory, RememberingFunctionAgent


def respond(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
    """Know what the request says, and nothing else."""
    asked = str(messages[-1].content)
    if "Remember" in asked.splitlines()[-1]:
        return ChatMessage(role="assistant", content="I will.")
    knows = "allergic to walnuts" in asked
    return ChatMessage(role="assistant", content="No: you are allergic to walnuts." if knows else "I do not know.")


async def main() -> None:
    """Talk in two sessions."""
    async with AsyncMemoryClient(
        os.environ.get("MEMSTRATA_URL", "http://127.0.0.1:8420"),
        team=os.environ.get("MEMSTRATA_TEAM", "examples"),
        agent="helper",
        user="maya",
    ) as client:
        memory = LlamaMemory(client)
        llm = MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)
        agent = RememberingFunctionAgent(llm=llm, tools=memory.tools(), streaming=False)
        for session, words in [
            ("monday", "Remember that I am allergic to walnuts."),
            ("tuesday", "May I eat walnut cake?"),
        ]:
            chat = ChatMemoryBuffer.from_defaults()
            async with memory.run(agent, words, memory=chat, ids=TurnIds(session=session)) as handler:
                print(f"{session}: {words}\n  → {await handler}")
            await memory.drain()
            await client.flush(session=session)  # what happens by itself after a while, now
        await memory.aclose()


asyncio.run(main())
