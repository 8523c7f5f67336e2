"""AutoGen: an agent for each conversation, as it keeps the history itself, over the scripted model of the bench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from autogen_agentchat.messages import TextMessage
from autogen_core import CancellationToken
from autogen_core.models import ModelFamily
from autogen_ext.models.openai import OpenAIChatCompletionClient

from memstrata.client import SqliteWatermarkStore, TurnIds
from memstrata.integrations.autogen import MemoryAgent

from .bench import Bench
from .driver import MONDAY, Answer, Thread, look_up

__all__ = ["AutoGenDriver", "model_client"]


def model_client(bench: Bench) -> OpenAIChatCompletionClient:
    return OpenAIChatCompletionClient(
        model="scripted",
        base_url=bench.model.base_url,
        api_key="none",
        max_retries=0,
        model_info={
            "vision": False,
            "function_calling": True,
            "json_output": False,
            "structured_output": False,
            "family": ModelFamily.UNKNOWN,
        },
    )


class AutoGenDriver:
    lacks: ClassVar[Mapping[str, str]] = {
        "interrupts": "a run of AutoGen that needs a person ends, and what the person answers is a new message",
    }

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.model = model_client(bench)
        self._states: dict[Thread, Mapping[str, object]] = {}
        self._agents: dict[Thread, MemoryAgent] = {}
        self._others: list[MemoryAgent] = []

    @property
    def requests(self) -> list[str]:
        return [request.prompt for request in self._bench.model.requests]

    async def say(self, words: str, *answers: Answer, thread: Thread = MONDAY, message_id: str | None = None) -> str:
        self._bench.script(words, *answers)
        given = {"id": message_id} if message_id else {}
        message = TextMessage(content=words, source="user", **given)
        result = await (await self.agent(thread)).run(task=message, cancellation_token=CancellationToken())
        return str(result.messages[-1].to_text())

    async def resume(self, *answers: Answer, thread: Thread = MONDAY) -> str:
        raise NotImplementedError(self.lacks["interrupts"])

    async def history(self, thread: Thread = MONDAY) -> str:
        return str(await (await self.agent(thread)).save_state())

    async def restart(self) -> None:
        self._states = {thread: await agent.save_state() for thread, agent in self._agents.items()}
        self._others += self._agents.values()
        self._agents = {}

    async def drain(self) -> int:
        return sum([await agent.memories.drain() for agent in (*self._agents.values(), *self._others)])

    async def aclose(self) -> None:
        for agent in (*self._agents.values(), *self._others):
            await agent.close()
        await self.model.close()

    async def agent(self, thread: Thread = MONDAY) -> MemoryAgent:
        """Return the agent of a conversation, as a new process would load it if it is not here."""
        if thread not in self._agents:
            agent = MemoryAgent(
                "helper",
                self.model,
                memory_client=self._bench.client(),
                ids=TurnIds(session=thread.session, user=thread.user),
                tools=[look_up],
                store=SqliteWatermarkStore(self._bench.folder / "turns.db"),
                system_message="Be kind.",
                max_tool_iterations=6,
            )
            self._agents[thread] = agent
            if thread in self._states:
                await agent.load_state(self._states[thread])
        return self._agents[thread]

    def keep(self, agent: MemoryAgent) -> MemoryAgent:
        """Drain and close an agent of a test's own with the others."""
        self._others.append(agent)
        return agent
