"""The language of a text by its script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.text import language_of, main_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("我住在杭州", "zh"),
        ("用 FastAPI 写服务", "zh"),
        ("帮我看一下 src/memstrata/text/language.py 这个文件", "zh"),
        ("请解释：\n```python\ndef main() -> None:\n    print('hello world, this is code')\n```", "zh"),
        ("看看 https://example.com/a/very/long/path 吧", "zh"),
        ("我在优の良品买了零食和饮料", "zh"),
        ("東京都世田谷区に住んでいる", "ja"),
        ("ﾘﾝｺﾞが好き", "ja"),
        ("나는 서울에 살아요", "ko"),
        ("GitHub에서 코드 리뷰", "ko"),
        ("I live near Camden Market", "en"),
        ("My name in Chinese is 欧阳娜娜", "en"),
        ("Я живу в Москве", "ru"),
        ("أسكن في القاهرة", "ar"),
        ("ฉันอยู่กรุงเทพ", "th"),
        ("אני גר בחיפה", "he"),
        ("", "und"),
        ("42 + 1 = 43 🎉", "und"),
        ("`rm -rf build`", "und"),
        ("```\nunclosed fence with words", "und"),
        ("\ud800", "und"),
    ],
)
def test_the_language_is_told_by_the_script_of_the_prose(text: str, language: str) -> None:
    assert language_of(text) == language


@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_any_text_has_one_of_the_known_languages(text: str) -> None:
    assert language_of(text) in {"zh", "ja", "ko", "th", "ru", "ar", "he", "en", "und"}


def test_a_hostile_text_takes_linear_time() -> None:
    for unit in ("`", "```", "a", "a/", "://", "@"):
        assert language_of(unit * 500_000) in {"en", "und"}


def test_the_main_language_is_the_one_most_is_said_in() -> None:
    assert main_language(["ok", "好的，我明天去杭州出差", "thanks a lot"]) == "zh"
    assert main_language(["好的", "please write the release notes in English"]) == "en"


def test_without_words_the_default_is_taken() -> None:
    assert main_language([]) == "en"
    assert main_language(["42", "🎉"], default="zh") == "zh"
