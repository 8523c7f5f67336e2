"""What a recorder has done and what it could not do, so that nothing fails unseen. Counts and names, never contents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

__all__ = ["Counts", "Outcome", "RecorderStatus"]

Outcome = Literal[
    "captured",
    "nothing said",
    "not begun",
    "no watermark",
    "blocked",
    "nested",
    "failed",
]
"""How `capture` ended. Only `captured` hands something over; `failed` is an error of ours, in the log and the counts."""


@dataclass(frozen=True, slots=True)
class RecorderStatus:
    """A recorder since it was made. `waiting`: turns handed over and not yet acknowledged by the server.

    `outcomes` counts the ends of captures; `delivered` turns that the server has; `rejected` turns that it will never
    take, kept in the store; `lost` turns dropped because too many waited and no store took them. `last_error` names a kind
    of failure and where it happened, empty while there was none.
    """

    outcomes: Mapping[str, int]
    delivered: int
    waiting: int
    rejected: int
    lost: int
    failed_deliveries: int
    failed_store_calls: int
    last_error: str

    @property
    def is_healthy(self) -> bool:
        """Whether nothing has failed so far and nothing is lost."""
        return not (self.rejected or self.lost or self.last_error)


class Counts:
    """The counters behind a status."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.delivered = 0
        self.rejected = 0
        self.lost = 0
        self.failed_deliveries = 0
        self.failed_store_calls = 0
        self.last_error = ""

    def status(self, waiting: int) -> RecorderStatus:
        return RecorderStatus(
            outcomes=MappingProxyType(dict(self.outcomes)),
            delivered=self.delivered,
            waiting=waiting,
            rejected=self.rejected,
            lost=self.lost,
            failed_deliveries=self.failed_deliveries,
            failed_store_calls=self.failed_store_calls,
            last_error=self.last_error,
        )
