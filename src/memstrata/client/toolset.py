"""The three memory tools for an agent: `memory_search`, `conversation_search`, `read_scene`, three calls per turn in all.

    tools = AsyncToolset(client)                                  # one for each conversation
    reply = await openai.chat.completions.create(messages=messages, tools=tools.openai(), ...)
    text = await tools.call(call.function.name, call.function.arguments)

`begin_turn` gives the calls back; without it the budget is that of the conversation. A call answers with a text whatever
happens, because a tool that raises ends the run. Source: `reference/hub-sdk-plugins.md` §C.3, DESIGN §5.
"""

from __future__ import annotations

import logging
import threading
from importlib import import_module
from typing import Any, Self

from memstrata.client._async import AsyncMemoryClient
from memstrata.client._calls import Call, Calls
from memstrata.client._errors import MemstrataClientError
from memstrata.client._sync import MemoryClient
from memstrata.client._tool_calls import ToolSpec, Unusable, ask, error_text, specs
from memstrata.client._tool_words import ToolLanguage, ToolWords, words_in

__all__ = ["AsyncToolset", "Toolset"]

_log = logging.getLogger(__name__)

CALLS_PER_TURN = 3
MAX_CHARACTERS = 4_000
TIMEOUT_SECONDS = 5.0


class _Tools:
    """The tools in each framework's form, and the budget. No I/O."""

    def __init__(self, language: ToolLanguage, calls_per_turn: int, max_characters: int, timeout: float) -> None:
        if calls_per_turn < 0 or max_characters < 1 or not timeout > 0:
            raise ValueError("calls_per_turn must not be negative, max_characters and timeout must be above 0")
        self._words: ToolWords = words_in(language)
        self._per_turn = calls_per_turn
        self._most = max_characters
        self._timeout = timeout
        self._lock = threading.Lock()
        self._left = calls_per_turn

    @property
    def calls_left(self) -> int:
        """How many calls this turn still has."""
        return self._left

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools, for a framework that is not among those below."""
        return specs(self._words, self._per_turn)

    def begin_turn(self) -> Self:
        """Give a new turn its calls, and return the same toolset."""
        with self._lock:
            self._left = self._per_turn
        return self

    def openai(self) -> list[dict[str, Any]]:
        """Return the tools for Chat Completions."""
        return [
            {
                "type": "function",
                "function": {"name": one.name, "description": one.description, "parameters": dict(one.parameters)},
            }
            for one in self.specs
        ]

    def openai_responses(self) -> list[dict[str, Any]]:
        """Return the tools for the Responses API."""
        return [{"type": "function", "strict": False, **one["function"]} for one in self.openai()]

    def anthropic(self) -> list[dict[str, Any]]:
        """Return the tools for the Anthropic API."""
        return [
            {"name": one.name, "description": one.description, "input_schema": dict(one.parameters)}
            for one in self.specs
        ]

    def _take(self) -> bool:
        with self._lock:
            taken = self._left > 0
            self._left -= taken
        return taken

    def _asked(self, name: str, arguments: object, scope: Calls) -> Call[str] | str:
        """Return the call to make, or at once what the model is told instead. Every attempt counts."""
        if not self._take():
            return self._words.spent.format(self._per_turn)
        try:
            return ask(name, arguments, scope, self._words, self._most)
        except Unusable as error:
            return str(error)

    def _told(self, error: Exception) -> str:
        _log.warning("a memory tool failed: %s", type(error).__name__)
        return error_text(error, self._words) if isinstance(error, MemstrataClientError) else self._words.unavailable


class Toolset(_Tools):
    """The tools of one conversation over a blocking client. May be used from any thread."""

    def __init__(
        self,
        client: MemoryClient,
        *,
        language: ToolLanguage = "en",
        calls_per_turn: int = CALLS_PER_TURN,
        max_characters: int = MAX_CHARACTERS,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        """An answer has at most `max_characters` and comes within `timeout` seconds. Raises ValueError."""
        super().__init__(language, calls_per_turn, max_characters, timeout)
        self._client = client

    def call(self, name: str, arguments: object) -> str:
        """Run a tool by its name, or by its `tdai_` alias, with arguments as JSON or as a mapping. Never raises."""
        try:
            asked = self._asked(name, arguments, self._client._calls)
            return asked if isinstance(asked, str) else self._client._send(asked, self._timeout)
        except Exception as error:  # noqa: BLE001 - a tool that raises ends the run
            return self._told(error)

    def langchain(self) -> list[Any]:
        """Return the tools for LangChain. Raises ImportError without `langchain-core`."""

        def bound(name: str) -> dict[str, Any]:
            return {"func": lambda **arguments: self.call(name, arguments)}

        return [_structured(one, **bound(one.name)) for one in self.specs]


class AsyncToolset(_Tools):
    """`Toolset` with coroutines."""

    def __init__(
        self,
        client: AsyncMemoryClient,
        *,
        language: ToolLanguage = "en",
        calls_per_turn: int = CALLS_PER_TURN,
        max_characters: int = MAX_CHARACTERS,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        """As `Toolset`."""
        super().__init__(language, calls_per_turn, max_characters, timeout)
        self._client = client

    async def call(self, name: str, arguments: object) -> str:
        """As `Toolset.call`."""
        try:
            asked = self._asked(name, arguments, self._client._calls)
            return asked if isinstance(asked, str) else await self._client._send(asked, self._timeout)
        except Exception as error:  # noqa: BLE001 - a tool that raises ends the run
            return self._told(error)

    def langchain(self) -> list[Any]:
        """Return the tools for LangChain, with coroutines alone. Raises ImportError without `langchain-core`."""

        def bound(name: str) -> dict[str, Any]:
            async def run(**arguments: Any) -> str:
                return await self.call(name, arguments)

            return {"coroutine": run}

        return [_structured(one, **bound(one.name)) for one in self.specs]


def _structured(spec: ToolSpec, **bound: Any) -> Any:
    try:
        tools = import_module("langchain_core.tools")
    except ModuleNotFoundError as error:
        raise ImportError("tools for LangChain need it: pip install langchain-core") from error
    return tools.StructuredTool(
        name=spec.name, description=spec.description, args_schema=dict(spec.parameters), **bound
    )
