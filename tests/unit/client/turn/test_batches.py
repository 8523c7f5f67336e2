"""Requests made of what was said: within the limits, whole characters, the same each time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.client._splitting import MAX_CHARACTERS, split
from memstrata.client.turn.batches import batches
from memstrata.client.turn.slicing import Said

NOW = "2026-01-05T12:00:00+00:00"
ALPHABET = st.sampled_from(
    ["a", " ", "\n", "。", "知", "e\u0301", "👩\u200d👩\u200d👧", "🇵🇹", "👍🏽", "❤\ufe0f", "\r\n"]
)


@given(st.lists(ALPHABET, max_size=120).map("".join), st.integers(20, 40))
def test_parts_are_within_the_limit_and_together_the_text(text: str, limit: int) -> None:
    parts = split(text, limit)
    assert all(len(part) <= limit for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@pytest.mark.parametrize(
    "whole", ["👩\u200d👩\u200d👧", "🇵🇹", "👍🏽", "e\u0301", "❤\ufe0f", "\u1112\u1161\u11ab", "\r\n"]
)
def test_no_part_begins_within_a_character(whole: str) -> None:
    for before in range(len(whole) + 2):
        parts = split("x" * before + whole * 20, limit=16)
        assert all(len(part.lstrip("x")) % len(whole) == 0 for part in parts)


def test_a_part_ends_at_a_line_or_a_blank_if_one_is_near() -> None:
    first, rest = split("word " * 2_000)
    assert first.endswith(" ")
    assert first + rest == "word " * 2_000
    assert split("x" * 8_000 + "\n" + "y z " * 100)[0] == "x" * 8_000 + "\n"


def test_the_same_turn_makes_the_same_requests_and_another_text_another_id() -> None:
    said = [Said("u1", "user", "hello", NOW), Said("a1", "assistant", "hi", NOW)]
    assert batches(said) == batches(list(said))
    edited = batches([Said("u1", "user", "hello!", NOW), said[1]])
    assert edited[0].key != batches(said)[0].key
    assert [one.id for one in edited[0].messages][1] == batches(said)[0].messages[1].id
    assert edited[0].messages[0].id != batches(said)[0].messages[0].id


def test_a_message_that_stands_twice_in_a_list_is_sent_once() -> None:
    said = Said("u1", "user", "hello", NOW)
    assert [len(batch.messages) for batch in batches([said, said])] == [1]


def test_requests_stay_under_the_body_that_a_server_reads() -> None:
    said = [Said(f"u{number}", "user", "知" * MAX_CHARACTERS, NOW) for number in range(90)]
    made = batches(said)
    assert len(made) > 3
    assert max(sum(len(one.content.encode()) for one in batch.messages) for batch in made) < 900_000
    assert sum(len(batch.messages) for batch in made) == 90


def test_half_a_surrogate_pair_is_no_reason_to_fail() -> None:
    assert len(batches([Said("u1", "user", "broken \ud83d", NOW)])) == 1
