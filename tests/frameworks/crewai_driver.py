"""CrewAI: a crew of one for each message, with the conversation among its inputs, because a crew keeps none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from crewai import LLM, Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool

from memstrata.client import SqliteWatermarkStore, TurnIds
from memstrata.integrations.crewai import CrewMemory

from .bench import Bench
from .driver import MONDAY, Answer, Thread, look_up

__all__ = ["CrewDriver"]


class CrewDriver:
    lacks: ClassVar[Mapping[str, str]] = {
        "interrupts": "a crew asks a person on the terminal, inside its process",
    }

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._agents: list[Agent] = []
        self._models: list[LLM] = []
        self.memory = self._open()

    @property
    def requests(self) -> list[str]:
        return [request.prompt for request in self._bench.model.requests]

    async def say(self, words: str, *answers: Answer, thread: Thread = MONDAY, message_id: str | None = None) -> str:
        self._bench.script(words, *answers)
        ids = TurnIds(session=thread.session, user=thread.user)
        inputs = {"history": "\n".join(self._conversation(thread)), "question": words}
        self._keep(thread, words)
        output = await self.memory.akickoff(self.crew(), words, inputs=inputs, ids=ids, message_id=message_id)
        self._keep(thread, output.raw)
        return str(output.raw)

    def crew(self, **given: Any) -> Crew:
        """Return a crew that answers `question` after `history`. Keywords are those of `Crew`."""
        agent = Agent(
            role="Helper",
            goal="Help.",
            backstory="You are kind.",
            llm=self.model(),
            tools=[tool("look_up")(look_up), *self.memory.tools()],
            max_retry_limit=0,
        )
        self._agents.append(agent)
        task = Task(description="{history}\n{question}", expected_output="An answer.", agent=agent)
        return Crew(agents=[agent], tasks=[task], **given)

    def model(self) -> BaseLLM:
        """Return the model of the bench, with memory."""
        address = self._bench.model.base_url
        self._models.append(LLM(model="openai/scripted", base_url=address, api_key="none", max_retries=0))
        return self.memory.llm(self._models[-1])

    async def resume(self, *answers: Answer, thread: Thread = MONDAY) -> str:
        raise NotImplementedError(self.lacks["interrupts"])

    async def history(self, thread: Thread = MONDAY) -> str:
        """Return the conversation, and the messages that the agents kept of it."""
        kept = [agent.agent_executor.messages for agent in self._agents if agent.agent_executor]
        return "\n".join([*self._conversation(thread), str(kept)])

    async def restart(self) -> None:
        self.memory = self._open()

    async def drain(self) -> int:
        return self.memory.drain()

    async def aclose(self) -> None:
        self.memory.close()
        for model in self._models:
            model._get_sync_client().close()
            await model._get_async_client().close()

    def _open(self) -> CrewMemory:
        return CrewMemory(self._bench.blocking_client(), store=SqliteWatermarkStore(self._bench.folder / "turns.db"))

    def _conversation(self, thread: Thread) -> list[str]:
        file = self._bench.folder / f"{thread.session}.json"
        lines: list[str] = json.loads(file.read_text()) if file.exists() else []
        return lines

    def _keep(self, thread: Thread, line: str) -> None:
        file = self._bench.folder / f"{thread.session}.json"
        file.write_text(json.dumps([*self._conversation(thread), line]))
