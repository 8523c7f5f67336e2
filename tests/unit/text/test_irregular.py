"""Words whose forms no stemmer joins."""

from __future__ import annotations

import pytest

from memstrata.text import irregular
from memstrata.text.analyser import index_terms, query_terms
from memstrata.text.irregular import base_form, forms


@pytest.mark.parametrize(
    ("word", "base"), [("went", "go"), ("gone", "go"), ("bought", "buy"), ("written", "write"), ("mice", "mouse")]
)
def test_a_form_stands_for_its_base(word: str, base: str) -> None:
    [form], [expected] = index_terms(word), index_terms(base)
    assert base_form(form) == expected
    assert form in forms(expected)


def test_a_base_form_comes_first_among_its_forms_and_stands_for_itself() -> None:
    assert forms("go") == ("go", "went", "gone")
    assert base_form("go") == "go"


@pytest.mark.parametrize("term", ["tea", "rose", "felt", "", "茶"])
def test_a_word_without_listed_forms_stands_alone(term: str) -> None:
    assert base_form(term) == term
    assert forms(term) == (term,)


def test_no_form_is_a_stop_word_or_belongs_to_two_words() -> None:
    groups = list(irregular._forms().values())
    listed = [form for group in groups for form in group]
    assert len(listed) == len(set(listed))
    words = irregular._FORMS.replace("|", " ").split()
    assert [word for word in words if len(query_terms(f"{word} harbour")) != 2] == []
