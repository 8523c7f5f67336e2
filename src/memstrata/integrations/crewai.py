"""Memory for CrewAI: `memory.kickoff` in place of `crew.kickoff`, with models and tools that know of the run.

    memory = CrewMemory(client.with_scope(session="s1"))
    helper = Agent(role="Helper", goal="...", backstory="...", llm=memory.llm(LLM("...")), tools=memory.tools())
    output = memory.kickoff(crew, "where do I live?", inputs={"question": "where do I live?"})

CrewAI's hooks in front of a model call change the messages that an agent keeps, and the ones behind it do not come after a
tool call; so memories go into a copy, inside the model. What a user said is named by the caller, because to CrewAI it is a
part of a task's description. Source: `reference/hub-sdk-plugins.md` §E.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from crewai import Crew, CrewOutput
from crewai.llms.base_llm import BaseLLM
from crewai.tools import BaseTool
from crewai.utilities.pydantic_schema_utils import create_model_from_schema

from memstrata.client import (
    CaptureRules,
    MemoryClient,
    Recalled,
    Recaller,
    RecorderStatus,
    Toolset,
    Turn,
    TurnIds,
    TurnRecorder,
    WatermarkStore,
)
from memstrata.client._tool_words import ToolLanguage
from memstrata.integrations.crewai_model import RecallingLLM, showing
from memstrata.integrations.lone_turn import Answered, Spoken, asked, said

__all__ = ["CrewMemory"]


@dataclass(frozen=True, slots=True)
class _Run:
    ids: TurnIds
    turn: Turn | None
    messages: Sequence[Spoken]
    recalled: Recalled
    toolset: Toolset


_running: ContextVar[_Run | None] = ContextVar("memstrata_crewai", default=None)


class CrewMemory:
    """Memory for any number of crews and runs, also in several threads. Close it where the program ends."""

    def __init__(
        self,
        client: MemoryClient,
        *,
        store: WatermarkStore | None = None,
        rules: CaptureRules | None = None,
        snapshot: bool = False,
        language: ToolLanguage = "en",
    ) -> None:
        """`store`: where turns in progress are written down. `rules`: what is remembered of a turn.

        `snapshot`: persona and scenes stay as a session first saw them. `language`: of the tools.
        """
        self._client = client
        self._language: ToolLanguage = language
        self._recorder = TurnRecorder(client, store=store, rules=rules)
        self._recaller = Recaller(client, snapshot=snapshot)
        self._answered = Answered()

    @property
    def status(self) -> RecorderStatus:
        """What was captured, what waits, what failed."""
        return self._recorder.status

    def llm(self, llm: BaseLLM) -> BaseLLM:
        """Return a model that shows another one what the run recalls."""
        return RecallingLLM.over(llm)

    def tools(self) -> list[BaseTool]:
        """Return the memory tools for `Agent(tools=...)`. All agents of a run share its budget."""
        spare = Toolset(self._client, language=self._language)
        return [
            _MemoryTool(
                name=one.name,
                description=one.description,
                args_schema=create_model_from_schema({**one.parameters, "title": one.name}),
                cache_function=_never,
                spare=spare,
            )
            for one in spare.specs
        ]

    def kickoff(
        self,
        crew: Crew,
        text: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        ids: TurnIds | None = None,
        message_id: str | None = None,
        **given: Any,
    ) -> CrewOutput:
        """Run a crew for what a user said, and hand over the turn. A crew that runs in another one's tool is left alone.

        Give the same `message_id` where the same message is run again. The rest is as in `Crew.kickoff`, whose errors come
        through. Raises ValueError for a crew that streams: its output comes too late to be captured.
        """
        _refuse_streams(crew)
        if _running.get() is not None:
            return crew.kickoff(inputs=_dict(inputs), **given)
        run = self._open(text, ids, message_id)
        with _entered(run):
            output = crew.kickoff(inputs=_dict(inputs), **given)
        self._close_turn(run, output)
        return output

    async def akickoff(
        self,
        crew: Crew,
        text: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        ids: TurnIds | None = None,
        message_id: str | None = None,
        **given: Any,
    ) -> CrewOutput:
        """As `kickoff`, over `Crew.akickoff`."""
        _refuse_streams(crew)
        if _running.get() is not None:
            return await crew.akickoff(inputs=_dict(inputs), **given)
        run = await asyncio.to_thread(self._open, text, ids, message_id)
        with _entered(run):
            output = await crew.akickoff(inputs=_dict(inputs), **given)
        await asyncio.to_thread(self._close_turn, run, output)
        return output

    def drain(self, seconds: float = 5.0) -> int:
        """Deliver what waits; return how many turns still wait after that time."""
        return self._recorder.drain(seconds)

    def close(self, seconds: float = 5.0) -> None:
        """Deliver what can be delivered in that time and stop. The client stays open."""
        self._recorder.close(seconds)

    def _open(self, text: str, ids: TurnIds | None, message_id: str | None) -> _Run:
        messages = asked(said("user", text, message_id))
        ids = ids or TurnIds()
        # Tools search all sessions: what is known of a user does not end with a thread.
        own = self._client.with_scope(team=ids.team, agent=ids.agent, user=ids.user, session=None)
        recalled = self._recaller.recall(messages, ids)
        if not self._answered.holds_new(messages):
            ids = replace(ids, nested=True)
        turn = self._recorder.begin(messages, ids)
        return _Run(ids, turn, messages, recalled, Toolset(own, language=self._language))

    def _close_turn(self, run: _Run, output: CrewOutput) -> None:
        self._recorder.capture([*run.messages, said("assistant", output.raw)], run.ids, run.turn)
        self._answered.note(run.messages)


class _MemoryTool(BaseTool):
    spare: Any

    def _run(self, **arguments: Any) -> str:
        run = _running.get()
        toolset: Toolset = self.spare.begin_turn() if run is None else run.toolset
        return toolset.call(self.name, arguments)


@contextmanager
def _entered(run: _Run) -> Iterator[None]:
    token = _running.set(run)
    try:
        with showing(run.recalled):
            yield
    finally:
        _running.reset(token)


def _refuse_streams(crew: Crew) -> None:
    if crew.stream:
        raise ValueError("a crew that streams has no output to capture when kickoff returns: set stream=False")


def _dict(inputs: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if inputs is None else dict(inputs)


def _never(*_: Any) -> bool:
    """Keep no result: a crew that caches would give one user's answer to another who asks the same."""
    return False
