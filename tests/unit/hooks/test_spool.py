"""What hooks keep between two processes."""

from __future__ import annotations

import os
from pathlib import Path

from memstrata.hooks.spool import Prompt, Spool

EARLIER, LATER = "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.000Z"


def test_prompts_come_back_in_the_order_in_which_they_were_said(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    second, first = Prompt("a", "s", "second", LATER), Prompt("b", "s", "first", EARLIER)
    spool.record(second)
    spool.record(first)
    spool.record(Prompt("b", "s", "first", LATER))
    assert spool.prompts("s") == [first, second]
    assert spool.prompts("other") == []


def test_half_of_a_surrogate_pair_is_kept_like_any_other_text(tmp_path: Path) -> None:
    prompt = Prompt("a", "s\udc00", "broken \ud83d", EARLIER)
    Spool(tmp_path).record(prompt)
    assert Spool(tmp_path).prompts("s\udc00") == [prompt]


def test_a_file_that_cannot_be_read_is_set_aside_and_kept(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.record(Prompt("a", "s", "kept", EARLIER))
    (folder,) = (tmp_path / "sessions").iterdir()
    (folder / "torn.json").write_text('{"id": "x"')
    assert [prompt.text for prompt in spool.prompts("s")] == ["kept"]
    assert (folder / "torn.unreadable").exists()


def test_a_session_is_abandoned_when_nothing_has_touched_it_and_forgotten_when_nothing_is_open(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.end_turn("s", 3)
    prompt = Prompt("a", "s", "unanswered", EARLIER)
    spool.record(prompt)
    assert list(spool.abandoned(before=1_000.0)) == []
    (folder,) = (tmp_path / "sessions").iterdir()
    for file in (*folder.iterdir(), folder):
        os.utime(file, (500.0, 500.0))
    assert list(spool.abandoned(before=1_000.0)) == [("s", [prompt])]
    spool.drop_sessions(before=1_000.0)
    assert spool.prompts("s") == [prompt]
    spool.remove([prompt])
    os.utime(folder, (500.0, 500.0))
    spool.drop_sessions(before=1_000.0)
    assert not folder.exists()
