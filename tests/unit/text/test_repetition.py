"""When a text that was cut is a loop that no more room would end."""

from __future__ import annotations

import json

import pytest

from memstrata.text.repetition import ends_in_a_loop

ITEM = json.dumps({"content": "User (Arun) likes green tea.", "type": "persona", "priority": 70, "sources": ["c1"]})
OTHER = json.dumps({"content": "User (Arun) sells green tea.", "type": "persona", "priority": 70, "sources": ["c1"]})


@pytest.mark.parametrize(
    "text",
    [
        '{"memories": [{"content": "' + "the user likes tea and " * 40,
        '{"memories": [{"content": "' + "用户喜欢喝茶，" * 60 + "用户喜",
        '{"memories": [' + f"{ITEM}, " * 8,
        '{"memories": [' + f"{ITEM}, {OTHER}, " * 6,
        '{"memories": []}' + "\n" * 500,
        "a good beginning that says something. " + "x" * 300,
    ],
)
def test_a_passage_said_again_and_again_up_to_the_end_is_a_loop(text: str) -> None:
    assert ends_in_a_loop(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[]",
        "tea " * 20,
        f"{ITEM}, {ITEM}, {ITEM}",
        "the user likes tea and " * 40 + "then something else altogether came to his mind",
        "".join(f'{{"item": "n{n}", "action": "store", "targets": []}}, ' for n in range(100)),
        "".join(f'{{"content": "User (Arun) visited city number {n}.", "type": "episodic"}}, ' for n in range(60)),
    ],
)
def test_a_list_whose_entries_differ_in_little_is_none(text: str) -> None:
    assert not ends_in_a_loop(text)
