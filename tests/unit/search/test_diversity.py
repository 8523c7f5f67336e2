"""What repeats or resembles a better result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from memstrata.records import Message
from memstrata.search.diversity import distinct, likeness, mmr, overlap
from memstrata.search.leg import LegHit

WORDS = st.frozensets(st.sampled_from("abcdefgh"), max_size=6)


def alike(one: str, other: str) -> float:
    return overlap(frozenset(one), frozenset(other))


def test_the_overlap_is_the_share_of_all_terms() -> None:
    assert overlap(frozenset("ab"), frozenset("bc")) == 1 / 3
    assert overlap(frozenset(), frozenset()) == 0


def test_near_duplicates_are_left_out_and_the_rest_stays_in_order() -> None:
    assert distinct(["abc", "xyz", "cba", "abx"], 3, alike) == ["abc", "xyz", "abx"]


def test_full_relevance_is_the_given_order_without_near_duplicates() -> None:
    ranked = ["abc", "abd", "cba", "xyz"]
    assert mmr(ranked, 3, lambda one: 1.0, alike) == ["abc", "abd", "xyz"]


def test_less_relevance_prefers_what_is_new() -> None:
    scores = {"abc": 0.9, "abd": 0.8, "xyz": 0.7}
    assert mmr(list(scores), 2, scores.__getitem__, alike, relevance=0.6) == ["abc", "xyz"]


def test_near_duplicates_are_never_taken_whatever_they_score() -> None:
    scores = {"abc": 0.9, "cba": 0.9, "xyz": 0.01}
    assert mmr(list(scores), 3, scores.__getitem__, alike, relevance=0.9) == ["abc", "xyz"]


def test_a_message_of_another_session_is_no_repetition(hit: Callable[..., LegHit[Message]]) -> None:
    one, other = hit(1, 0.5, "green tea"), hit(2, 0.5, "green tea")
    elsewhere = replace(other, item=replace(other.item, session_id="another"))
    assert likeness(one, other) == 1
    assert likeness(one, elsewhere) == 0


@given(st.lists(WORDS, max_size=12), st.integers(0, 8), st.floats(0, 1))
def test_what_is_chosen_is_from_the_ranking_and_starts_with_its_best(
    ranked: list[frozenset[str]], limit: int, relevance: float
) -> None:
    rows = list(enumerate(ranked))
    taken = mmr(
        rows, limit, lambda row: 1 / (1 + row[0]), lambda one, other: overlap(one[1], other[1]), relevance=relevance
    )
    assert len(taken) == len(set(taken)) <= limit
    assert set(taken) <= set(rows)
    if relevance > 0 and rows and limit:
        assert taken[0] == rows[0]
