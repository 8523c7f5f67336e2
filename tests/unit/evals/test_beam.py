"""BEAM in the form of its repository: `chats/<size>/<number>/`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memstrata.clock import to_iso
from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import StatementPair
from memstrata.evals.datasets.beam import evidence_of, read_beam
from memstrata.transfer.node import Node
from memstrata.transfer.place import Place

Write = Callable[..., Path]

CHAT = [
    {
        "batch_number": 1,
        "turns": [
            [
                {"role": "user", "id": 0, "time_anchor": "March-15-2024", "index": "1,1", "content": "It takes 400ms."},
                {"role": "assistant", "id": 1, "content": "I see."},
            ],
            [{"role": "user", "id": 2, "content": "I like tea."}],
        ],
    },
    {"batch_number": 2, "turns": [[{"role": "user", "id": 3, "time_anchor": "April-2-2024", "content": "Now 250ms."}]]},
]
QUESTIONS = {
    "abstention": [{"question": "What is my cat called?", "ideal_response": "unknown"}],
    "knowledge_update": [
        {"question": "How long does it take?", "source_chat_ids": {"original_info": [0], "updated_info": [3]}}
    ],
    "event_ordering": [{"question": "In which order?", "source_chat_ids": [0, 3, 3, 99]}],
    "contradiction_resolution": [
        {"question": "Do I?", "source_chat_ids": {"first_statement": [2], "second_statement": [2]}}
    ],
    "information_extraction": [{"question": "What do I drink?", "source_chat_ids": [[2]]}],
}


def write_chat(write: Write, name: str, chat: Any = CHAT, file: str = "chat.json") -> None:
    write(f"100K/{name}/{file}", chat)
    write(f"100K/{name}/probing_questions/probing_questions.json", QUESTIONS)


def evidence(value: Any) -> tuple[frozenset[str], StatementPair | None]:
    return evidence_of(Node(value, Place("made")))


@pytest.mark.parametrize(
    ("older", "newer", "kind"),
    [
        ("original_info", "updated_info", "update"),
        ("first_statement", "second_statement", "contradiction"),
        ("first_event", "second_event", "sequence"),
    ],
)
def test_the_objects_of_three_abilities_are_flattened_and_tell_older_from_newer(
    older: str, newer: str, kind: Any
) -> None:
    gold, pair = evidence({older: [4, 5], newer: [9]})
    assert gold == {"4", "5", "9"}
    assert pair == StatementPair(kind, frozenset(["4", "5"]), frozenset(["9"]))


def test_evidence_may_be_missing_nested_or_a_single_id() -> None:
    assert evidence_of(None) == (frozenset(), None)
    assert evidence([[1, 2], "3"]) == (frozenset(["1", "2", "3"]), None)
    assert evidence(7) == (frozenset(["7"]), None)


def test_messages_are_units_and_batches_are_sessions(write_json: Write, tmp_path: Path) -> None:
    write_chat(write_json, "1")
    units = read_beam(tmp_path / "100K").corpora[0].units
    assert [(one.unit_id, one.role, one.session_id) for one in units] == [
        ("0", "user", "batch-0"),
        ("1", "assistant", "batch-0"),
        ("2", "user", "batch-0"),
        ("3", "user", "batch-1"),
    ]
    assert [to_iso(one.said_at)[:10] for one in units] == ["2024-03-15"] * 3 + ["2024-04-02"]


def test_questions_are_read_by_ability_and_what_cannot_be_used_is_counted(write_json: Write, tmp_path: Path) -> None:
    write_chat(write_json, "1")
    read = read_beam(tmp_path / "100K" / "1")
    found = {one.category: one for one in read.questions}
    assert found["knowledge_update"].pair == StatementPair("update", frozenset(["0"]), frozenset(["3"]))
    assert found["event_ordering"].gold == {"0", "3"}
    assert found["information_extraction"].gold == {"2"}
    assert found["contradiction_resolution"].pair is None
    assert read.counts == {
        "chats read from chat.json": 1,
        "abstention questions left out": 1,
        "evidence ids that name no unit": 1,
        "statement pairs that cannot be judged": 1,
    }


def test_a_chat_that_was_cut_to_size_is_preferred(write_json: Write, tmp_path: Path) -> None:
    write_chat(write_json, "1")
    write_chat(write_json, "1", CHAT[:1], "chat_trunecated.json")
    read = read_beam(tmp_path / "100K")
    assert len(read.corpora[0].units) == 3
    assert read.counts["chats read from chat_trunecated.json"] == 1


def test_plans_of_the_longest_chats_are_read_in_order(write_json: Write, tmp_path: Path) -> None:
    write_chat(write_json, "1", [{"plan-0": CHAT[:1]}, {"plan-1": CHAT[1:]}])
    assert [one.unit_id for one in read_beam(tmp_path / "100K").corpora[0].units] == ["0", "1", "2", "3"]


def test_chats_come_by_number_and_other_folders_are_passed_over(write_json: Write, tmp_path: Path) -> None:
    for name in ("10", "9", "1"):
        write_chat(write_json, name)
    (tmp_path / "100K" / "notes").mkdir()
    assert [one.corpus_id for one in read_beam(tmp_path / "100K").corpora] == ["1", "9", "10"]


def test_a_folder_without_chats_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="holds no chat"):
        read_beam(tmp_path)
    with pytest.raises(InvalidRequest, match="no such folder"):
        read_beam(tmp_path / "nowhere")
