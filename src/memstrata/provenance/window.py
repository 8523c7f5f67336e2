"""Which stretch of time a log is read for: both ends or neither, and never more than 90 days.

Source: wire contract §4.2, §4.3.
"""

from __future__ import annotations

from memstrata.clock import Instant
from memstrata.errors import InvalidRequest

__all__ = ["window"]

_DAY = 86_400_000
LONGEST = 90 * _DAY
USUAL = 7 * _DAY


def window(since: Instant | None, until: Instant | None, now: Instant) -> tuple[Instant, Instant | None]:
    """Return the inclusive ends to read between; without any, the last 7 days and whatever comes after `now`.

    Raises InvalidRequest for one end alone, for ends in the wrong order, and past 90 days.
    """
    if since is None and until is None:
        return now - USUAL, None
    if since is None or until is None:
        raise InvalidRequest("start_time and end_time go together", field="end_time" if until is None else "start_time")
    if until < since:
        raise InvalidRequest("lies before start_time", field="end_time")
    if until - since > LONGEST:
        raise InvalidRequest("at most 90 days after start_time", field="end_time")
    return since, until
