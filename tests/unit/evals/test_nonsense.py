"""Nonsense to ask for."""

from __future__ import annotations

from memstrata.evals.nonsense import FAMILIES, nonsense

TEXTS = ["I keep bees at home", "我家养了三只蜜蜂"]


def test_the_same_seed_draws_the_same_and_another_seed_others() -> None:
    assert nonsense(TEXTS, 5, 1) == nonsense(TEXTS, 5, 1)
    assert nonsense(TEXTS, 5, 1) != nonsense(TEXTS, 5, 2)


def test_more_queries_are_the_same_ones_and_further_ones() -> None:
    few, many = nonsense(TEXTS, 3, 0), nonsense(TEXTS, 6, 0)
    assert all(many[family][:3] == few[family] for family in FAMILIES)


def test_what_is_drawn_from_the_store_is_in_it() -> None:
    drawn = nonsense(TEXTS, 50, 0)
    assert set("".join(drawn["characters of the store"])) <= set(TEXTS[1])
    assert set(" ".join(drawn["words of the store"]).split()) <= {"keep", "bees", "home"}


def test_a_family_that_the_store_has_nothing_for_is_left_out() -> None:
    assert set(nonsense([TEXTS[0]], 1, 0)) == set(FAMILIES) - {"characters of the store"}
    assert set(nonsense([TEXTS[1]], 1, 0)) == set(FAMILIES) - {"words of the store"}
    assert set(nonsense([], 1, 0)) == set(FAMILIES[:3])


def test_daily_characters_are_all_chinese_and_no_two_queries_are_alike() -> None:
    daily = nonsense([], 200, 0)["daily characters"]
    assert len(set(daily)) == 200
    assert all("\u4e00" <= character <= "\u9fff" for query in daily for character in query)
