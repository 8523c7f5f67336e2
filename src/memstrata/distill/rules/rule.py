"""One row of a reader's table: what a predicate that starts like this states."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memstrata.distill.rules.reading import Tense
from memstrata.records import MemoryType

__all__ = ["Rule", "episode", "fact", "value_of"]


@dataclass(frozen=True, slots=True)
class Rule:
    """`pattern` is matched at the predicate's start; its groups `value`, `value2` … give the slot's value.

    `ends` is a slot whose value is over with this event; `dated` asks for a date, without which it would be small talk.
    """

    pattern: re.Pattern[str]
    type: MemoryType
    priority: int
    slot: str = ""
    tense: Tense | None = None
    ends: str = ""
    dated: bool = False


def fact(priority: int, pattern: str, slot: str = "", *, tense: Tense | None = None) -> Rule:
    """Return a rule for what holds about the user."""
    return Rule(re.compile(pattern, re.IGNORECASE), "persona", priority, slot, tense)


def episode(
    priority: int, pattern: str, tense: Tense | None, *, slot: str = "", ends: str = "", dated: bool = False
) -> Rule:
    """Return a rule for what happened or is planned."""
    return Rule(re.compile(pattern, re.IGNORECASE), "episodic", priority, slot, tense, ends, dated)


def value_of(match: re.Match[str]) -> str:
    """Return what the first of a rule's value groups holds; "" if none does."""
    groups = match.groupdict()
    return next((text.strip() for name, text in groups.items() if name.startswith("value") and text), "")
