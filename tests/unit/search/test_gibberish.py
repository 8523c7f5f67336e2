"""Queries that are no language."""

from __future__ import annotations

import random

import pytest

from memstrata.search.gibberish import is_gibberish


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
