"""Reading the times that other programs write: ISO text in its many spellings, and seconds or milliseconds since 1970.

The rules, which hold on every machine whatever its time zone is set to:
- a time without zone is read as UTC;
- a number, or text that is only a number, counts from 1970: seconds below 100 000 000 000 (the year 5138), else
  milliseconds;
- a date alone is its midnight;
- a year that `Instant` cannot express is data, not an error: it becomes the nearest instant that can be expressed.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

from memstrata.clock import EARLIEST, LATEST, Instant
from memstrata.transfer.node import Node
from memstrata.transfer.place import Place

__all__ = ["read_time", "time_from_text"]

_MILLISECONDS_FROM = 100_000_000_000
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_ISO = re.compile(
    r"(?P<year>[+-]?\d{4,})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})"
    r"(?:(?:\s*T\s*|,?\s+)(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?"
    r"\s*(?P<zone>Z|UTC|GMT|(?P<sign>[+-])(?P<zone_hours>\d\d)(?::?(?P<zone_minutes>\d\d))?)?)?",
    re.IGNORECASE | re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_time(node: Node | None) -> Instant | None:
    """Return the instant that a JSON value means; None for null, an empty string and NaN (a table's missing value).

    Raises InvalidRequest with the place for anything that is not a time.
    """
    if node is None:
        return None
    match node.value:
        case bool():
            raise node.place.error("expected a time, found true or false")
        case float() as number if math.isnan(number):
            return None
        case int() | float() as number:
            return _from_number(number)
        case str() as text:
            return time_from_text(text, node.place) if text.strip() else None
        case _:
            raise node.place.error("expected a time: ISO text, or seconds or milliseconds since 1970")


def time_from_text(text: str, place: Place) -> Instant:
    """Return the instant that `text` means. Raises InvalidRequest with the place when it means none."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return _from_number(float(text))
    match = _ISO.fullmatch(text)
    if match is None:
        raise place.error(f"not a time: {text[:40]!r} (expected a form such as 2026-01-02T03:04:05Z)")
    instant = _from_calendar(match)
    if instant is None:
        raise place.error(f"no such date or time: {text[:40]!r}")
    return instant


def _from_number(number: float) -> Instant:
    # Bounded first: a JSON number may be infinite, or a whole number too large for a float.
    bounded = min(max(number, EARLIEST), LATEST)
    return _clamped(round(bounded if abs(bounded) >= _MILLISECONDS_FROM else bounded * 1000))


def _from_calendar(match: re.Match[str]) -> Instant | None:
    part = match.groupdict(default="")
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    zone_hours, zone_minutes = int(part["zone_hours"] or 0), int(part["zone_minutes"] or 0)
    # 60 is a leap second, and 24:00 the end of the day.
    if hour + minute / 60 > 24 or minute > 59 or second > 60 or zone_hours > 23 or zone_minutes > 59:
        return None
    year = _bounded_year(part["year"])
    # Outside the years of `datetime`, only whether the day exists in some year can be told.
    try:
        day = datetime(min(max(year, 1), 9999), int(part["month"]), int(part["day"]), tzinfo=UTC)
    except ValueError:
        return None
    if year < 1:
        return EARLIEST
    if year > 9999:
        return LATEST
    offset = (zone_hours * 60 + zone_minutes) * 60_000 * (-1 if part["sign"] == "-" else 1)
    fraction = int((part["fraction"] + "000")[:3])
    time_of_day = ((hour * 60 + minute) * 60 + second) * 1000 + fraction
    return _clamped((day - _EPOCH) // timedelta(milliseconds=1) + time_of_day - offset)


def _bounded_year(digits: str) -> int:
    # Five significant digits tell a year that is too late; converting thousands of them would be refused.
    sign = -1 if digits.startswith("-") else 1
    significant = digits.lstrip("+-0") or "0"
    return sign * (int(significant) if len(significant) <= 4 else 10_000)


def _clamped(milliseconds: int) -> Instant:
    return min(max(milliseconds, EARLIEST), LATEST)
