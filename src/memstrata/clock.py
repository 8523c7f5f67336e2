"""Time as the house counts it: whole milliseconds since the epoch, UTC.

One integer instead of `datetime` objects, because naive and aware datetimes cannot be compared, because it is what the
store holds, and because policies are then plain arithmetic. Text forms exist only at the edges.
"""

from __future__ import annotations

import asyncio
import re
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memstrata.errors import InvalidRequest, Misconfigured

__all__ = ["Clock", "Instant", "SystemClock", "day_of", "from_iso", "milliseconds", "to_iso", "zone_of"]

Instant = int
"""Milliseconds since 1970-01-01T00:00:00Z; negative before it."""

# Year 1 to 9999: what both ISO text and `datetime` can express.
EARLIEST: Instant = -62_135_596_800_000
LATEST: Instant = 253_402_300_799_999

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ISO_Z = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?Z")


class Clock(Protocol):
    """Where `now` comes from. Everything that waits goes through it, so that tests can move time."""

    def now(self) -> Instant: ...
    async def wait(self, signal: asyncio.Event, until: Instant | None) -> None:
        """Return when `signal` is set or `until` has come, whichever is first. `None` waits for the signal alone."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> Instant:
        return time.time_ns() // 1_000_000

    async def wait(self, signal: asyncio.Event, until: Instant | None) -> None:
        timeout = None if until is None else max(0.0, (until - self.now()) / 1000)
        try:
            async with asyncio.timeout(timeout):
                await signal.wait()
        except TimeoutError:
            return


def milliseconds(seconds: float) -> int:
    """Return a duration in the house's unit."""
    return round(seconds * 1000)


def to_iso(instant: Instant) -> str:
    """Return `2026-01-02T03:04:05.678Z`. Instants outside the years 1 to 9999 are shown as the nearest one inside."""
    seconds, rest = divmod(min(max(instant, EARLIEST), LATEST), 1000)
    return f"{_seconds_to_iso(seconds)}.{rest:03d}Z"


@lru_cache(maxsize=4096)  # rows that are written or shown together share their seconds
def _seconds_to_iso(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()


def from_iso(text: str, *, field: str = "") -> Instant:
    """Read the wire's time form, ISO-8601 UTC with seconds and `Z`. Raises InvalidRequest for anything else.

    Source: wire contract §1.6 (offsets, missing seconds and numbers are refused).
    """
    match = _ISO_Z.fullmatch(text)
    if match is None:
        raise InvalidRequest(
            f"expected an ISO-8601 UTC time such as 2026-01-02T03:04:05Z, got {text[:40]!r}", field=field
        )
    try:
        whole = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
    except ValueError:
        raise InvalidRequest(f"no such date or time: {text[:40]!r}", field=field) from None
    fraction = int(((match[2] or "") + "000")[:3])
    return (whole - _EPOCH) // timedelta(milliseconds=1) + fraction


def day_of(instant: Instant) -> str:
    """Return the UTC day, `YYYY-MM-DD`: the name of a mirror file."""
    return to_iso(instant)[:10]


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by its name. Raises Misconfigured."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Misconfigured(f"time_zone: no such time zone: {name!r}") from error
