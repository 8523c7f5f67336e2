"""Which memories support a line of the portrait: told by shared words, never guessed."""

from __future__ import annotations

from memstrata.provenance.trace import supporting
from memstrata.records import MemoryRecord


def remembered(seq: int, content: str) -> MemoryRecord:
    return MemoryRecord(
        seq,
        f"m_{seq}",
        0,
        content,
        "persona",
        70,
        "",
        "always",
        "",
        "s1",
        "",
        "model",
        None,
        None,
        {},
        0,
        0,
        None,
        None,
    )


def supports(line: str, *contents: str) -> list[str]:
    return [memory.content for memory in supporting(line, [remembered(i, text) for i, text in enumerate(contents)])]


def test_the_memory_that_shares_the_rarer_words_comes_first_and_one_that_shares_none_is_left_out() -> None:
    memories = ("Maya likes hiking", "Maya likes oolong tea", "Maya likes jazz", "the deploy runs on Friday")

    assert supports("- likes **oolong tea** in the evening", *memories)[0] == "Maya likes oolong tea"
    assert "the deploy runs on Friday" not in supports("- likes **oolong tea** in the evening", *memories)


def test_a_line_that_shares_no_word_with_any_memory_has_no_support() -> None:
    assert supports("plays the violin", "Maya likes oolong tea") == []
    assert supports("会拉小提琴", "玛雅住在里斯本") == []
    assert supports("***", "Maya likes oolong tea") == []


def test_one_character_in_common_is_no_support_where_the_line_has_words() -> None:
    memories = ("玛雅喜欢乌龙茶", "公司在龙华")

    assert supports("喜欢喝乌龙茶", *memories) == ["玛雅喜欢乌龙茶"]
    assert supports("龙", *memories) == ["公司在龙华", "玛雅喜欢乌龙茶"]
