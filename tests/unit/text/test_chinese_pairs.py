"""What stands together in Chinese words."""

from __future__ import annotations

import random

import pytest

from memstrata.text.chinese_pairs import joined_share


def test_the_share_is_that_of_pairs_in_common_words() -> None:
    assert joined_share("电话号码") == pytest.approx(2 / 3)  # 电话, 号码, and 话号 between them
    assert joined_share("电话 号码 天气") == 1.0  # no pair goes over a space


def test_characters_drawn_at_random_hardly_ever_stand_together() -> None:
    daily = [bytes((lead, trail)).decode("gb2312") for lead in range(0xB0, 0xD7) for trail in range(0xA1, 0xFF)]
    draw = random.Random(3)
    shares = [joined_share("".join(draw.choices(daily, k=9))) for _ in range(200)]
    assert sum(share == 0 for share in shares) >= 180


@pytest.mark.parametrize(
    "question", ["我去年在哪家公司上班", "周末的天气怎么样", "我对什么食物过敏", "上次开会讨论了哪些问题"]
)
def test_questions_are_made_of_common_words(question: str) -> None:
    share = joined_share(question)
    assert share is not None
    assert share >= 0.2


@pytest.mark.parametrize("text", ["", "李雷", "tea", "這個電話號碼", "東京の大学", "我。他。你。她。"])
def test_nothing_is_said_of_what_is_too_short_or_not_simplified(text: str) -> None:
    assert joined_share(text) is None
