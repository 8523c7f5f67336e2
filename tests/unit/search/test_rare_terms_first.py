"""Rows with a rare term are looked at first. Whether others follow must never show in what is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from memstrata.records import Message, Scope
from memstrata.search.bm25 import Counted, attainable, weigh
from memstrata.search.collection import Collection
from memstrata.search.factors import SPREAD
from memstrata.search.keyword import keyword_leg
from memstrata.search.ranking import rank
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import MessageFilter
from memstrata.text.analyser import index_terms, query_terms

SCOPE = Scope("default", "home", "assistant", "lin")
ANYTHING = MessageFilter()


@dataclass(slots=True)
class Rows:
    """Rows in memory that are searched like stored ones, and that remember which terms they were searched for."""

    texts: Sequence[str]
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def size(self, _: Scope) -> int:
        return len(self.texts)

    def frequencies(self, _: Scope, terms: Sequence[str]) -> Mapping[str, int]:
        counts = Counter(term for text in self.texts for term in set(index_terms(text)))
        return {term: counts[term] for term in terms if counts[term]}

    def match(
        self, _: Scope, terms: Sequence[str], where: MessageFilter, limit: int
    ) -> Sequence[tuple[Message, float]]:
        self.asked.append(tuple(terms))
        told = {term: 1 / count for term, count in self.frequencies(SCOPE, terms).items()}
        held = [
            (sum(told[term] for term in told.keys() & set(index_terms(text))), seq)
            for seq, text in enumerate(self.texts)
        ]
        best = sorted((pair for pair in held if pair[0]), reverse=True)[:limit]
        return [(Message(seq, str(seq), "s", "", "user", self.texts[seq], 0, 0), score) for score, seq in best]

    def chosen(self, _: Scope, seqs: Sequence[int], where: MessageFilter) -> Sequence[Message]:
        return [Message(seq, str(seq), "s", "", "user", self.texts[seq], 0, 0) for seq in seqs]

    def seqs(self, _: Scope, where: MessageFilter) -> Sequence[int]:
        return range(len(self.texts))


def search(rows: Rows, query: str, limit: int, floor: float = 0.05) -> list[tuple[int, float]]:
    collection: Collection[Message, MessageFilter] = Collection(
        "messages", lambda _: rows, lambda message: message.content
    )
    nothing: Repositories = None  # type: ignore[assignment]  # the collection above does not look at it
    pool = max(50, 10 * limit)
    hits = keyword_leg(nothing, collection, SCOPE, query, ANYTHING, pool, floor=floor, enough=limit)
    return [(hit.item.seq, hit.score) for hit in rank({"keyword": hits}, limit, floors={"keyword": floor})]


def scored(rows: Rows, query: str, limit: int) -> list[tuple[int, float]]:
    """What every row of all of them scores, the slow way."""
    terms = query_terms(query)
    everything = [message for message, _ in rows.match(SCOPE, terms, ANYTHING, len(rows.texts))]
    hits = weigh(
        everything,
        terms,
        rows.frequencies(SCOPE, terms),
        len(rows.texts),
        lambda message: Counted.of(index_terms(message.content)),
    )
    return [(hit.item.seq, hit.score) for hit in hits][:limit]


COMMON = [f"weekly meeting notes {number} with apples {number * 7} and pears {number * 11}" for number in range(200)]
OTHERS = [f"harbour {number}" for number in range(800)]


def test_common_terms_are_not_looked_for_when_rows_with_the_rare_ones_cannot_be_outdone() -> None:
    rows = Rows([*COMMON, *OTHERS, "Zhou keeps bees near the meeting hall", "Zhou keeps goats and bees"])
    query = "meeting with Zhou who keeps bees"
    assert search(rows, query, limit=2) == scored(rows, query, 2)
    assert set(rows.asked[0]) == {"bee", "keep", "kept", "zhou"}
    assert len(rows.asked) == 2  # the second one is the slow way's own


def test_common_terms_are_not_looked_for_when_rows_without_the_rare_ones_would_be_below_the_floor() -> None:
    rows = Rows([*COMMON, *OTHERS, "Zhou keeps bees"])
    assert [seq for seq, _ in search(rows, "notes of Zhou who keeps bees", limit=5, floor=0.3)] == [1_000]
    assert len(rows.asked) == 1


def test_common_terms_are_looked_for_when_rare_ones_do_not_fill_the_answer() -> None:
    rows = Rows([*COMMON, *OTHERS, "Zhou keeps bees"])
    found = search(rows, "weekly meeting notes Zhou", limit=5)
    assert found[0] == scored(rows, "weekly meeting notes Zhou", 1)[0]
    assert len(found) == 5
    assert len(rows.asked) == 3


def test_a_row_with_many_common_terms_comes_before_one_with_a_single_rare_one() -> None:
    rows = Rows([*COMMON[:60], *OTHERS, "bees everywhere", *(f"bees {number}" for number in range(40))])
    query = "weekly meeting notes apples pears bees"
    found = search(rows, query, limit=1)
    assert found == scored(rows, query, 1)
    assert found[0][0] < 60


@pytest.mark.parametrize("repeats", [1, 3, 50])
def test_no_row_reaches_what_is_attainable_however_often_it_repeats_a_term(repeats: int) -> None:
    rows = Rows([*COMMON, " ".join(["meeting notes"] * repeats), "bees"])
    terms = query_terms("meeting notes bees")
    frequencies = rows.frequencies(SCOPE, terms)
    bound = attainable(["meet", "note"], terms, frequencies, len(rows.texts))
    row = Message(200, "200", "s", "", "user", rows.texts[200], 0, 0)
    [hit] = weigh([row], terms, frequencies, len(rows.texts), lambda message: Counted.of(index_terms(message.content)))
    assert hit.terms == {"meet", "note"}
    assert 0 < hit.score < bound


def test_common_terms_are_looked_for_when_a_factor_could_bring_their_rows_up() -> None:
    rows = Rows([*COMMON, *OTHERS, "Zhou keeps bees near the meeting hall", "Zhou keeps goats and bees"])
    collection: Collection[Message, MessageFilter] = Collection(
        "messages", lambda _: rows, lambda message: message.content
    )
    nothing: Repositories = None  # type: ignore[assignment]  # the collection above does not look at it
    for spread, times in ((SPREAD, 1), (100.0, 2)):
        rows.asked.clear()
        keyword_leg(
            nothing, collection, SCOPE, "meeting with Zhou who keeps bees", ANYTHING, 50, enough=2, spread=spread
        )
        assert len(rows.asked) == times
