"""MADial-Bench in the form of its files, turns without a speaker included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memstrata.errors import InvalidRequest
from memstrata.evals.datasets.madial import query_of, read_madial

Write = Callable[..., Path]

DIALOGUE = [
    "<BOD>\n",
    '<Ann>: "I lost my kite."\n',
    '<Assistant>: "Oh no."\n',
    '<Ann>: "It was red."\n',
    '"I understand. Shall we look for it?"\n',
    '"Good!"\n',
    '<Assistant>: "Do you remember the lake?"\n',
    '<Ann>: "Yes!"\n',
    "<EOD>\n",
]


def test_the_query_is_the_user_s_side_without_speaker_and_quotes() -> None:
    assert query_of(DIALOGUE[:6]) == "I lost my kite.\nIt was red.\nGood!"


def test_the_query_is_the_last_four_user_turns() -> None:
    turns = ["<BOD>"]
    for number in range(6):
        turns += [f'<Ann>:"第{number}句"', '<Assistant>:"好"']
    assert query_of(turns) == "第2句\n第3句\n第4句\n第5句"


def test_a_dialogue_is_asked_up_to_its_first_test_turn(write_json: Write, tmp_path: Path) -> None:
    memories = [{"1": {"time": "2023-12-25", "scene": "Activity", "emotion": "Happy", "event": "Ann flew a kite."}}]
    memories += [{"7": {"time": "2023-03-07", "scene": "Others", "emotion": "Sad", "event": "Ann saw a lake."}}]
    write_json("MADial-Bench-en-memory.json", memories, lines=True)
    dialogue = {"dialogue": DIALOGUE, "test-turn": [6, 4], "relevant-id": [1, 7], "user-id": 1}
    write_json("MADial-Bench-en-dialogue.json", [dialogue, {**dialogue, "relevant-id": [8]}], lines=True)
    read = read_madial(tmp_path, "en")
    assert [one.text for one in read.corpora[0].units] == ["Ann flew a kite.", "Ann saw a lake."]
    assert read.questions[0].text == "I lost my kite.\nIt was red."
    assert read.questions[0].gold == {"1", "7"}
    assert read.counts == {"evidence ids that name no unit": 1, "questions without evidence": 1}
    assert any("last 4 user turns" in note for note in read.notes)


def test_a_language_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="MADial-Bench-zh-memory"):
        read_madial(tmp_path, "zh")
