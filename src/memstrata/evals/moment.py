"""The clock of a measurement: it tells the time at which a question is asked, so that "last week" means that week.

A data set's questions were asked years ago, right after what was said. Asked today, every memory would be equally old.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from memstrata.clock import Instant, SystemClock, milliseconds
from memstrata.evals.dataset import Corpus, Question

__all__ = ["MomentClock", "asked_after", "asking_time"]

_AFTER = milliseconds(60)


def asking_time(question: Question, corpus: Corpus) -> Instant:
    """Return when a question is asked: as the data set tells, else a minute after the last message of its corpus."""
    if question.asked_at is not None:
        return question.asked_at
    return asked_after(corpus)


def asked_after(corpus: Corpus) -> Instant:
    """Return a minute after the last message of a corpus."""
    return max(unit.said_at for unit in corpus.units) + _AFTER


class MomentClock:
    """The machine's clock, but for the moments that are set. Implements `Clock`."""

    def __init__(self) -> None:
        self._system = SystemClock()
        self._moment: Instant | None = None

    def now(self) -> Instant:
        return self._system.now() if self._moment is None else self._moment

    async def wait(self, signal: asyncio.Event, until: Instant | None) -> None:
        # A set moment stands still: what is waited for is the time that lies between, not its end.
        left = None if until is None else until - self.now()
        await self._system.wait(signal, None if left is None else self._system.now() + left)

    @contextmanager
    def at(self, moment: Instant) -> Iterator[None]:
        """Let it be that moment inside the block."""
        before, self._moment = self._moment, moment
        try:
            yield
        finally:
            self._moment = before
