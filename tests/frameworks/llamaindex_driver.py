"""LlamaIndex, with its mock model and a chat memory that hands out the very messages it keeps. What must outlive a process
lies in files. Annotations are not put off here: the framework looks among them for the context that `pay` takes.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent
from pydantic import PrivateAttr

from memstrata.client import SqliteWatermarkStore, TurnIds
from memstrata.integrations.llamaindex import LlamaMemory, RememberingFunctionAgent

from .bench import Bench
from .driver import FAIL, HANG, MONDAY, Answer, Call, Thread, look_up
from .driver import pay as pay_at_once

__all__ = ["LlamaDriver", "ScriptedModel", "pay"]

Respond = Callable[[Sequence[ChatMessage]], Awaitable[ChatMessage]]


class ScriptedModel(MockFunctionCallingLLM):
    """The framework's mock model, with a coroutine that answers."""

    _respond: Respond = PrivateAttr()

    def __init__(self, respond: Respond) -> None:
        super().__init__(is_chat_model=True)
        self._respond = respond

    async def achat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        return ChatResponse(message=await self._respond(messages))


async def pay(ctx: Context, amount: int) -> str:
    """Pay an amount, once a person has agreed."""
    question = InputRequiredEvent(prefix="May I?")
    await ctx.wait_for_event(HumanResponseEvent, waiter_id="pay", waiter_event=question)
    return pay_at_once(amount)


class LlamaDriver:
    lacks: ClassVar[dict[str, str]] = {"message ids": "a ChatMessage has no id; each put is a new message"}

    def __init__(self, bench: Bench) -> None:
        self.requests: list[str] = []
        self._bench = bench
        self._open()

    async def say(self, words: str, *answers: Answer, thread: Thread = MONDAY, message_id: str | None = None) -> str:
        return await self._run(answers, thread, words)

    async def resume(self, *answers: Answer, thread: Thread = MONDAY) -> str:
        return await self._run(answers, thread, None)

    async def history(self, thread: Thread = MONDAY) -> str:
        files = (self._file("chat", thread), self._file("context", thread))
        return "".join(file.read_text() for file in files if file.exists())

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
        self._memory = LlamaMemory(self._client, store=SqliteWatermarkStore(self._bench.folder / "turns.db"))

    async def _run(self, answers: tuple[Answer, ...], thread: Thread, words: str | None) -> str:
        agent = self._agent(answers)
        chat, store = self._chat(thread)
        given: dict[str, Any] = {"memory": chat, "ids": TurnIds(session=thread.session, user=thread.user)}
        if words is None:
            given["ctx"] = Context.from_dict(agent, json.loads(self._file("context", thread).read_text()))
        try:
            async with self._memory.run(agent, words, **given) as handler:
                if words is None:
                    handler.ctx.send_event(HumanResponseEvent())
                try:
                    async for event in handler.stream_events():
                        if words is not None and isinstance(event, InputRequiredEvent):
                            self._file("context", thread).write_text(json.dumps(handler.ctx.to_dict()))
                            await handler.cancel_run()
                            return ""
                    return str(await handler)
                except asyncio.CancelledError:
                    await handler.cancel_run()
                    raise
        finally:
            kept = [message.model_dump(mode="json") for message in store.get_messages(thread.session)]
            self._file("chat", thread).write_text(json.dumps(kept, ensure_ascii=False))

    def _agent(self, answers: tuple[Answer, ...]) -> RememberingFunctionAgent:
        left = list(answers)

        async def respond(messages: Sequence[ChatMessage]) -> ChatMessage:
            self.requests.append("\n".join(f"{message.role.value}: {message.content}" for message in messages))
            answer = left.pop(0)
            if isinstance(answer, Call):
                call = ToolCallBlock(
                    tool_call_id=f"call_{len(self.requests)}", tool_name=answer.tool, tool_kwargs=dict(answer.arguments)
                )
                return ChatMessage(role="assistant", blocks=[call])
            if answer is FAIL:
                raise ConnectionError("refused")
            if answer is HANG:
                await asyncio.Event().wait()
            return ChatMessage(role="assistant", content=answer)

        tools = [FunctionTool.from_defaults(look_up), FunctionTool.from_defaults(pay), *self._memory.tools()]
        return RememberingFunctionAgent(
            llm=ScriptedModel(respond), tools=tools, system_prompt="Be kind.", streaming=False
        )

    def _chat(self, thread: Thread) -> tuple[ChatMemoryBuffer, SimpleChatStore]:
        file = self._file("chat", thread)
        kept = json.loads(file.read_text()) if file.exists() else []
        store = SimpleChatStore(store={thread.session: [ChatMessage.model_validate(message) for message in kept]})
        return ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key=thread.session), store

    def _file(self, what: str, thread: Thread) -> Path:
        return self._bench.folder / f"{what}-{thread.user}-{thread.session}.json"
