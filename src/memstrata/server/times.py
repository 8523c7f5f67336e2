"""Times as the logs take them: ISO-8601 with a zone, `Z` or an offset. The data plane takes `Z` alone (contract §1.6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memstrata.clock import Instant
from memstrata.errors import InvalidRequest

__all__ = ["log_window", "zoned"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def zoned(text: str, field: str) -> Instant:
    """Return the instant of a time such as 2026-01-02T11:04:05+08:00. Raises InvalidRequest for one without a zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(f"not a time: {text[:40]!r}", field=field) from None
    if time.tzinfo is None:
        raise InvalidRequest("has no time zone; end it in Z or an offset such as +08:00", field=field)
    return (time - _EPOCH) // timedelta(milliseconds=1)


def log_window(start: str | None, end: str | None) -> tuple[Instant | None, Instant | None]:
    """Read the two ends of a stretch of time. Raises InvalidRequest naming the end that is no time."""
    return (
        None if start is None else zoned(start, "start_time"),
        None if end is None else zoned(end, "end_time"),
    )
