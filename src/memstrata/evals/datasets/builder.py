"""Collects a data set while it is read, and counts what could not be used: nothing is left out without a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count

from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import Corpus, Dataset, Question, StatementPair, Subset, Unit

__all__ = ["Builder"]


class Builder:
    """Takes corpora first, then the questions asked of them."""

    def __init__(self, name: str, *notes: str, subsets: Iterable[Subset] = (), depth: int = 50) -> None:
        self._name = name
        self._notes = notes
        self._subsets = tuple(subsets)
        self._depth = depth
        self._corpora: dict[str, Corpus] = {}
        self._ids: dict[str, frozenset[str]] = {}
        self._questions: list[Question] = []
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> Mapping[str, int]:
        """What was left out or mended so far, and how often."""
        return dict(self._counts)

    def count(self, what: str, number: int = 1) -> None:
        """Note that something was left out or mended."""
        if number:
            self._counts[what] += number

    def add_corpus(self, corpus_id: str, units: Iterable[Unit], pool: str = "all") -> None:
        """Add a corpus. Units without text are left out; one whose id is taken is kept under another, which no evidence
        names. Both are counted. Raises InvalidRequest for a corpus that is there already.
        """
        kept: dict[str, Unit] = {}
        others = count(2)
        for unit in units:
            if not unit.text.strip():
                self.count("units without text")
            elif unit.unit_id in kept:
                self.count("units whose id an earlier one has, kept without evidence")
                other = next(name for n in others if (name := f"{unit.unit_id}#{n}") not in kept)
                kept[other] = replace(unit, unit_id=other)
            else:
                kept[unit.unit_id] = unit
        if corpus_id in self._corpora:
            raise InvalidRequest(f"there are two corpora {corpus_id[:64]!r}", field=self._name)
        self._corpora[corpus_id] = Corpus(corpus_id, pool, tuple(kept.values()))
        self._ids[corpus_id] = frozenset(kept)

    def add_question(self, question: Question) -> None:
        """Add a question with what of its evidence is there; one without any is counted and left out."""
        known = self._ids[question.corpus_id]
        gold = question.gold & known
        self.count("evidence ids that name no unit", len(question.gold - known))
        if not question.text.strip():
            self.count("questions without text")
        elif not gold:
            self.count("questions without evidence")
        else:
            pair = _known_pair(question, known)
            self.count("statement pairs that cannot be judged", int(pair is None and question.pair is not None))
            self._questions.append(replace(question, gold=gold, pair=pair))

    def built(self) -> Dataset:
        """Return the data set. Raises InvalidRequest if no question is left."""
        if not self._questions:
            raise InvalidRequest("there is no question with evidence in it", field=self._name)
        return Dataset(
            name=self._name,
            corpora=tuple(self._corpora.values()),
            questions=tuple(self._questions),
            notes=self._notes,
            counts=self.counts,
            subsets=self._subsets,
            depth=self._depth,
        )


def _known_pair(question: Question, known: frozenset[str]) -> StatementPair | None:
    """Return the pair as far as it can be judged: both statements are there, and they are two."""
    if question.pair is None:
        return None
    older, newer = question.pair.older & known, question.pair.newer & known
    if not older or not newer or older & newer:
        return None
    return StatementPair(question.pair.kind, older, newer)
