"""What the readers of all languages share: a sentence as it is looked at, and what was read out of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from memstrata.records import AppliesTo, MemoryType
from memstrata.text.dates import Tense

__all__ = ["Correction", "Emphasis", "Finding", "Reader", "Reading", "Sentence", "Tense", "plain_value"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of the user's own words. A supposition may still hold a standing instruction ("if I ask …")."""

    text: str
    supposed: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """One statement that stands alone.

    `value` is what it gives its slot: equal values are no change. `ends` is a slot whose value is over with this event
    ("left Orion" ends the employer Orion). `corrects` is an earlier statement, in the user's words, that it takes back.
    """

    content: str
    type: MemoryType
    priority: int
    slot: str = ""
    value: str = ""
    applies_to: AppliesTo = "always"
    tense: Tense | None = None  # which way a date without a year lies; None for what holds at all times
    ends: str = ""
    corrects: str = ""


@dataclass(frozen=True, slots=True)
class Correction:
    """The user takes back a value without repeating the statement that it belongs to."""

    wrong: str
    right: str


@dataclass(frozen=True, slots=True)
class Emphasis:
    """The user asks to remember what was said just before."""


Finding = Reading | Correction | Emphasis


@dataclass(frozen=True, slots=True)
class Reader:
    """One language. `join` returns two neighbouring sentences as one when the second only completes the first."""

    language: str
    read: Callable[[Sentence], tuple[Finding, ...]]
    join: Callable[[str, str], str | None]


_EDGES = re.compile(r"^[\s\"'“”‘’「」『』《》.,;:!，。；：！、]+|[\s\"'“”‘’「」『』《》.,;:!，。；：！、]+$")


def plain_value(text: str) -> str:
    """Return a value as it is compared: folded, one space between words, no punctuation at its ends."""
    return " ".join(_EDGES.sub("", text).casefold().split())
