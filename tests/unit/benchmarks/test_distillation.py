from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from benchmarks.conversation import Turn, find_conversation, read_turns
from benchmarks.suites.distillation import soon

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("job", "is_soon"),
    [
        ({"state": "running", "due_at": "2026-01-05T11:00:00.000Z"}, True),
        ({"state": "waiting", "due_at": "2026-01-05T12:00:10.000Z"}, True),
        ({"state": "waiting", "due_at": "2026-01-05T12:10:00.000Z"}, False),
        ({"state": "dead", "due_at": "2026-01-05T11:00:00.000Z"}, False),
    ],
)
def test_a_job_that_waits_for_quiet_is_not_waited_for(job: dict[str, Any], is_soon: bool) -> None:
    assert soon([job], NOW) is is_soon


def test_nothing_is_not_soon() -> None:
    assert not soon([], NOW)


def test_the_conversation_is_looked_for_where_it_is_said_to_be(tmp_path: Path) -> None:
    environ = {"MEMSTRATA_BENCH_SHARED": str(tmp_path)}
    assert find_conversation(environ) is None
    assert find_conversation({}) is None
    file = tmp_path / "bench" / "conversation100.jsonl"
    file.parent.mkdir()
    file.write_text('{"turn": 1, "user": "我划船", "assistant": "好的"}\n', encoding="utf-8")
    found = find_conversation(environ)
    assert found == file
    assert read_turns(file) == [Turn("我划船", "好的")]


def test_a_line_that_is_no_turn_is_named(tmp_path: Path) -> None:
    file = tmp_path / "turns.jsonl"
    file.write_text('{"user": "a", "assistant": "b"}\n{"user": "a"}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"turns.jsonl line 2"):
        read_turns(file)
