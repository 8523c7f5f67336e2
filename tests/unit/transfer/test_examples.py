from __future__ import annotations

from pathlib import Path

import pytest

from memstrata.clock import day_of
from memstrata.transfer import batches, read_file

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_lin_is_the_conversation_that_the_readme_tells_of() -> None:
    file = read_file(EXAMPLES / "lin.jsonl")
    messages = [message for session in file.sessions for message in session.messages]
    days = [day_of(message.said_at) for message in messages if message.said_at is not None]
    assert (len(file.sessions), len(messages), len(days)) == (9, 96, 96)
    assert (days[0], days[-1]) == ("2025-11-03", "2026-04-18")
    assert days == sorted(days)
    assert file.skipped == {}
    assert sum(len(batch.messages) for batch in batches(file)) == 96


def test_lin_and_the_assistant_take_turns() -> None:
    for session in read_file(EXAMPLES / "lin.jsonl").sessions:
        assert [message.role for message in session.messages] == ["user", "assistant"] * (len(session.messages) // 2)


@pytest.mark.parametrize(
    ("name", "expected", "sessions", "messages", "skipped"),
    [
        ("openai.json", "openai", 1, 4, {"system message": 1, "image": 1}),
        ("chatgpt.json", "chatgpt", 1, 3, {}),
        ("claude.json", "claude", 1, 2, {}),
        ("plain.txt", "plain", 2, 4, {}),
    ],
)
def test_the_sample_of_each_format_is_read(
    name: str, expected: str, sessions: int, messages: int, skipped: dict[str, int]
) -> None:
    file = read_file(EXAMPLES / "formats" / name)
    assert file.format == expected
    assert (len(file.sessions), sum(len(session.messages) for session in file.sessions)) == (sessions, messages)
    assert file.skipped == skipped


def test_every_sample_is_covered_by_a_test() -> None:
    assert {path.name for path in (EXAMPLES / "formats").iterdir()} == {
        "openai.json",
        "chatgpt.json",
        "claude.json",
        "plain.txt",
    }
