"""BM25 over a scope's own numbers."""

from __future__ import annotations

import pytest

from memstrata.search.bm25 import Counted, attainable, is_strange, selective, weigh

SIZE = 1_000


def scores(rows: list[str], query: str, frequencies: dict[str, int], size: int = SIZE) -> dict[str, float]:
    hits = weigh(rows, query.split(), frequencies, size, lambda row: Counted.of(row.split()))
    return {hit.item: hit.score for hit in hits}


@pytest.mark.parametrize(
    ("frequencies", "budget", "chosen"),
    [
        ({}, 100, []),
        ({"a": 5}, 100, ["a"]),
        ({"the": 5_000}, 100, ["the"]),
        ({"the": 5_000, "rare": 1}, 100, ["rare"]),
        ({"b": 60, "a": 40, "c": 61}, 100, ["a", "b"]),
        ({"b": 60, "a": 41}, 100, ["a"]),
        ({"a": 100}, 100, ["a"]),
    ],
)
def test_terms_are_chosen_from_the_rarest_on_within_the_budget(
    frequencies: dict[str, int], budget: int, chosen: list[str]
) -> None:
    assert selective(frequencies, budget) == chosen


def test_rows_come_best_first_and_those_without_any_term_are_left_out() -> None:
    found = scores(["tea", "green tea", "coffee"], "green tea", {"tea": 100, "green": 10})
    assert list(found) == ["green tea", "tea"]


def test_a_row_that_holds_every_term_once_scores_about_one() -> None:
    usual = "green tea " + "word " * 23
    found = scores([usual], "green tea", {"tea": 100, "green": 10})
    assert found[usual] == pytest.approx(0.83, abs=0.02)
    short = scores(["green tea"], "green tea", {"tea": 100, "green": 10})
    assert short["green tea"] == 1.0


def test_a_rare_term_weighs_more_than_a_common_one() -> None:
    found = scores(["green", "tea"], "green tea", {"tea": 500, "green": 2})
    assert found["green"] > 3 * found["tea"]


def test_repeating_a_term_helps_less_and_less() -> None:
    rows = ["tea x x x x x x x x", "tea tea x x x x x x x", "tea tea tea tea tea tea tea tea x"]
    one, two, many = (scores(rows, "tea milk honey", {"tea": 10, "milk": 10, "honey": 10})[row] for row in rows)
    assert one < two < many < 2 * one


def test_a_longer_row_scores_a_little_less() -> None:
    rows = ["tea", "tea " + "word " * 200]
    short, long = (scores(rows, "tea milk", {"tea": 10, "milk": 10})[row] for row in rows)
    assert long < short < 4 * long


def test_beyond_four_usual_lengths_a_row_is_not_longer_for_the_score() -> None:
    rows = ["tea " + "word " * 99, "tea " + "word " * 5_000]
    long, endless = (scores(rows, "tea milk", {"tea": 10, "milk": 10})[row] for row in rows)
    assert endless == long


def test_a_long_question_does_not_ask_for_more_words_than_a_statement_has() -> None:
    """Measured against all its words, no statement reached the floor when someone wrote four sentences."""
    question = " ".join(f"word{number}" for number in range(64))
    statement = " ".join(f"word{number}" for number in range(0, 64, 8))
    assert scores([statement], question, {})[statement] > 0.5


def test_a_term_that_every_row_holds_still_counts_for_something() -> None:
    assert scores(["tea"], "tea", {"tea": SIZE})["tea"] > 0
    assert scores(["tea"], "tea", {"tea": SIZE + 50}, size=SIZE)["tea"] > 0  # counts of different moments


def test_no_score_leaves_zero_to_one() -> None:
    found = scores(["tea " * 50, "tea"], "tea", {"tea": 1}, size=1)
    assert len(found) == 2
    assert all(0 < score <= 1 for score in found.values())


def test_a_score_is_the_same_whatever_else_is_scored() -> None:
    alone = scores(["green tea"], "green tea leaves", {"green": 5, "tea": 9})
    among = scores(["tea", "green tea", "leaves " * 9], "green tea leaves", {"green": 5, "tea": 9})
    assert among["green tea"] == alone["green tea"]


def test_rows_that_score_alike_stay_in_their_order() -> None:
    rows = ["tea with milk", "tea with mint", "tea with ice"]
    assert list(scores(rows, "tea", {"tea": 10})) == rows


def test_beyond_a_full_score_the_better_row_still_comes_first() -> None:
    found = scores(["tea tea", "tea tea tea"], "tea", {"tea": 10})
    assert found == {"tea tea tea": 1.0, "tea tea": 1.0}
    assert list(found) == ["tea tea tea", "tea tea"]


def test_no_row_reaches_more_than_is_attainable() -> None:
    frequencies = {"green": 5, "tea": 300, "leaves": 40}
    bound = attainable({"tea", "leaves"}, ["green", "tea", "leaves"], frequencies, SIZE)
    found = scores(["tea leaves " * n for n in (1, 5, 50)], "green tea leaves", frequencies)
    assert len(found) == 3
    assert all(score <= bound for score in found.values())


def test_a_hit_names_the_terms_that_it_holds() -> None:
    (hit,) = weigh(["green tea"], ["tea", "milk"], {"tea": 10}, SIZE, lambda row: Counted.of(row.split()))
    assert hit.terms == {"tea"}


def test_a_question_of_which_the_scope_knows_hardly_a_word_is_strange() -> None:
    words = ["zxqvw", "kjhgf", "wvut", "qqq", "tea"]
    assert is_strange(words, {"tea": 3})
    assert not is_strange(words[2:], {"tea": 3})


def test_pairs_of_characters_do_not_make_a_question_strange() -> None:
    question = ["我", "爱", "喝", "茶", "我爱", "爱喝", "喝茶"]
    assert not is_strange(question, {"茶": 3})
    assert is_strange(["我爱", "爱喝"], {})


def test_a_row_with_another_form_of_the_word_counts_as_one_with_the_word() -> None:
    rows = ["we went home", "we go home"]
    found = scores(rows, "go", {"go": 2})
    assert found["we went home"] == found["we go home"]
