"""Pydantic AI, with a function for a model; the history lies in a file, as an application would keep it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    capture_run_messages,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memstrata.client import SqliteWatermarkStore, TurnIds
from memstrata.integrations.pydantic_ai import MemoryCapability

from .bench import Bench
from .driver import FAIL, HANG, MONDAY, Answer, Call, Thread, look_up, pay


class PydanticDriver:
    lacks: ClassVar[Mapping[str, str]] = {"message ids": "a prompt has no id; each run adds it to the history"}

    def __init__(self, bench: Bench) -> None:
        self.requests: list[str] = []
        self._bench = bench
        self._open()

    async def say(self, words: str, *answers: Answer, thread: Thread = MONDAY, message_id: str | None = None) -> str:
        return await self._run(answers, thread, user_prompt=words)

    async def resume(self, *answers: Answer, thread: Thread = MONDAY) -> str:
        calls = (part for message in self._kept(thread) for part in message.parts if isinstance(part, ToolCallPart))
        return await self._run(
            answers,
            thread,
            deferred_tool_results=DeferredToolResults(approvals={part.tool_call_id: True for part in calls}),
        )

    async def history(self, thread: Thread = MONDAY) -> str:
        return self._file(thread).read_text() if self._file(thread).exists() else ""

    async def restart(self) -> None:
        await self.aclose()
        self._open()

    async def drain(self) -> int:
        return await self._capability.memory.drain()

    async def aclose(self) -> None:
        await self._capability.memory.aclose(0.0)
        await self._client.aclose()

    def _open(self) -> None:
        self._client = self._bench.client()
        self._capability = MemoryCapability(
            self._client,
            ids=lambda context: TurnIds(user=context.deps.user, session=context.deps.session),
            store=SqliteWatermarkStore(self._bench.folder / "turns.db"),
        )

    async def _run(self, answers: tuple[Answer, ...], thread: Thread, **given: Any) -> str:
        agent: Agent[Thread, Any] = Agent(
            FunctionModel(self._model(answers)),
            deps_type=Thread,
            instructions="Be kind.",
            output_type=[str, DeferredToolRequests],
            capabilities=[self._capability],
        )
        agent.tool_plain(look_up)
        agent.tool_plain(pay, requires_approval=True)
        with capture_run_messages() as messages:
            try:
                result = await agent.run(deps=thread, message_history=self._kept(thread), **given)
            finally:
                self._file(thread).write_bytes(ModelMessagesTypeAdapter.dump_json(messages))
        return result.output if isinstance(result.output, str) else ""

    def _model(self, answers: tuple[Answer, ...]) -> Any:
        left = list(answers)

        async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            self.requests.append(f"{info.instructions}\n{ModelMessagesTypeAdapter.dump_json(messages).decode()}")
            answer = left.pop(0)
            if isinstance(answer, Call):
                return ModelResponse([ToolCallPart(answer.tool, dict(answer.arguments))])
            if answer is FAIL:
                raise ConnectionError("refused")
            if answer is HANG:
                await asyncio.Event().wait()
            return ModelResponse([TextPart(answer)])

        return respond

    def _kept(self, thread: Thread) -> list[ModelMessage]:
        file = self._file(thread)
        return ModelMessagesTypeAdapter.validate_json(file.read_bytes()) if file.exists() else []

    def _file(self, thread: Thread) -> Path:
        return self._bench.folder / f"history-{thread.user}-{thread.session}.json"
