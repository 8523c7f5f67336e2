"""Times as commands show them: to people in their own zone, to programs as they came. A time that is not known is said so."""

from __future__ import annotations

from datetime import datetime

__all__ = ["iso", "minute"]


def minute(time: datetime | None) -> str:
    """Return `2026-01-02 03:04` in the local zone; `?` where it is not known."""
    return time.astimezone().strftime("%Y-%m-%d %H:%M") if time else "?"


def iso(time: datetime | None) -> str | None:
    """Return the ISO form; None where it is not known."""
    return time.isoformat() if time else None
