"""Times between a model and the store: shown in the users' zone with its offset, read back with a fixed rule.

The rule (user needs A13, B25): a time without an offset is in the users' zone, a date alone is the whole day, a month or
year alone the whole of it. The machine's own zone never matters. Any instant can be shown, also absurd ones.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta, tzinfo

from memstrata.clock import EARLIEST, LATEST, Instant

__all__ = ["local_time", "offset_of", "read_time"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_PARTIAL = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")


def local_time(instant: Instant, zone: tzinfo) -> datetime:
    """Return an instant as the users' clock shows it. The calendar's first and last day stand for all beyond them."""
    moment = _EPOCH + timedelta(milliseconds=min(max(instant, EARLIEST), LATEST))
    inside = min(max(moment, datetime.min.replace(tzinfo=UTC) + _DAY), datetime.max.replace(tzinfo=UTC) - _DAY)
    return inside.astimezone(zone)


def offset_of(moment: datetime) -> str:
    """Return the offset from UTC of an aware time, `+08:00`."""
    return moment.isoformat(timespec="minutes")[16:22]


def read_time(text: str, zone: tzinfo, *, end: bool = False) -> Instant | None:
    """Read an ISO 8601 date or time; `end` asks for the last millisecond of what it names. None if it is neither."""
    try:
        moment = _moment(text.strip(), end=end)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    try:
        return (moment - _EPOCH) // timedelta(milliseconds=1)
    except OverflowError:  # the first or last hours of the calendar, where the offset leads out of it
        return None


def _moment(text: str, *, end: bool) -> datetime:
    partial = _PARTIAL.fullmatch(text)
    if partial is None:
        return datetime.fromisoformat(text)
    return _end_of(partial) if end else _start_of(partial)


def _start_of(partial: re.Match[str]) -> datetime:
    return datetime(int(partial[1]), int(partial[2] or 1), int(partial[3] or 1))  # noqa: DTZ001 (the caller adds the zone)


def _end_of(partial: re.Match[str]) -> datetime:
    year, month = int(partial[1]), int(partial[2] or 12)
    if not 1 <= month <= 12:
        raise ValueError(f"no such month: {month}")
    day = int(partial[3] or calendar.monthrange(year, month)[1])
    return datetime(year, month, day, 23, 59, 59, 999_000)  # noqa: DTZ001
