"""What enters L0: limits, ids, times, and no block of our own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from memstrata.capture import MAX_CHARACTERS, MAX_MESSAGES, MessageInput
from memstrata.capture import message as capture_message
from memstrata.capture.message import fingerprint
from memstrata.errors import InvalidRequest
from memstrata.records import NewMessage
from memstrata.text.markers import wrap

NOW = 1_767_603_600_000


def accepted(messages: Sequence[MessageInput], now: int) -> list[NewMessage]:
    return [one.message for one in capture_message.accepted(messages, now)]


def test_a_secret_is_found_after_our_own_blocks_are_taken_off_and_is_not_among_the_terms() -> None:
    text = f"my password is hun{wrap('relevant-memories', 'x')}ter2"
    (found,) = capture_message.accepted([MessageInput("user", text)], NOW)

    assert (found.message.content, found.kinds) == ("my password is [redacted:password]", ("password",))
    assert not any("hunter" in term for term in found.message.terms)
    assert found.as_said().content == "my password is hunter2"
    assert "hunter2" in found.as_said().terms


def test_a_message_without_times_was_said_now_and_a_batch_keeps_its_order() -> None:
    first, second = accepted([MessageInput("user", "a"), MessageInput("assistant", "b")], NOW)

    assert (first.said_at, first.recorded_at) == (NOW, NOW)
    assert (second.said_at, second.recorded_at) == (NOW + 1, NOW + 1)
    assert (first.role, second.role) == ("user", "assistant")
    assert first.message_id != second.message_id


@pytest.mark.parametrize(
    ("said_at", "recorded_at", "expected"),
    [(5, None, (5, NOW)), (None, 7, (7, 7)), (5, 7, (5, 7)), (0, 0, (0, 0)), (-1, None, (-1, NOW))],
)
def test_times_that_the_caller_gives_are_kept(
    said_at: int | None, recorded_at: int | None, expected: tuple[int, int]
) -> None:
    (message,) = accepted([MessageInput("user", "a", said_at, recorded_at)], NOW)
    assert (message.said_at, message.recorded_at) == expected


def test_an_id_that_the_caller_gives_is_kept() -> None:
    (message,) = accepted([MessageInput("user", "a", message_id="mine")], NOW)
    assert message.message_id == "mine"


def test_blocks_of_our_own_are_taken_off_and_never_analysed() -> None:
    (message,) = accepted([MessageInput("user", f"{wrap('relevant-memories', 'secret tea')}\n\nhello")], NOW)

    assert message.content == "hello"
    assert message.terms == ("hello",)


def test_the_longest_message_and_the_largest_batch_are_accepted() -> None:
    assert len(accepted([MessageInput("user", "x" * MAX_CHARACTERS)] * MAX_MESSAGES, NOW)) == MAX_MESSAGES
    assert accepted([MessageInput("user", "🙂" * MAX_CHARACTERS)], NOW)


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([], "messages"),
        ([MessageInput("user", "a")] * (MAX_MESSAGES + 1), "messages"),
        ([MessageInput("user", "a"), MessageInput("tool", "b")], "messages.1.role"),
        ([MessageInput("", "b")], "messages.0.role"),
        ([MessageInput("user", "")], "messages.0.content"),
        ([MessageInput("user", "x" * (MAX_CHARACTERS + 1))], "messages.0.content"),
        ([MessageInput("user", "a", message_id="")], "messages.0.id"),
        ([MessageInput("user", "a", message_id="x" * 257)], "messages.0.id"),
        ([MessageInput("user", "a", message_id="\ud83d")], "messages.0.id"),
    ],
)
def test_what_cannot_be_stored_is_refused_by_name(messages: list[MessageInput], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        accepted(messages, NOW)
    assert refused.value.field == field


def test_the_same_payload_has_the_same_fingerprint_whenever_it_is_sent() -> None:
    assert fingerprint([MessageInput("user", "a")], "t") == fingerprint([MessageInput("user", "a")], "t")


@pytest.mark.parametrize(
    ("messages", "task"),
    [
        ([MessageInput("user", "b")], "t"),
        ([MessageInput("assistant", "a")], "t"),
        ([MessageInput("user", "a", said_at=0)], "t"),
        ([MessageInput("user", "a", recorded_at=0)], "t"),
        ([MessageInput("user", "a", message_id="x")], "t"),
        ([MessageInput("user", "a")] * 2, "t"),
        ([MessageInput("user", "a")], ""),
        ([MessageInput("user", "\ud83d")], "t"),
    ],
)
def test_another_payload_has_another_fingerprint(messages: list[MessageInput], task: str) -> None:
    assert fingerprint(messages, task) != fingerprint([MessageInput("user", "a")], "t")


def test_parts_of_a_payload_cannot_be_shifted_into_each_other() -> None:
    pairs: list[tuple[Any, Any]] = [
        ([MessageInput("user", "a"), MessageInput("user", "b")], [MessageInput("user", 'a"],["user","b')]),
        ([MessageInput("user", "ab")], [MessageInput("user", "a", message_id="b")]),
    ]
    for one, other in pairs:
        assert fingerprint(one, "") != fingerprint(other, "")
