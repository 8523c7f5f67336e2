"""Times on the wire. Apart from the calls, because a hook writes times and has none to spare for loading the calls."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["wire_time"]


def wire_time(time: datetime) -> str:
    """Return a time as the server reads it, in UTC and milliseconds. Raises ValueError for one without a zone."""
    if time.tzinfo is None:
        raise ValueError("a datetime without a time zone could mean any instant; give it one")
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
