from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import Question, StatementPair
from memstrata.evals.ranker import Ranking
from memstrata.evals.rankings import default_name, ranking_line, write_lines


def test_a_line_holds_ids_and_scores_and_no_text(tmp_path: Path, question: Callable[..., Question]) -> None:
    pair = StatementPair("update", frozenset(["1"]), frozenset(["2"]))
    ranking = Ranking(question("问题", {"2", "1"}, pair=pair), (("2", 0.5),))
    file = tmp_path / "raw.jsonl"
    write_lines(file, [ranking_line("pooled", ranking)])
    assert json.loads(file.read_text(encoding="utf-8")) == {
        "view": "pooled",
        "question": "问题",
        "corpus": "c",
        "category": "k",
        "gold": ["1", "2"],
        "pair": {"kind": "update", "older": ["1"], "newer": ["2"]},
        "ranked": [["2", 0.5]],
    }
    assert ranking.question.text not in file.read_text(encoding="utf-8")


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "raw.jsonl"
    file.write_text("kept", encoding="utf-8")
    with pytest.raises(InvalidRequest, match="is there already"):
        write_lines(file, [])
    assert file.read_text(encoding="utf-8") == "kept"
    with pytest.raises(InvalidRequest, match="cannot be written"):
        write_lines(tmp_path / "nowhere" / "raw.jsonl", [])


def test_a_file_without_a_name_is_named_by_measurement_set_and_time() -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert default_name("ours", "retrieval", now) == "eval-retrieval-ours-20260102T030405Z.jsonl"
