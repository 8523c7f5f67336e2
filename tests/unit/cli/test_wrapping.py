"""Lines of a terminal: never too wide, broken inside Chinese, closed by the marks that belong to their text."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from memstrata.cli.wrapping import wrapped


def test_english_breaks_at_spaces() -> None:
    assert wrapped("the user lives in Shanghai", 14) == ["the user lives", "in Shanghai"]


def test_a_chinese_sentence_goes_on_behind_an_english_word() -> None:
    assert wrapped("英文名 Lin；养了一只猫", 16) == ["英文名 Lin；养了", "一只猫"]


def test_no_line_begins_with_a_closing_mark() -> None:
    assert wrapped("一二三，四五六", 6) == ["一二", "三，四", "五六"]
    assert wrapped("热度 12）", 7) == ["热度", "12）"]


def test_a_word_that_is_too_long_is_cut() -> None:
    assert wrapped("m_1796054572584_50755a9d", 10) == ["m_17960545", "72584_5075", "5a9d"]


def test_line_breaks_of_the_text_stay() -> None:
    assert wrapped("# 画像\n\n- 吃素", 80) == ["# 画像", "", "- 吃素"]


@given(st.text(alphabet="ab 一二，。“”!\t", max_size=60), st.integers(min_value=4, max_value=20))
def test_no_line_is_wider_than_it_may_be_and_nothing_but_space_is_lost(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
