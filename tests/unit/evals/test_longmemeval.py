"""LongMemEval in the form of `longmemeval_s.json`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memstrata.clock import to_iso
from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import StatementPair
from memstrata.evals.datasets.longmemeval import read_longmemeval

Write = Callable[..., Path]


def entry(question_id: str = "q1", question_type: str = "single-session-user", **more: Any) -> dict[str, Any]:
    return {
        "question_id": question_id,
        "question_type": question_type,
        "question": "Where do I keep the key?",
        "answer": "under the mat",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["answer_1", "filler_1", "answer_2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 09:00", "2023/05/25 (Thu) 10:00"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "The key is in the drawer.", "has_answer": True},
                {"role": "assistant", "content": "Noted.", "has_answer": False},
            ],
            [{"role": "user", "content": "Tell me a joke."}],
            [
                {"role": "user", "content": "I read a book.", "has_answer": False},
                {"role": "assistant", "content": "So the key is under the mat now.", "has_answer": True},
            ],
        ],
        "answer_session_ids": ["answer_1", "answer_2"],
        **more,
    }


def test_evidence_is_the_turns_that_are_marked(write_json: Write) -> None:
    read = read_longmemeval(write_json("s.json", [entry()]))
    assert read.questions[0].gold == {"answer_1_1", "answer_2_2"}
    assert [one.unit_id for one in read.corpora[0].units][:3] == ["answer_1_1", "answer_1_2", "filler_1_1"]
    assert to_iso(read.questions[0].asked_at or 0) == "2023-05-30T23:40:00.000Z"
    assert to_iso(read.corpora[0].units[2].said_at) == "2023-05-21T09:00:00.000Z"


def test_abstention_questions_are_left_out_and_counted(write_json: Write) -> None:
    read = read_longmemeval(write_json("s.json", [entry(), entry("q2_abs")]))
    assert [one.question_id for one in read.questions] == ["q1"]
    assert read.counts == {"abstention questions left out": 1}


def test_a_knowledge_update_sets_the_last_evidence_session_against_the_earlier_ones(write_json: Write) -> None:
    read = read_longmemeval(write_json("s.json", [entry(question_type="knowledge-update")]))
    expected = StatementPair("update", frozenset(["answer_1_1"]), frozenset(["answer_2_2"]))
    assert read.questions[0].pair == expected


def test_a_session_that_stands_twice_in_a_haystack_is_two(write_json: Write) -> None:
    twice = entry(haystack_session_ids=["answer_1", "filler_1", "filler_1"])
    read = read_longmemeval(write_json("s.json", [twice]))
    assert [one.session_id for one in read.corpora[0].units][2:] == ["filler_1", "filler_1#2", "filler_1#2"]


def test_sessions_without_ids_are_refused(write_json: Write) -> None:
    with pytest.raises(InvalidRequest, match="1 session ids for 3 sessions"):
        read_longmemeval(write_json("s.json", [entry(haystack_session_ids=["answer_1"])]))
