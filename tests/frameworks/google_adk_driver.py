"""Google ADK: a runner over a session service in a file, with a model of our own in the framework's form."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import FunctionTool
from google.genai import types
from pydantic import PrivateAttr

from memstrata.client import SqliteWatermarkStore
from memstrata.integrations.google_adk import AdkMemory

from .answers import Answers
from .bench import Bench
from .driver import FAIL, HANG, MONDAY, Answer, Call, Thread, look_up, pay

__all__ = ["AdkDriver", "ScriptedModel", "message"]

APP = "helpdesk"
APPROVAL = "adk_request_confirmation"


class ScriptedModel(BaseLlm):
    """A model that answers what a test has ready."""

    model: str = "scripted"
    _answers: Answers = PrivateAttr(default_factory=Answers)

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncIterator[LlmResponse]:
        answer = self._answers.next(_as_text(llm_request))
        if answer is FAIL:
            raise ConnectionError("the provider refuses")
        if answer is HANG:
            await asyncio.Event().wait()
        yield LlmResponse(content=types.Content(role="model", parts=[_part(answer)]))


class AdkDriver:
    lacks: ClassVar[Mapping[str, str]] = {
        "message ids": "ADK names each message itself, so that the same words are another message",
    }

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._model = ScriptedModel()
        self._open()

    @property
    def requests(self) -> list[str]:
        return self._model._answers.requests

    async def say(self, words: str, *answers: Answer, thread: Thread = MONDAY, message_id: str | None = None) -> str:
        if await self._session(thread) is None:
            await self._sessions.create_session(app_name=APP, user_id=thread.user, session_id=thread.session)
        return await self._run(message(words), words, answers, thread)

    async def resume(self, *answers: Answer, thread: Thread = MONDAY) -> str:
        session = await self._session(thread)
        assert session is not None
        said = [event.content.parts[0].text for event in session.events if event.author == "user" and event.content]
        asked = [call for event in session.events for call in event.get_function_calls() if call.name == APPROVAL]
        approval = types.FunctionResponse(id=asked[-1].id, name=APPROVAL, response={"confirmed": True})
        content = types.Content(role="user", parts=[types.Part(function_response=approval)])
        return await self._run(content, said[-1], answers, thread)

    async def history(self, thread: Thread = MONDAY) -> str:
        session = await self._session(thread)
        return "" if session is None else str(session.model_dump())

    async def restart(self) -> None:
        self._open()

    async def drain(self) -> int:
        return await self.memory.memory.drain()

    async def aclose(self) -> None:
        await self._runner.close()

    def _open(self) -> None:
        self._sessions = SqliteSessionService(str(self._bench.folder / "sessions.db"))
        self.memory = AdkMemory(self._bench.client(), store=SqliteWatermarkStore(self._bench.folder / "turns.db"))
        tools = [FunctionTool(look_up), FunctionTool(pay, require_confirmation=True)]
        agent = LlmAgent(name="helper", model=self._model, instruction="Be kind.", tools=tools)
        app = App(name=APP, root_agent=agent, plugins=[self.memory])
        self._runner = Runner(app=app, session_service=self._sessions)

    async def _session(self, thread: Thread) -> Session | None:
        return await self._sessions.get_session(app_name=APP, user_id=thread.user, session_id=thread.session)

    async def _run(self, content: types.Content, words: str, answers: tuple[Answer, ...], thread: Thread) -> str:
        last = ""
        with self._model._answers.given(words, answers):
            async for event in self._runner.run_async(
                user_id=thread.user, session_id=thread.session, new_message=content
            ):
                last = "".join(part.text or "" for part in event.content.parts) if event.content else last
        return last


def message(words: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=words)])


def _part(answer: Answer) -> types.Part:
    if isinstance(answer, Call):
        return types.Part(function_call=types.FunctionCall(name=answer.tool, args=dict(answer.arguments)))
    return types.Part(text=answer)


def _as_text(request: LlmRequest) -> str:
    system: Any = request.config.system_instruction
    return "\n".join([str(system or ""), *(str(content.model_dump()) for content in request.contents)])
