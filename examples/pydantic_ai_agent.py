"""A Pydantic AI agent that remembers on Tuesday what it was told on Monday.

Run `memstrata serve` in another shell, then: pip install "memstrata[pydantic-ai]" && python examples/pydantic_ai_agent.py
The model is a script, so no key is needed: it knows only what is in the request.
"""

import asyncio
import os

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memstrata.client import AsyncMemoryClient
from memstrata.integrations.pydantic_ai import MemoryCapability


def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Know what the request says, and nothing else."""
    asked = str(getattr(messages[-1].parts[-1], "content", ""))
    if "Remember" in asked.splitlines()[-1]:
        return ModelResponse([TextPart("I will.")])
    knows = "allergic to walnuts" in asked
    return ModelResponse([TextPart("No: you are allergic to walnuts." if knows else "I do not know.")])


async def main() -> None:
    """Talk in two conversations."""
    async with AsyncMemoryClient(
        os.environ.get("MEMSTRATA_URL", "http://127.0.0.1:8420"),
        team=os.environ.get("MEMSTRATA_TEAM", "examples"),
        agent="helper",
        user="maya",
    ) as client:
        capability = MemoryCapability(client)
        agent = Agent(FunctionModel(respond), capabilities=[capability])
        for conversation, words in [
            ("monday", "Remember that I am allergic to walnuts."),
            ("tuesday", "May I eat walnut cake?"),
        ]:
            result = await agent.run(words, conversation_id=conversation)
            print(f"{conversation}: {words}\n  → {result.output}")
            await capability.memory.drain()
            await client.flush(session=conversation)  # what happens by itself after a while, now
        await capability.memory.aclose()


asyncio.run(main())
