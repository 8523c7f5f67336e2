from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.text.split import split


@given(
    st.text(alphabet=st.sampled_from("ab 。.\n\r，你好e\u0301👨\u200d👩🇨🇳🇯!”"), max_size=300),
    st.integers(min_value=1, max_value=40),
)
def test_parts_fit_and_join_to_the_whole(text: str, limit: int) -> None:
    parts = list(split(text, limit))
    assert "".join(parts) == text
    assert all(0 < len(part) <= limit for part in parts)


def test_a_text_that_fits_is_not_split() -> None:
    assert list(split("a" * 10, 10)) == ["a" * 10]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("one. two\n\nthree four. five\nsix seven", "one. two\n\n"),
        ("one two three\nfour. five six seven", "one two three\n"),
        ("one two three. four five six seven", "one two three. "),
        ("一二三四五六七八九。十一二三四五六七八九二十", "一二三四五六七八九。"),
        ("他说：“好的，明天见面吧！”然后就离开了这个地方", "他说：“好的，明天见面吧！”"),
        ("one two three four five", "one two three "),
        ("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnop"),
    ],
)
def test_the_cut_is_at_the_best_boundary_in_the_second_half(text: str, first: str) -> None:
    assert next(split(text, 16)) == first


def test_a_boundary_in_the_first_half_is_not_worth_a_short_part() -> None:
    assert next(split("a\n\n" + "b" * 40, 16)) == "a\n\n" + "b" * 13


@pytest.mark.parametrize("cluster", ["👨\u200d👩\u200d👧", "🇨🇳", "e\u0301", "\r\n"])
def test_what_a_reader_sees_as_one_character_stays_whole(cluster: str) -> None:
    parts = list(split(cluster * 10, len(cluster) * 2 + len(cluster) // 2))
    assert parts == [cluster * 2] * 5


def test_a_cluster_longer_than_a_message_is_cut_all_the_same() -> None:
    text = "e" + "\u0301" * 25
    assert [len(part) for part in split(text, 10)] == [10, 10, 6]
