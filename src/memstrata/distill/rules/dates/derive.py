"""When a statement's event happened, as far as its words and the time it was said tell.

Relative words lose their meaning with the conversation, so each is followed by the date it stood for ("yesterday
(2026-02-10)"). A date that cannot be derived stays unknown (user needs A13): "next Friday" means two different days to
two people, "recently" none. Days are days of the zone the distiller is given; UTC unless the operator says otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo

from memstrata.clock import EARLIEST, LATEST, Instant
from memstrata.distill.rules.dates import english, han
from memstrata.distill.rules.dates.days import Days, month_of, year_of
from memstrata.distill.rules.reading import Tense

__all__ = ["Timed", "day_in", "mentions_a_date", "with_dates"]

_FORMS = (*english.FORMS, *han.FORMS)
_RANGE = re.compile(r"\s{0,2}(?:to|until|till|through|and|-|–|—|~|〜|～|到|至|から)\s{0,2}")


@dataclass(frozen=True, slots=True)
class Timed:
    """A text whose relative dates are explained, and the first and last millisecond of what it tells about."""

    text: str
    happened_from: Instant | None = None
    happened_to: Instant | None = None


@dataclass(frozen=True, slots=True)
class _Mention:
    start: int
    end: int
    days: Days
    explicit: bool  # carries its own year


def with_dates(text: str, said_at: Instant, zone: tzinfo = UTC, tense: Tense | None = None) -> Timed:
    """Return `text` with its relative dates explained, and the span of its first date or of a range that starts there.

    `tense` says which way a month or weekday without a year lies; without it such a date stays unknown.
    """
    mentions = _mentions(text, _date_in(said_at, zone), tense)
    if not mentions:
        return Timed(text)
    first = mentions[0].days
    if len(mentions) > 1 and _RANGE.fullmatch(text[mentions[0].end : mentions[1].start]):
        first = Days(first.first, max(first.last, mentions[1].days.last))
    return Timed(_explained(text, mentions), _start_of(first.first, zone), _end_of(first.last, zone))


def mentions_a_date(text: str) -> bool:
    """Return whether `text` names a day, week, month or year that could be derived."""
    return any(form.pattern.search(text) for form in _FORMS)


def day_in(instant: Instant, zone: tzinfo = UTC) -> str:
    """Return the day of an instant in `zone`, `YYYY-MM-DD`."""
    return _date_in(instant, zone).isoformat()


def _date_in(instant: Instant, zone: tzinfo) -> date:
    moment = datetime.fromtimestamp(min(max(instant, EARLIEST), LATEST) / 1000, UTC)
    try:
        return moment.astimezone(zone).date()
    except OverflowError:  # the first or last hours of the calendar, where the zone has no day
        return moment.date()


def _mentions(text: str, today: date, tense: Tense | None) -> list[_Mention]:
    found: list[_Mention] = []
    for form in _FORMS:
        for match in form.pattern.finditer(text):
            try:
                days = form.resolve(match, today, tense)
            except (ValueError, OverflowError):  # the 31st of June, or a day outside of the calendar
                days = None
            if days is not None:
                found.append(_Mention(match.start(), match.end(), days, form.explicit))
    found.sort(key=lambda mention: (mention.start, -mention.end))
    kept: list[_Mention] = []
    for mention in found:
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return kept


def _explained(text: str, mentions: list[_Mention]) -> str:
    pieces: list[str] = []
    at = 0
    for mention in mentions:
        pieces.append(text[at : mention.end])
        at = mention.end
        if not mention.explicit and text[at : at + 1] not in ("(", "（") and not text[at:].startswith(" ("):
            shown = _shown(mention.days)
            pieces.append(
                f"（{shown.replace('/', '至')}）" if _is_wide(text[at - 1]) else f" ({shown.replace('/', ' to ')})"
            )
    return "".join((*pieces, text[at:]))


def _shown(days: Days) -> str:
    first, last = days.first, days.last
    if first == last:
        return first.isoformat()
    if first == month_of(first.year, first.month).first and last == month_of(first.year, first.month).last:
        return first.isoformat()[:7]
    if first == year_of(first.year).first and last == year_of(first.year).last:
        return first.isoformat()[:4]
    return f"{first.isoformat()}/{last.isoformat()}"


def _is_wide(character: str) -> bool:
    return character > "\u2e7f"


def _start_of(day: date, zone: tzinfo) -> Instant | None:
    return _instant(datetime.combine(day, time.min, zone))


def _end_of(day: date, zone: tzinfo) -> Instant | None:
    return _instant(datetime.combine(day, time(23, 59, 59, 999000), zone))


def _instant(moment: datetime) -> Instant | None:
    try:
        return round(moment.timestamp() * 1000)
    except OverflowError:
        return None
