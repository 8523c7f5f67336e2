"""How a line of an import ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from memstrata.records.archive import Outcome

__all__ = ["ADDED", "KNOWN", "Written", "conflict"]


@dataclass(frozen=True, slots=True)
class Written:
    """`reason` says what is in the way of a conflict, in words without contents."""

    outcome: Outcome
    reason: str = ""


ADDED: Final = Written("added")
KNOWN: Final = Written("known")


def conflict(reason: str) -> Written:
    """Return the outcome of a line that what is here contradicts."""
    return Written("conflict", reason)
