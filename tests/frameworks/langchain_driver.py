"""LangChain's agent with a model of the test's own, asynchronous, with a checkpointer in a file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, ClassVar

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from memstrata.integrations.langchain import MemoryMiddleware

from .answers import Answers
from .bench import Bench
from .driver import HANG, MONDAY, Answer, Call, Thread, Trouble, look_up, pay

_call_numbers = count(1)


class AnsweringModel(BaseChatModel):
    """A chat model whose answers the test has ready."""

    answers: Any

    @property
    def _llm_type(self) -> str:
        return "answering"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return _result(self.answers.next(_text(messages)))

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        answer = self.answers.next(_text(messages))
        if answer is HANG:
            await asyncio.Event().wait()
        return _result(answer)


class LangChainDriver:
    lacks: ClassVar[Mapping[str, str]] = {}

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.answers = Answers()
        self.extra: list[Any] = []
        """More middleware, behind memory."""
        self.memory = MemoryMiddleware(bench.blocking_client())

    @property
    def requests(self) -> list[str]:
        return self.answers.requests

    async def say(self, words: str, *answers: Answer, thread: Thread = MONDAY, message_id: str | None = None) -> str:
        return await self.run(words, answers, thread, {"messages": [HumanMessage(words, id=message_id)]})

    async def resume(self, *answers: Answer, thread: Thread = MONDAY) -> str:
        return await self.run("", answers, thread, Command(resume={"decisions": [{"type": "approve"}]}))

    async def run(self, words: str, answers: tuple[Answer, ...], thread: Thread, entered: Any) -> str:
        with self.answers.given(words, answers):
            async with self._saver() as saver:
                state = await self.agent(saver).ainvoke(entered, _config(thread), context={"user": thread.user})
        return str(state["messages"][-1].text)

    async def history(self, thread: Thread = MONDAY) -> str:
        async with self._saver() as saver:
            kept = [str(one.checkpoint) async for one in saver.alist(_config(thread))]
        return "\n".join(kept)

    async def restart(self) -> None:
        self.memory.close()
        self.memory = MemoryMiddleware(self.bench.blocking_client())

    async def drain(self) -> int:
        return await asyncio.to_thread(self.memory.drain)

    async def aclose(self) -> None:
        await asyncio.to_thread(self.memory.close)

    def agent(self, saver: Any) -> Any:
        return create_agent(
            AnsweringModel(answers=self.answers),
            [look_up, pay],
            system_prompt="You help.",
            middleware=[self.memory, *self.extra, HumanInTheLoopMiddleware({"pay": True})],
            checkpointer=saver,
            context_schema=dict,
        )

    def _saver(self) -> Any:
        return AsyncSqliteSaver.from_conn_string(str(self.bench.folder / "checkpoints.db"))


def _config(thread: Thread) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread.session}}


def _text(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(f"{message.type}: {message.content}" for message in messages)


def _result(answer: Answer) -> ChatResult:
    if isinstance(answer, Trouble):
        raise ConnectionError("the provider refuses")
    if isinstance(answer, Call):
        call = {"name": answer.tool, "args": dict(answer.arguments), "id": f"call_{next(_call_numbers)}"}
        message = AIMessage("", tool_calls=[call])
    else:
        message = AIMessage(answer)
    return ChatResult(generations=[ChatGeneration(message=message)])
