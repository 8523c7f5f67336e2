"""An agent of the OpenAI Agents SDK that remembers on Tuesday what it was told on Monday.

Run `memstrata serve` in another shell, then: pip install "memstrata[openai-agents]" && python examples/openai_agents_agent.py
The model is a script, so no key is needed: it knows only what is in the request.
"""

import asyncio
import os
from collections.abc import Sequence
from typing import Any

from agents import Agent, SQLiteSession, set_tracing_disabled
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message

from memstrata.client import AsyncMemoryClient
from memstrata.integrations.openai_agents import AgentsMemory


def respond(call: ModelCall) -> Sequence[Any]:
    """Know what the request says, and nothing else."""
    asked = call.input[-1]["content"]
    if "Remember" in asked.splitlines()[-1]:
        return [assistant_message("I will.")]
    knows = "allergic to walnuts" in asked
    return [assistant_message("No: you are allergic to walnuts." if knows else "I do not know.")]


async def main() -> None:
    """Talk in two sessions."""
    set_tracing_disabled(True)
    async with AsyncMemoryClient(
        os.environ.get("MEMSTRATA_URL", "http://127.0.0.1:8420"),
        team=os.environ.get("MEMSTRATA_TEAM", "examples"),
        agent="helper",
        user="maya",
    ) as client:
        memory = AgentsMemory(client)
        model = ScriptedModel([ModelStep(responder=respond), ModelStep(responder=respond)])
        agent = Agent(name="helper", model=model, tools=memory.tools())
        for session, words in [
            ("monday", "Remember that I am allergic to walnuts."),
            ("tuesday", "May I eat walnut cake?"),
        ]:
            result = await memory.run(agent, words, session=SQLiteSession(session))
            print(f"{session}: {words}\n  → {result.final_output}")
            await memory.drain()
            await client.flush(session=session)  # what happens by itself after a while, now
        await memory.aclose()


asyncio.run(main())
