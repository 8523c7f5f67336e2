import pytest

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
