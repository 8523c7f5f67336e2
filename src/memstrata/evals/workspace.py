"""A memory that lives as long as a measurement: a new folder, one scope per corpus, filled through the library.

Each corpus is an agent of its own, because scenes and persona belong to an agent. A text that is longer than a message
may be is stored in parts, which count as the one unit that they are of.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path

from memstrata.capture import MAX_CHARACTERS, MAX_MESSAGES
from memstrata.errors import Unavailable
from memstrata.evals.dataset import Corpus, Unit
from memstrata.evals.moment import MomentClock
from memstrata.memory import Memory, MessageInput
from memstrata.records import Scope
from memstrata.settings import Settings
from memstrata.text.split import split

__all__ = ["Shelf", "Workspace", "opened"]

_AT_ONCE = 16  # corpora that are stored side by side; their messages share commits


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where a corpus is: its scope, and which unit each stored message is of (or a part of)."""

    corpus: Corpus
    scope: Scope
    unit_of: dict[str, str]

    @property
    def has_parts(self) -> bool:
        """Whether some unit was stored in several messages."""
        return len(self.unit_of) > len(self.corpus.units)


class Workspace:
    """The memory of one measurement, its clock, and the shelves of its corpora by their ids."""

    def __init__(self, memory: Memory, clock: MomentClock) -> None:
        self.memory = memory
        self.clock = clock
        self.shelves: dict[str, Shelf] = {}

    async def store(self, corpora: Sequence[Corpus], stored: Callable[[int], None]) -> None:
        """Store corpora as messages of their sessions, with their own times and in their order.

        `stored` is told the number of units that are in so far. Where there is an embedder, everything stored has its
        vector at the end. Raises what `Memory.add` raises, and Unavailable.
        """
        gate = asyncio.Semaphore(_AT_ONCE)
        units = 0

        async def one(number: int, corpus: Corpus) -> None:
            nonlocal units
            async with gate:
                shelf = Shelf(corpus, Scope("evals", "evals", f"corpus-{number}", "user"), {})
                await self._fill(shelf)
                self.shelves[corpus.corpus_id] = shelf
                units += len(corpus.units)
                stored(units)

        async with asyncio.TaskGroup() as group:
            for number, corpus in enumerate(corpora):
                group.create_task(one(number, corpus))
        await self._vectors_made()

    async def _vectors_made(self) -> None:
        """Wait for the vectors of what was stored. Raises Unavailable where the embedder fails: half of them measure nothing."""
        await self.memory.vectors_settled()
        missing = sum(one.missing for one in (await self.memory.vector_coverage()).values())
        about = (await self.memory.health()).components["embedding"]
        if self.memory.settings.embedding.provider != "none" and (missing or not about.details.get("caught_up")):
            raise Unavailable(f"{missing} texts have no vector: {about.reason}")

    async def _fill(self, shelf: Shelf) -> None:
        # Ids of a data set may be anything; the store gets its own.
        sessions: dict[str, str] = {}
        numbered = enumerate(shelf.corpus.units)
        for session, run in groupby(numbered, key=lambda pair: pair[1].session_id):
            name = sessions.setdefault(session, f"session-{len(sessions)}")
            messages = (message for number, unit in run for message in _messages(number, unit, shelf.unit_of))
            while batch := tuple(islice(messages, MAX_MESSAGES)):
                await self.memory.add(shelf.scope, name, batch)


@asynccontextmanager
async def opened(settings: Settings, *, distills: bool) -> AsyncIterator[Workspace]:
    """Open a workspace in a temporary folder with the given settings; both are gone at the end."""
    with tempfile.TemporaryDirectory(prefix="memstrata-eval-") as folder:
        own = replace(
            settings,
            data_dir=Path(folder),
            pipeline=replace(settings.pipeline, enabled=distills),
            mirror=replace(settings.mirror, enabled=False),
        )
        clock = MomentClock()
        async with Memory.open(settings=own, clock=clock) as memory:
            yield Workspace(memory, clock)


def _messages(number: int, unit: Unit, unit_of: dict[str, str]) -> Iterator[MessageInput]:
    for part, text in enumerate(split(unit.text, MAX_CHARACTERS), start=1):
        message_id = f"unit-{number}.{part}"
        unit_of[message_id] = unit.unit_id
        yield MessageInput(unit.role, text, said_at=unit.said_at, message_id=message_id)
