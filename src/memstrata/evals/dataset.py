"""What every data set becomes: corpora of messages, and questions whose evidence among them is known.

Readers differ in what they read, never in what they give, so that ranking and scoring know no data set by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memstrata.clock import Instant
from memstrata.records import Role

__all__ = ["Corpus", "Dataset", "PairKind", "Question", "StatementPair", "Subset", "Unit"]

PairKind = Literal["update", "contradiction", "sequence"]
"""How two statements belong together: the newer replaces the older, denies it, or only comes after it."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What is found or not: one message, with the id that the data set's evidence names it by."""

    unit_id: str
    text: str
    role: Role
    said_at: Instant
    session_id: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """What one question is asked of. Corpora of the same `pool` are thrown together for the pooled figures."""

    corpus_id: str
    pool: str
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class StatementPair:
    """An older and a newer statement about the same thing, each by the ids of the units that make it."""

    kind: PairKind
    older: frozenset[str]
    newer: frozenset[str]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the units that hold its evidence: at least one, all of them in its corpus."""

    question_id: str
    corpus_id: str
    text: str
    gold: frozenset[str]
    category: str
    asked_at: Instant | None = None
    pair: StatementPair | None = None


@dataclass(frozen=True, slots=True)
class Subset:
    """Categories that are also reported together, for example those that other publications leave out."""

    name: str
    categories: frozenset[str]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set ready to be ranked. `notes` and `counts` are its protocol: what is indexed, what was left out or mended.

    `depth` is how many results a question needs for the metrics of this set.
    """

    name: str
    corpora: tuple[Corpus, ...]
    questions: tuple[Question, ...]
    notes: tuple[str, ...]
    counts: Mapping[str, int]
    subsets: tuple[Subset, ...] = ()
    depth: int = 50
