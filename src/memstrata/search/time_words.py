"""The time that a question asks for: "last week", "三月", "上周五", as a window in the user's zone. Pure.

What lies inside is lifted, and nothing outside is left out: people remember times badly, and an event is often told on
another day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, timedelta, tzinfo

from memstrata.clock import Instant
from memstrata.records import MemoryRecord, Message
from memstrata.text.dates import date_in, first_span, mentions, start_of
from memstrata.text.dates.spans import FORMS

__all__ = ["INSIDE", "Window", "event_time", "lift", "window_of"]

INSIDE = 1.2
"""The factor of a row whose event lies in the window."""

_SENTENCE_END = re.compile(r"[。！？!?\n]+|\.\s")
_MOST_SENTENCES = 2  # "I lost my notes. What did we decide on Friday?"


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time: `start` belongs to it, `end` does not."""

    start: Instant
    end: Instant

    def meets(self, first: Instant, last: Instant) -> bool:
        """Return whether an event from `first` to `last`, both included, lies in it at least in part."""
        return first < self.end and last >= self.start


def window_of(query: str, now: Instant, zone: tzinfo = UTC) -> Window | None:
    """Return the window of the first time in a query, or of a range that starts there; None if it names none.

    A message of three sentences or more has none: its "today" is the day of what it tells, not of what is looked for.
    A month or weekday without a year or week is the latest one that has begun: questions to a memory look back.
    """
    if sum(bool(sentence.strip()) for sentence in _SENTENCE_END.split(query)) > _MOST_SENTENCES:
        return None
    days = first_span(query, mentions(query, date_in(now, zone), "past", FORMS))
    if days is None:
        return None
    start = start_of(days.first, zone)
    try:
        end = start_of(days.last + timedelta(days=1), zone)
    except OverflowError:  # the last day of the calendar
        return None
    return None if start is None or end is None or end <= start else Window(start, end)


def event_time(item: MemoryRecord | Message) -> tuple[Instant, Instant] | None:
    """Return the first and last millisecond of what a row tells about; None for a memory without a known time."""
    if isinstance(item, Message):
        return item.said_at, item.said_at
    if item.happened_from is None:
        return None
    return item.happened_from, max(item.happened_from, item.happened_to or item.happened_from)


def lift(item: MemoryRecord | Message, window: Window | None) -> float:
    """Return the factor of a row for a window: `INSIDE`, or 1 outside and without a window."""
    if window is None or (time := event_time(item)) is None:
        return 1.0
    return INSIDE if window.meets(*time) else 1.0
