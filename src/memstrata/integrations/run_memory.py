"""Memory of an agent's runs, whatever framework drives them: what adapters over asynchronous frameworks share.

A run opens at its first model request, because there every framework shows the whole list with the user's message in it.
Each run has a state of its own, so that runs at the same time share nothing. What fails here is logged, and the request
goes out and the run ends as if there were no memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, TypeVar

from memstrata.client import (
    AsyncMemoryClient,
    AsyncRecaller,
    AsyncToolset,
    CaptureRules,
    Recalled,
    RecorderStatus,
    ToolSpec,
    Turn,
    TurnIds,
    WatermarkStore,
    view_plain,
)
from memstrata.client._tool_words import ToolLanguage, words_in
from memstrata.client.turn import AsyncTurnRecorder, Outcome, Seen, Views
from memstrata.client.turn.watermark import is_genuine_user

__all__ = ["AgentMemory", "RunMemory", "current_run"]

T = TypeVar("T")

_log = logging.getLogger(__name__)


class RunMemory:
    """One run: its turn, what its requests carry, its memory calls. Made by `AgentMemory.open`."""

    def __init__(self, owner: AgentMemory, toolset: AsyncToolset | None, ids: TurnIds) -> None:
        self.messages: list[Any] = []
        """The list as the run's first request had it, without what memory adds. Empty before."""
        self.ids = ids
        """Whose run it is. May be replaced until the first request."""
        self.owner = owner
        self._recorder = owner._recorder
        self._recaller = owner._recaller
        self._view = owner._view
        self._toolset = toolset
        self._opening = asyncio.Lock()
        self._turn: Turn | None = None
        self._recalled: Recalled | None = None
        self._asked = ""
        self._conversation: object = None
        self._over = False

    async def open(self, messages: Sequence[Any], *, resumes: bool = False) -> None:
        """Begin the turn and recall before the first request. `resumes`: the list is that of a turn that began earlier."""
        try:
            await self._open(messages, resumes=resumes)
        except Exception as error:  # noqa: BLE001 - never into the agent
            _log.warning("memory was left out of a run: %s", type(error).__name__)

    def owns(self, conversation: object) -> bool:
        """Whether the framework's object for a conversation is this run's: the first one that this was asked for."""
        if self._conversation is None:
            self._conversation = conversation
        return self._conversation is conversation

    async def carried(self, request: T, messages: Sequence[Any], inject: Callable[[T, Recalled], T]) -> T:
        """Return a request as `inject` makes it, or as it is: where this fails, or where another agent asks.

        `messages` are those of the request; the first ones open the run. An agent that runs as a tool of this run sends its
        requests through the same hooks; its newest user message is not the one that memory was asked with. `inject`
        returns a copy.
        """
        try:
            recalled = await self._open(messages)
            return inject(request, recalled) if self._newest(messages) in ("", self._asked) else request
        except Exception as error:  # noqa: BLE001 - never into the agent
            _log.warning("memory was left out of a request: %s", type(error).__name__)
            return request

    async def call_tool(self, name: str, arguments: object) -> str:
        """Run a memory tool within the run's budget. Never raises."""
        if self._toolset is None:
            return words_in(self.owner._language).unavailable
        return await self._toolset.call(name, arguments)

    async def ended(self, messages: Callable[[], Sequence[Any]], *, blocked: bool = False) -> Outcome:
        """Hand over what the run added to its list. Leave it out where the run failed, was cancelled or waits.

        `blocked`: a guard answered instead of the model.
        """
        self._over = True
        try:
            return await self._recorder.capture(messages(), self.ids, self._turn, blocked=blocked)
        except Exception as error:  # noqa: BLE001 - never into the agent
            _log.warning("a turn was not captured: %s", type(error).__name__)
            return "failed"

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Make this the run that tools and runs inside it find, for tasks that start within."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    async def _open(self, messages: Sequence[Any], *, resumes: bool = False) -> Recalled:
        async with self._opening:
            if self._recalled is None:
                self.messages, self._asked = list(messages), self._newest(messages)
                begun = () if resumes else (self._recorder.begin(messages, self.ids),)
                self._recalled, *turns = await asyncio.gather(self._recaller.recall(messages, self.ids), *begun)
                self._turn = next(iter(turns), None)
            return self._recalled

    def _newest(self, messages: Sequence[Any]) -> str:
        """Return the newest text of a user, empty where there is none."""
        for message in reversed(messages):
            for seen in reversed(self._view([message])):
                if is_genuine_user(seen):
                    return seen.text
        return ""


_current: ContextVar[RunMemory | None] = ContextVar("memstrata_run", default=None)


def current_run() -> RunMemory | None:
    """Return the run that this code is part of."""
    return _current.get()


class AgentMemory:
    """Turn capture, recall and memory tools for any number of runs, through one client. Close it where the program ends."""

    @staticmethod
    def framework_view(messages: Iterable[object]) -> tuple[Seen, ...]:
        """Read the framework's messages, where a caller gives no other `view`."""
        return view_plain(messages)

    def __init__(
        self,
        client: AsyncMemoryClient,
        *,
        view: Views | None = None,
        store: WatermarkStore | None = None,
        rules: CaptureRules | None = None,
        snapshot: bool = False,
        language: ToolLanguage = "en",
    ) -> None:
        """`view` reads messages.

        `store`: where turns in progress are written down, so that another process can finish them. `rules`: what is
        remembered of a turn. `snapshot`: persona and scenes stay as a session first saw them. `language`: of the tools.
        """
        self._client = client
        self._view: Views = view or self.framework_view
        self._language: ToolLanguage = language
        self._recorder = AsyncTurnRecorder(client, view=self._view, store=store, rules=rules)
        self._recaller = AsyncRecaller(client, view=self._view, snapshot=snapshot)
        self._specs = AsyncToolset(client, language=language).specs

    @property
    def status(self) -> RecorderStatus:
        """What was captured, what waits, what failed."""
        return self._recorder.status

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The memory tools."""
        return self._specs

    def open(self, ids: TurnIds | None = None) -> RunMemory:
        """Return the memory of a run that starts now. A run inside another one's tool is nested: it is not captured."""
        ids = ids or TurnIds()
        around = _current.get()
        if around is not None and not around._over:
            ids = replace(ids, nested=True)
        toolset = None
        try:
            # Tools search all sessions: what is known of a user does not end with a thread.
            own = self._client.with_scope(team=ids.team, agent=ids.agent, user=ids.user, session=None)
            toolset = AsyncToolset(own, language=self._language)
        except Exception as error:  # noqa: BLE001 - never into the agent; and never into another user's memory
            _log.warning("a run has no memory tools: %s", type(error).__name__)
        return RunMemory(self, toolset, ids)

    async def call_tool(self, name: str, arguments: object) -> str:
        """Run a memory tool for the run that it is called in. Never raises.

        Outside of a run that was opened here, a call has a budget of its own.
        """
        run = _current.get()
        return await (run if run is not None and run.owner is self else self.open()).call_tool(name, arguments)

    async def drain(self, seconds: float = 5.0) -> int:
        """Deliver what waits; return how many turns still wait after that time."""
        return await self._recorder.drain(seconds)

    async def aclose(self, seconds: float = 5.0) -> None:
        """Deliver what can be delivered in that time and stop. The client stays open."""
        await self._recorder.aclose(seconds)
