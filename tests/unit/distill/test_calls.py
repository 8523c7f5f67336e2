"""What the questions to a model share."""

from __future__ import annotations

from memstrata.distill.atoms.identity import names_somebody_else
from memstrata.distill.calls import new_mark


def test_a_mark_is_neither_a_word_nor_a_year_and_no_name_of_the_user() -> None:
    marks = {new_mark() for _ in range(500)}
    assert not [mark for mark in marks if mark.isalpha() or mark.isdigit()]
    assert all(names_somebody_else(f"User ({mark}) likes tea", "Arun") for mark in marks)
