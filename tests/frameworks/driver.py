"""What a framework must be able to do for the shared scenarios, whatever its own words for it are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Protocol, TypeAlias

__all__ = ["FAIL", "HANG", "MONDAY", "Answer", "Call", "Driver", "Thread", "Trouble", "look_up", "pay"]


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation: whose, and which."""

    session: str = "monday"
    user: str = "lin"


MONDAY = Thread()


@dataclass(frozen=True, slots=True)
class Call:
    """A model's answer that calls a tool: `look_up`, `pay`, or one of memory's."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


class Trouble(Enum):
    """What a model does instead of answering."""

    FAIL = "the provider refuses"
    HANG = "no answer comes before the run is cancelled"


FAIL, HANG = Trouble.FAIL, Trouble.HANG

Answer: TypeAlias = str | Call | Trouble
"""What the model does when it is asked next."""


def look_up(city: str) -> str:
    """Return the weather of a city."""
    return f"It rains in {city}."


def pay(amount: int) -> str:
    """Pay an amount. The framework asks a person before it runs this."""
    return f"Paid {amount}."


class Driver(Protocol):
    """One framework with its adapter. Made as `Driver(bench)`, in the test's event loop."""

    lacks: ClassVar[Mapping[str, str]]
    """What the framework has not: a need of a scenario, and the reason, which is printed."""

    @property
    def requests(self) -> list[str]:
        """Each request that reached the model, as one text with the system prompt and all messages."""

    async def say(self, words: str, *answers: Answer, thread: Thread = MONDAY, message_id: str | None = None) -> str:
        """Run the agent with a new message of the user and return its last words. Raises what the framework raises.

        `answers` are those of the model, one for each request. A run that stops for `pay` returns what it has.
        """

    async def resume(self, *answers: Answer, thread: Thread = MONDAY) -> str:
        """Approve what the run waits for and return its last words."""

    async def history(self, thread: Thread = MONDAY) -> str:
        """Return all that the framework stores of a conversation, as one text."""

    async def restart(self) -> None:
        """Make everything anew as another process would, from what lies in `bench.folder` and nowhere else."""

    async def drain(self) -> int:
        """Deliver what waits for the memory server; return what still waits."""

    async def aclose(self) -> None:
        """Close the adapter."""
