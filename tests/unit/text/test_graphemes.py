"""Cuts that tear no character."""

from __future__ import annotations

import json

import pytest
import regex  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from memstrata.text import cut
from memstrata.text.tokens import count_tokens

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
TANGLED_TEXT = st.lists(
    st.sampled_from([FAMILY, "🇫🇷", "🇩", "e\u0301", "𠮷", "👍🏽", "\r\n", "\n", "\r", "字", "ก็", "क्षि", "한", "a", " "]),
    max_size=30,
).map("".join)


@given(TANGLED_TEXT | st.text(max_size=60), st.integers(-3, 80), st.sampled_from(["", "…", " [cut: memory_search]"]))
def test_a_cut_is_within_the_limit_and_between_two_characters(text: str, limit: int, note: str) -> None:
    result = cut(text, limit, note)
    assert len(result) <= max(limit, 0)
    if len(text) <= limit:
        assert result == text
    else:
        kept = result.removesuffix(note) if len(note) <= limit else result
        boundaries = {0, *(cluster.end() for cluster in regex.finditer(r"\X", text))}
        room = max(limit - (len(note) if len(note) <= limit else 0), 0)
        assert text.startswith(kept)
        assert len(kept) == max(boundary for boundary in boundaries if boundary <= room)


@given(
    TANGLED_TEXT | st.text(max_size=60),
    st.integers(0, 80),
    st.integers(-1, 30),
    st.sampled_from(["", "…", " [cut: memory_search]", "（已截断）"]),
)
def test_a_cut_keeps_to_characters_and_tokens_alike_and_wastes_neither(
    text: str, limit: int, tokens: int, note: str
) -> None:
    def fits(one: str) -> bool:
        return len(one) <= limit and count_tokens(one) <= max(tokens, 0)

    result = cut(text, limit, note, tokens=tokens)
    assert fits(result)
    if fits(text):
        assert result == text
        return
    end = note if fits(note) else ""
    starts = [text[:boundary] for boundary in (0, *(cluster.end() for cluster in regex.finditer(r"\X", text)))]
    assert result == max((start for start in starts if fits(start + end)), key=len) + end


@pytest.mark.parametrize("cluster", [FAMILY, "🇫🇷", "e\u0301", "𠮷", "👍🏽"])
@pytest.mark.parametrize("length", [799, 800, 801])
def test_a_memory_of_about_800_characters_is_cut_before_the_character_at_the_limit(cluster: str, length: int) -> None:
    text = "记" * (length - len(cluster)) + cluster
    result = cut(text, 800)
    assert result == (text if length <= 800 else "记" * (length - len(cluster)))
    assert json.loads(json.dumps(result).encode()) == result


def test_the_note_stands_only_where_something_was_cut() -> None:
    assert cut("1234567890", 10, "…") == "1234567890"
    assert cut("1234567890a", 10, "…") == "123456789…"


def test_a_note_longer_than_the_limit_is_left_out() -> None:
    assert cut("1234567890", 4, "[shortened]") == "1234"


def test_a_first_character_that_does_not_fit_leaves_the_note() -> None:
    assert cut(FAMILY + "x", 5, "…") == "…"


def test_a_cut_between_carriage_return_and_line_feed_takes_neither() -> None:
    assert cut("ab\r\ncd", 3) == "ab"


def test_lone_surrogates_do_not_stop_a_cut() -> None:
    assert cut("\ud800\udc00x", 1) == "\ud800"
