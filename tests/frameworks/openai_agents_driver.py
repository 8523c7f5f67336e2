"""The OpenAI Agents SDK, with its own scripted model, its SQLite session and its run state for approvals."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from agents import Agent, RunState, SQLiteSession, function_tool, set_tracing_disabled
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

from memstrata.client import SqliteWatermarkStore, TurnIds
from memstrata.integrations.openai_agents import AgentsMemory

from .bench import Bench
from .driver import FAIL, HANG, MONDAY, Answer, Call, Thread, look_up, pay


class AgentsDriver:
    lacks: ClassVar[Mapping[str, str]] = {"message ids": "what a user says has no id; each run adds it to the session"}

    def __init__(self, bench: Bench) -> None:
        set_tracing_disabled(True)
        self.requests: list[str] = []
        self._bench = bench
        self._open()

    async def say(self, words: str, *answers: Answer, thread: Thread = MONDAY, message_id: str | None = None) -> str:
        return await self._run(words, answers, thread)

    async def resume(self, *answers: Answer, thread: Thread = MONDAY) -> str:
        saved = json.loads(self._state(thread).read_text())
        state: RunState[Any] = await RunState.from_json(self._agent(answers), saved)
        for waiting in state.get_interruptions():
            state.approve(waiting)
        return await self._run(state, answers, thread)

    async def history(self, thread: Thread = MONDAY) -> str:
        session = self._session(thread)
        try:
            return json.dumps(await session.get_items(), ensure_ascii=False)
        finally:
            session.close()

    async def restart(self) -> None:
        await self.aclose()
        self._open()

    async def drain(self) -> int:
        return await self._memory.drain()

    async def aclose(self) -> None:
        await self._memory.aclose(0.0)
        await self._client.aclose()

    def _open(self) -> None:
        self._client = self._bench.client()
        self._memory = AgentsMemory(self._client, store=SqliteWatermarkStore(self._bench.folder / "turns.db"))

    async def _run(self, given: Any, answers: tuple[Answer, ...], thread: Thread) -> str:
        ids = TurnIds(session=thread.session, user=thread.user)
        session = self._session(thread)
        try:
            result = await self._memory.run(self._agent(answers), given, session=session, ids=ids)
        finally:
            session.close()
        if result.interruptions:
            self._state(thread).write_text(json.dumps(result.to_state().to_json()))
        return str(result.final_output or "")

    def _agent(self, answers: tuple[Answer, ...]) -> Agent[Any]:
        tools = [function_tool(look_up), function_tool(pay, needs_approval=True), *self._memory.tools()]
        model = ScriptedModel([self._step(answer) for answer in answers])
        return Agent(name="helper", instructions="Be kind.", model=model, tools=tools)

    def _step(self, answer: Answer) -> ModelStep:
        async def responder(call: ModelCall) -> Any:
            self.requests.append(f"{call.system_instructions}\n{json.dumps(call.input, ensure_ascii=False)}")
            if isinstance(answer, Call):
                return [function_call(answer.tool, dict(answer.arguments), call_id=f"call_{len(self.requests)}")]
            if answer is FAIL:
                raise ConnectionError("refused")
            if answer is HANG:
                await asyncio.Event().wait()
            return [assistant_message(answer)]

        return ModelStep(responder=responder)

    def _session(self, thread: Thread) -> SQLiteSession:
        return SQLiteSession(f"{thread.user}-{thread.session}", self._bench.folder / "sessions.db")

    def _state(self, thread: Thread) -> Path:
        return self._bench.folder / f"state-{thread.user}-{thread.session}.json"
