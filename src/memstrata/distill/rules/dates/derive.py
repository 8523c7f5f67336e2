"""When a statement's event happened, as far as its words and the time it was said tell.

Relative words lose their meaning with the conversation, so each is followed by the date it stood for ("yesterday
(2026-02-10)"). A date that cannot be derived stays unknown (user needs A13): "next Friday" means two different days to
two people, "recently" none. Days are days of the zone the distiller is given; UTC unless the operator says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, tzinfo

from memstrata.clock import Instant
from memstrata.text.dates import Days, Mention, Tense, date_in, end_of, first_span, mentions, mentions_a_date, start_of
from memstrata.text.dates.days import month_of, year_of

__all__ = ["Timed", "day_in", "mentions_a_date", "with_dates"]


@dataclass(frozen=True, slots=True)
class Timed:
    """A text whose relative dates are explained, and the first and last millisecond of what it tells about."""

    text: str
    happened_from: Instant | None = None
    happened_to: Instant | None = None


def with_dates(text: str, said_at: Instant, zone: tzinfo = UTC, tense: Tense | None = None) -> Timed:
    """Return `text` with its relative dates explained, and the span of its first date or of a range that starts there.

    `tense` says which way a month or weekday without a year lies; without it such a date stays unknown.
    """
    found = mentions(text, date_in(said_at, zone), tense)
    days = first_span(text, found)
    if days is None:
        return Timed(text)
    return Timed(_explained(text, found), start_of(days.first, zone), end_of(days.last, zone))


def day_in(instant: Instant, zone: tzinfo = UTC) -> str:
    """Return the day of an instant in `zone`, `YYYY-MM-DD`."""
    return date_in(instant, zone).isoformat()


def _explained(text: str, found: list[Mention]) -> str:
    pieces: list[str] = []
    at = 0
    for mention in found:
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
