"""Queries that are no language."""

from __future__ import annotations

import random

import pytest

from memstrata.search.gibberish import is_disjointed, is_gibberish, is_list


@pytest.mark.parametrize(
    "query",
    [
        "what is my jazz trio called?",
        "where does my sister live",
        "où est la gare",
        "wo wohnt meine Schwester",
        "gdzie mieszka moja siostra",
        "nerede yaşıyor",
        "我住在哪里",
        "我對花生過敏嗎",
        "東京の大学で日本語を勉強しています",
        "저는 어디에 살아요",
        "Где живёт моя сестра",
        "v2.4-rc1",
        "xkcd",
        "李",
        "10.0.0.12",
        "",
        "？！。",
    ],
)
def test_a_question_in_any_language_is_none(query: str) -> None:
    assert not is_gibberish(query)


def test_random_letters_and_random_characters_are_nearly_always_seen() -> None:
    draw = random.Random(7)
    letters = [" ".join("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(3)) for _ in range(100)]
    characters = ["".join(chr(draw.randint(0x4E00, 0x9FA5)) for _ in range(8)) for _ in range(100)]
    assert sum(map(is_gibberish, letters)) >= 90
    assert sum(map(is_gibberish, characters)) >= 90


def test_letters_are_seen_by_their_crowds_of_consonants_too() -> None:
    """Their letters are as frequent as in a language, but no language puts them in such an order."""
    assert is_gibberish("uardgh smlzo")
    assert not is_gibberish("strengths of the twelfth")


@pytest.mark.parametrize("query", ["window purple seven marble", "Window, purple; seven marble.", "one-eyed cat " * 4])
def test_a_list_is_words_without_one_that_only_builds_a_sentence(query: str) -> None:
    assert is_list(query) == ("-" not in query)


@pytest.mark.parametrize(
    "query",
    [
        "where does my sister live",
        "dónde vive mi hermana Lucía",
        "wo wohnt meine Schwester heute",
        "purple marble window",
        "release build 2024 failed twice",
        "src/app.py raises key error",
        "我 喜欢 紫色 窗户",
        "",
    ],
)
def test_a_sentence_a_short_query_and_anything_specific_is_no_list(query: str) -> None:
    assert not is_list(query)


def test_a_long_query_is_judged_in_linear_time() -> None:
    assert not is_list("window " * 200_000 + "的")
    assert is_list("window " * 200_000)


def test_a_traditional_or_japanese_question_is_not_called_disjointed() -> None:
    assert not is_disjointed("我對花生過敏嗎這個電話號碼")
    assert not is_disjointed("東京の大学で日本語を勉強しています")
    assert is_disjointed("埋粉词滔架锯孙寸")
