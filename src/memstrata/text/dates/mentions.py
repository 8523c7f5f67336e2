"""Where a text names days, and which days they are, seen from the day it was said.

Read by the rules distiller, which explains the dates of a statement, and by search, which reads the time that a question
asks for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo

from memstrata.clock import EARLIEST, LATEST, Instant
from memstrata.text.dates import english, han
from memstrata.text.dates.days import Days, Form, Tense

__all__ = ["Mention", "date_in", "end_of", "first_span", "mentions", "mentions_a_date", "start_of"]

_FORMS = (*english.FORMS, *han.FORMS)
_RANGE = re.compile(r"\s{0,2}(?:to|until|till|through|and|-|–|—|~|〜|～|到|至|から)\s{0,2}")


@dataclass(frozen=True, slots=True)
class Mention:
    """A date in a text, by where it stands."""

    start: int
    end: int
    days: Days
    explicit: bool  # carries its own year


def mentions(text: str, today: date, tense: Tense | None, more: Sequence[Form] = ()) -> list[Mention]:
    """Return the dates that `text` names and that can be derived, in order, none inside another.

    `more` are forms to read besides the usual ones. Without a tense, a month or weekday without a year is left out.
    """
    found: list[Mention] = []
    for form in (*more, *_FORMS):
        for match in form.pattern.finditer(text):
            try:
                days = form.resolve(match, today, tense)
            except (ValueError, OverflowError):  # the 31st of June, or a day outside of the calendar
                days = None
            if days is not None:
                found.append(Mention(match.start(), match.end(), days, form.explicit))
    found.sort(key=lambda mention: (mention.start, -mention.end))
    kept: list[Mention] = []
    for mention in found:
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return kept


def mentions_a_date(text: str) -> bool:
    """Return whether `text` names a day, week, month or year that could be derived."""
    return any(form.pattern.search(text) for form in _FORMS)


def first_span(text: str, found: Sequence[Mention]) -> Days | None:
    """Return the days of the first mention, or of the range that starts with it; None without a mention."""
    if not found:
        return None
    first = found[0].days
    if len(found) > 1 and _RANGE.fullmatch(text[found[0].end : found[1].start]):
        return Days(first.first, max(first.last, found[1].days.last))
    return first


def date_in(instant: Instant, zone: tzinfo = UTC) -> date:
    """Return the day of an instant in `zone`; instants outside the calendar count as its first or last day."""
    moment = datetime.fromtimestamp(min(max(instant, EARLIEST), LATEST) / 1000, UTC)
    try:
        return moment.astimezone(zone).date()
    except OverflowError:  # the first or last hours of the calendar, where the zone has no day
        return moment.date()


def start_of(day: date, zone: tzinfo) -> Instant | None:
    """Return the first millisecond of a day in `zone`; None outside the calendar."""
    return _instant(datetime.combine(day, time.min, zone))


def end_of(day: date, zone: tzinfo) -> Instant | None:
    """Return the last millisecond of a day in `zone`; None outside the calendar."""
    return _instant(datetime.combine(day, time(23, 59, 59, 999000), zone))


def _instant(moment: datetime) -> Instant | None:
    try:
        return round(moment.timestamp() * 1000)
    except OverflowError:
        return None
