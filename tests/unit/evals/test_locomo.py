"""LoCoMo in the form of `locomo10.json`, malformed evidence ids included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memstrata.clock import to_iso
from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import Unit
from memstrata.evals.datasets.locomo import evidence_ids, read_locomo

Write = Callable[..., Path]


def turn(dia_id: str, speaker: str, text: str, **more: Any) -> dict[str, Any]:
    return {"speaker": speaker, "dia_id": dia_id, "text": text, **more}


def sample(*qa: dict[str, Any]) -> dict[str, Any]:
    return {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Bo",
            # The order of an object's keys says nothing: session 10 comes after session 2.
            "session_10_date_time": "9:00 am on 2 June, 2023",
            "session_10": [turn("D10:1", "Ada", "I sold the boat.")],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                turn("D1:1", "Ada", "I bought a boat!"),
                turn("D1:2", "Bo", "Look.", img_url=["x"], blip_caption="a photo of a kite", query="kite"),
            ],
            "session_2_date_time": "",
            "session_2": [turn("D2:1", "Bo", "")],
            "session_3_date_time": "3:00 pm on 1 July, 2023",
        },
        "observation": {},
        "session_summary": {},
        "event_summary": {},
        "qa": list(qa),
    }


def ask(*evidence: str, category: int = 4) -> dict[str, Any]:
    return {"question": "What did Ada buy?", "answer": "a boat", "evidence": list(evidence), "category": category}


@pytest.mark.parametrize(
    ("entry", "ids"),
    [
        ("D1:3", ["D1:3"]),
        ("D8:6; D9:17", ["D8:6", "D9:17"]),
        ("D9:1 D4:4 D4:6", ["D9:1", "D4:4", "D4:6"]),
        ("D:11:26", ["D11:26"]),
        ("D30:05", ["D30:5"]),
        ("D", []),
        ("", []),
    ],
)
def test_evidence_ids_are_read_however_they_are_written(entry: str, ids: list[str]) -> None:
    assert evidence_ids(entry) == ids


def test_turns_keep_speaker_session_and_time(write_json: Write) -> None:
    units = read_locomo(write_json("l.json", [sample(ask("D1:1"))])).corpora[0].units
    assert units[0] == Unit("D1:1", "Ada: I bought a boat!", "user", units[0].said_at, "session_1")
    assert to_iso(units[0].said_at) == "2023-05-08T13:56:00.000Z"
    assert [(one.unit_id, one.role) for one in units] == [("D1:1", "user"), ("D1:2", "assistant"), ("D10:1", "user")]


def test_captions_are_indexed_or_not_as_asked_and_the_protocol_says_so(write_json: Write) -> None:
    file = write_json("l.json", [sample(ask("D1:1"))])
    with_captions, without = read_locomo(file), read_locomo(file, captions=False)
    assert with_captions.corpora[0].units[1].text == "Bo: Look. [image: a photo of a kite]"
    assert without.corpora[0].units[1].text == "Bo: Look."
    assert "with the caption" in with_captions.notes[0]
    assert "not indexed" in without.notes[0]


def test_malformed_evidence_is_mended_and_counted(write_json: Write) -> None:
    read = read_locomo(
        write_json("l.json", [sample(ask("D1:1; D1:2"), ask("D:10:1"), ask("D1:01", "D9:9"), ask("D"), ask())])
    )
    assert [set(one.gold) for one in read.questions] == [{"D1:1", "D1:2"}, {"D10:1"}, {"D1:1"}]
    assert read.counts == {
        "units without text": 1,
        "evidence entries split into several ids": 1,
        "evidence ids mended": 2,
        "evidence ids that name no unit": 1,
        "evidence entries without an id": 1,
        "questions without evidence": 2,
    }


def test_categories_are_named_with_their_number_and_reported_without_the_fifth(write_json: Write) -> None:
    read = read_locomo(write_json("l.json", [sample(*(ask("D1:1", category=one) for one in range(1, 6)))]))
    assert [one.category[0] for one in read.questions] == list("12345")
    assert read.questions[4].category not in read.subsets[0].categories
    assert {one.category for one in read.questions[:4]} == read.subsets[0].categories


def test_a_file_of_another_form_is_refused_with_its_place(write_json: Write) -> None:
    with pytest.raises(InvalidRequest, match=r'l\.json \[0\]: no "qa"'):
        read_locomo(write_json("l.json", [{"conversation": {"session_1": []}}]))
