"""LangChain's agent as blocking code runs it, in a thread so that the test goes on."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from langgraph.checkpoint.sqlite import SqliteSaver

from .driver import Answer, Thread
from .langchain_driver import LangChainDriver


class BlockingLangChainDriver(LangChainDriver):
    lacks: ClassVar[dict[str, str]] = {"cancellation": "a blocking call ends when it ends"}

    async def run(self, words: str, answers: tuple[Answer, ...], thread: Thread, entered: Any) -> str:
        def blocking() -> str:
            with SqliteSaver.from_conn_string(str(self.bench.folder / "checkpoints.db")) as saver:
                config = {"configurable": {"thread_id": thread.session}}
                state = self.agent(saver).invoke(entered, config, context={"user": thread.user})
            return str(state["messages"][-1].text)

        with self.answers.given(words, answers):
            return await asyncio.to_thread(blocking)
