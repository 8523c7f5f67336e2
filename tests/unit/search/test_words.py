from memstrata.search import words
from memstrata.text.analyser import index_terms


def test_the_words_of_a_row_are_analysed_once() -> None:
    text = "Mei keeps bees in Lisbon"
    assert words.counted(text) is words.counted(text)
    assert words.counted(text).terms == frozenset(index_terms(text))


def test_a_long_text_is_not_kept() -> None:
    text = "bees " * 100
    assert words.counted(text) is not words.counted(text)
    assert words.counted(text).total == 100
