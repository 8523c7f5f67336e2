"""What is asked of rows that may agree with a query by accident."""

from __future__ import annotations

import pytest

from memstrata.search.bm25 import is_strange
from memstrata.search.gate import ACCIDENT_FLOOR, NONSENSE_FLOOR, Gate, gate_of, is_unknown, may_be_nonsense
from memstrata.text.analyser import query_terms

ODD = "的埋粉词滔架锯孙"  # characters of everyday texts in no order


def gate(query: str, *known: str, floor: float = 0.01) -> Gate:
    return gate_of(query, query_terms(query), dict.fromkeys(known, 1), floor)


def test_a_row_that_shares_only_an_everyday_word_needs_more_of_the_question() -> None:
    usual = gate("where is the harbour now", "harbour", "now")
    assert not usual.admits(ACCIDENT_FLOOR - 0.01, {"now"})
    assert usual.admits(ACCIDENT_FLOOR - 0.01, {"now", "harbour"})
    assert usual.admits(ACCIDENT_FLOOR, {"now"})
    assert usual.admits(0.02, {"harbour"})


def test_in_chinese_the_characters_of_an_everyday_pair_are_everyday_too() -> None:
    usual = gate("现在几点", "现", "在", "现在")
    assert not usual.admits(0.1, {"现在", "现", "在"})
    assert usual.admits(0.1, {"现在", "现", "在", "点"})
    assert usual.admits(0.1, {"现"})


def test_characters_in_no_order_are_nonsense_unless_the_store_has_their_pairs() -> None:
    terms = query_terms(ODD)
    singles = {term: 1 for term in terms if len(term) == 1}
    assert may_be_nonsense(ODD)
    assert is_unknown(ODD, terms, singles)
    assert not is_unknown(ODD, terms, dict.fromkeys(terms, 1))
    assert gate(ODD, *singles).floor == NONSENSE_FLOOR
    assert gate(ODD, *terms).floor == 0.01


def test_a_store_that_knows_the_characters_of_a_question_but_not_its_pairs_is_strange_by_pairs_alone() -> None:
    question = ["我", "爱", "我爱", "爱喝", "喝茶"]
    assert not is_strange(question, {"我": 1, "爱": 1})
    assert is_strange(question, {"我": 1, "爱": 1}, by_pairs=True)
    assert not is_strange(question, {"我爱": 1}, by_pairs=True)


def test_a_bare_list_of_words_has_to_be_met_by_more_than_one_of_them() -> None:
    assert gate("window purple seven marble", "window").floor == ACCIDENT_FLOOR
    assert gate("what is the window of marble", "window").floor == 0.01


@pytest.mark.parametrize("query", ["where is the harbour", ODD, "window purple seven marble"])
def test_a_floor_that_is_higher_already_stays(query: str) -> None:
    assert gate(query, floor=0.9) == Gate(0.9, 0.9)


@pytest.mark.parametrize("query", ["where does my sister live", "我住在哪里", "我的微信昵称是什么", "v2.4-rc1", ""])
def test_a_question_does_not_look_like_nonsense(query: str) -> None:
    assert not may_be_nonsense(query)
