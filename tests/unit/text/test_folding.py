"""One spelling per word: what is folded, and what must not be."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.text.folding import fold


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Ünïcödé", "Unicode"),
        ("Ærøskøbing", "AEroskobing"),
        ("ёлка", "елка"),
        ("ΆΈΉ ά", "ΑΕΗ α"),
        ("أحمد إلى", "احمد الي"),
        ("كتـــاب كِتَاب", "كتاب كتاب"),
        ("שָׁלוֹם", "שלום"),
        ("ｶﾞｷﾞ ガ", "がぎ が"),
        ("१२३ ๔๕", "123 45"),
        ("\u200fabc\u200e\ufeff", "abc"),
        ("it’s 2020–2024", "it's 2020-2024"),
    ],
)
def test_variants_of_a_letter_are_folded(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize(
    "text", ["мой Йод", "가나다", "が ぎ", "แม่น้อย", "बिल्ली", "中文，标点", "camelCase ÷ _", "plain ascii"]
)
def test_what_tells_words_apart_is_kept(text: str) -> None:
    expected = unicodedata.normalize("NFKC", text)
    assert fold(text) == expected


@given(st.text(st.characters(exclude_categories=()), max_size=100))
def test_folding_is_stable_under_normal_forms_that_mean_the_same(text: str) -> None:
    assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))
