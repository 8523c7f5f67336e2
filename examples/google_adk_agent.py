"""A Google ADK agent that remembers on Tuesday what it was told on Monday.

Run `memstrata serve` in another shell, then: pip install "memstrata[google-adk]" && python examples/google_adk_agent.py
The model is a script, so no key is needed: it knows only what is in the request.
"""

import asyncio
import os
from collections.abc import AsyncIterator

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from memstrata.client import AsyncMemoryClient
from memstrata.integrations.google_adk import AdkMemory


class ScriptedModel(BaseLlm):
    """Knows what the request says, and nothing else."""

    model: str = "scripted"

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncIterator[LlmResponse]:
        asked = "".join(part.text or "" for part in llm_request.contents[-1].parts or [])
        if "Remember" in asked.splitlines()[-1]:
            answer = "I will."
        else:
            answer = "No: you are allergic to walnuts." if "allergic to walnuts" in asked else "I do not know."
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=answer)]))


async def main() -> None:
    client = AsyncMemoryClient(
        os.environ.get("MEMSTRATA_URL", "http://127.0.0.1:8420"),
        team=os.environ.get("MEMSTRATA_TEAM", "examples"),
        agent="helper",
        user="maya",
    )
    memory = AdkMemory(client)
    app = App(name="helper", root_agent=LlmAgent(name="helper", model=ScriptedModel()), plugins=[memory])
    sessions = InMemorySessionService()
    async with client, Runner(app=app, session_service=sessions) as runner:
        for session, words in [
            ("monday", "Remember that I am allergic to walnuts."),
            ("tuesday", "May I eat walnut cake?"),
        ]:
            await sessions.create_session(app_name="helper", user_id="maya", session_id=session)
            message = types.Content(role="user", parts=[types.Part(text=words)])
            async for event in runner.run_async(user_id="maya", session_id=session, new_message=message):
                print(f"{session}: {words}\n  → {event.content.parts[0].text}")
            await memory.memory.drain()
            await client.flush(session=session)  # what happens by itself after a while, now


asyncio.run(main())
