import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.text.tokens import count_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("abcd", 1),
        ("abcde", 2),
        ("我住在里斯本", 6),
        ("我住在 Lisbon", 5),
        ("ひらがな", 4),
        ("한국", 2),
        ("\U00020000", 1),
    ],
)
def test_a_cjk_character_is_one_token_and_four_others_are_one(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@given(st.text(max_size=40), st.text(max_size=40))
def test_parts_never_count_less_than_the_whole(start: str, end: str) -> None:
    """Budgets add up parts, and must hold for what they make."""
    whole = count_tokens(start + end)
    assert count_tokens(start) <= whole <= count_tokens(start) + count_tokens(end)
