"""The last answer of a transcript, whatever else is in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memstrata.hooks.transcript import last_answer


def codex(role: str, text: str) -> str:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return json.dumps({"type": "response_item", "payload": {"type": "message", "role": role, "content": content}})


def test_codex_writes_its_answers_as_payloads(tmp_path: Path) -> None:
    file = tmp_path / "rollout.jsonl"
    file.write_text("\n".join([codex("user", "which?"), codex("assistant", "first"), codex("assistant", "最后")]))
    assert last_answer(file) == "最后"


def test_an_answer_to_an_earlier_question_is_none_to_this(tmp_path: Path) -> None:
    file = tmp_path / "rollout.jsonl"
    file.write_text("\n".join([codex("assistant", "old"), codex("user", "new question")]))
    assert last_answer(file) == ""


@pytest.mark.parametrize(
    "line", ["", "7", "[]", '{"message": 1}', '{"message": {"role": "assistant"}}', "\x00", "{" * 9_999]
)
def test_lines_that_are_not_understood_are_passed_over(tmp_path: Path, line: str) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(f"{codex('assistant', 'said')}\n{line}\n")
    assert last_answer(file) == "said"


def test_of_a_long_transcript_the_end_is_read(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(f"{codex('assistant', 'x' * 2_000_000)}\n{codex('assistant', 'the end')}\n")
    assert last_answer(file) == "the end"
