"""What a persona says word for word of a memory."""

import pytest

from memstrata.cli.evidence import quote_of

PERSONA = "# 用户画像\n\n## 长期要求\n- 以后推荐菜谱都要注明过敏原。\n\n## 基本情况\n用户叫小林，住在杭州。The user likes tea."


@pytest.mark.parametrize(
    ("statement", "quote"),
    [
        ("用户要求AI以后推荐菜谱都要注明过敏原", "以后推荐菜谱都要注明过敏原"),
        ("The user likes tea", "The user likes tea"),
        ("The user plays the violin on Sundays", ""),
        ("小林", ""),
    ],
)
def test_a_quote_is_at_least_half_of_the_statement(statement: str, quote: str) -> None:
    assert quote_of(PERSONA, statement) == quote
