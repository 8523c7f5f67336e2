"""Which rows the keyword leg brings, and which it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from memstrata.records import Message, Scope
from memstrata.search.collection import Collection
from memstrata.search.factors import factors_for
from memstrata.search.gate import NONSENSE_FLOOR
from memstrata.search.keyword import is_nonsense, keyword_leg
from memstrata.search.leg import LegHit
from memstrata.search.ranking import rank
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import MessageFilter
from memstrata.text.analyser import index_terms

Say = Callable[..., Message]
SCOPE = Scope("default", "home", "assistant", "lin")
NOTHING: Repositories = None  # type: ignore[assignment]  # the collection below does not look at it
DAY = 86_400_000


class Rows:
    """Messages in memory, matched like stored ones."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = {message.seq: frozenset(index_terms(message.content)) for message in messages}
        self._rows = {message.seq: message for message in messages}

    def size(self, _: Scope) -> int:
        return len(self._rows)

    def frequencies(self, _: Scope, terms: Sequence[str]) -> Mapping[str, int]:
        counts = {term: sum(term in held for held in self.messages.values()) for term in terms}
        return {term: count for term, count in counts.items() if count}

    def match(self, _: Scope, terms: Sequence[str], where: MessageFilter, limit: int) -> list[tuple[Message, float]]:
        held = [(self._rows[seq], float(len(words & set(terms)))) for seq, words in self.messages.items()]
        return sorted((pair for pair in held if pair[1]), key=lambda pair: -pair[1])[:limit]

    def chosen(self, _: Scope, seqs: Sequence[int], where: MessageFilter) -> list[Message]:
        return [self._rows[seq] for seq in seqs]

    def seqs(self, _: Scope, where: MessageFilter) -> list[int]:
        return list(self._rows)

    def collection(self) -> Collection[Message, MessageFilter]:
        return Collection("messages", lambda _: self, lambda message: message.content)


def leg(rows: Rows, query: str, pool: int = 50) -> list[LegHit[Message]]:
    return keyword_leg(NOTHING, rows.collection(), SCOPE, query, MessageFilter(), pool)


@pytest.mark.parametrize(
    ("said_text", "question"),
    [
        ("I went to the harbour", "where did I go"),
        ("we bought a boat", "what did we buy"),
        ("she has written a poem", "what does she write"),
        ("my children sleep", "does my child sleep"),
        ("I go there daily", "have I gone there"),
    ],
)
def test_a_question_in_the_base_form_finds_what_was_said_in_another(said: Say, said_text: str, question: str) -> None:
    rows = Rows([said(1, said_text), said(2, "nothing of the kind")])
    assert [hit.item.seq for hit in leg(rows, question)] == [1]


def test_a_hit_carries_the_terms_of_its_row(said: Say) -> None:
    [found] = leg(Rows([said(1, "green tea")]), "tea")
    assert found.words == {"green", "tea"}


def test_at_most_a_pool_of_rows_comes_and_the_best_is_the_first(said: Say) -> None:
    rows = Rows(
        [*(said(n, f"tea {n}") for n in range(20)), *(said(n, "milk") for n in range(40, 80)), said(99, "green tea")]
    )
    found = leg(rows, "green tea", pool=5)
    assert len(found) == 5
    assert found[0].item.seq == 99


def test_a_long_message_as_a_query_still_finds_what_it_is_about(said: Say) -> None:
    """Measured against every word of it, a statement scored next to nothing and recall went silent."""
    rows = Rows(
        [said(1, "Lin is allergic to peanuts"), *(said(n, f"note number {n} on meetings") for n in range(2, 60))]
    )
    query = (
        "hello again, so tomorrow evening some colleagues visit us, everybody brings something to share, and I wonder"
        " whether the peanut noodles from that little restaurant near the station would be a nice surprise, because last"
        " time people praised them a lot and asked about the recipe, although the cook keeps it secret"
    )
    [first, *_] = leg(rows, query)
    assert first.item.seq == 1
    assert first.score > 0.05


def test_of_random_letters_an_accidental_word_is_not_enough(said: Say) -> None:
    rows = Rows([said(1, "long notes about tea and many other things of this day " * 4), said(2, "milk")])
    strange = "tea zxqvw kjhgf wvutq ploki mnjuh bvgyt cfrde xswza qazws edcrf tgbyh"
    assert leg(rows, strange) == []
    assert [hit.item.seq for hit in leg(rows, "tea")] == [1]


def test_random_letters_are_nonsense_unless_the_scope_has_them(said: Say) -> None:
    rows = Rows([said(1, "the token is zxqvwkjhgf"), said(2, "milk")])

    def nonsense(query: str) -> bool:
        return is_nonsense(NOTHING, rows.collection(), SCOPE, query)

    assert nonsense("wvutqq plokiijq")
    assert not nonsense("zxqvwkjhgf")
    assert not nonsense("where is the harbour master")


def test_an_identifier_among_random_letters_is_still_found(said: Say) -> None:
    rows = Rows([said(1, "Zhou keeps bees"), *(said(n, "milk") for n in range(2, 40))])
    [found] = leg(rows, "zhou xqvvw kjjhgf wvutqq plokii")
    assert found.item.seq == 1
    assert found.score >= NONSENSE_FLOOR


def test_a_query_without_a_known_word_finds_nothing(said: Say) -> None:
    assert leg(Rows([said(1, "tea")]), "coffee") == []
    assert leg(Rows([said(1, "tea")]), "？！") == []
    assert leg(Rows([]), "tea") == []


def test_what_was_said_at_the_time_in_question_comes_first_and_nothing_is_lost(said: Say) -> None:
    now = 20_000 * DAY
    rows = Rows([said(1, "tea with Zhou", said_at=now - DAY), said(2, "tea with Lin", said_at=now - 9 * DAY)])

    def found(now: int | None) -> list[int]:
        factors = () if now is None else factors_for("tea yesterday", now)
        return [hit.item.seq for hit in rank({"keyword": leg(rows, "tea yesterday")}, 5, floors={}, factors=factors)]

    assert found(None) == [2, 1]
    assert found(now) == [1, 2]


def test_in_a_store_of_two_rows_an_everyday_word_is_no_answer(said: Say) -> None:
    """No frequency tells there that "now" says nothing."""
    rows = Rows([said(1, "the rent is due now"), said(2, "milk")])
    question = "could you now recommend a hotel near the harbour"
    assert leg(rows, question) == []
    assert [hit.item.seq for hit in leg(rows, "what is due now")] == [1]
    assert [hit.item.seq for hit in leg(rows, "now")] == [1]


def test_daily_characters_in_no_order_find_nothing_and_a_name_that_the_store_knows_is_found(said: Say) -> None:
    rows = Rows([said(1, "我的猫叫粉架锯"), *(said(n, "孙老师埋了一棵树") for n in range(2, 9))])
    assert leg(rows, "寸滔埋词孙肿棵") == []
    assert [hit.item.seq for hit in leg(rows, "粉架锯")] == [1]


def test_without_the_gate_every_row_above_the_floor_comes(said: Say) -> None:
    rows = Rows([said(1, "the rent is due now"), said(2, "milk")])
    query = "could you now recommend a hotel near the harbour"
    found = keyword_leg(NOTHING, rows.collection(), SCOPE, query, MessageFilter(), 50, gated=False)
    assert [hit.item.seq for hit in found] == [1]
