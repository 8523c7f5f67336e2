"""MemDaily in the form of its part files and of `memdaily.json`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memstrata.clock import to_iso
from memstrata.errors import InvalidRequest
from memstrata.evals.datasets.memdaily import read_memdaily

Write = Callable[..., Path]


def trajectory(tid: int) -> dict[str, Any]:
    return {
        "tid": tid,
        "message_list": [
            {"mid": 0, "message": "我表弟住在杭州。", "time": "2024年04月01日 周一 08:30", "place": "广东深圳"},
            {"mid": 1, "message": "我表妹喜欢瑜伽。", "time": "2024年04月02日 周二 09:30", "place": "广东深圳"},
        ],
        "question_list": [
            {
                "qid": 0,
                "question": "谁住在杭州？",
                "answer": "表弟",
                "target_step_id": [0],
                "choices": {"A": "表弟"},
                "ground_truth": "A",
                "time": "2024年04月03日 周三 08:00",
            }
        ],
    }


def test_a_part_file_names_family_and_topic(write_json: Write, tmp_path: Path) -> None:
    write_json("05_post_processing_roles.json", [trajectory(0), trajectory(1)])
    write_json("01_simple_events.json", [trajectory(0)])
    read = read_memdaily(tmp_path)
    assert [(one.corpus_id, one.pool) for one in read.corpora] == [
        ("simple/events/0", "simple"),
        ("post_processing/roles/0", "post_processing"),
        ("post_processing/roles/1", "post_processing"),
    ]
    first = read.questions[0]
    assert (first.question_id, first.category) == ("simple/events/0/0", "simple")
    assert first.gold == {"0"}
    assert to_iso(first.asked_at or 0) == "2024-04-03T08:00:00.000Z"
    assert to_iso(read.corpora[0].units[1].said_at) == "2024-04-02T09:30:00.000Z"


def test_the_whole_file_says_the_same_as_the_parts(write_json: Write, tmp_path: Path) -> None:
    write_json("parts/06_noisy_roles.json", [trajectory(3)])
    whole = read_memdaily(write_json("memdaily.json", {"noisy": {"roles": [trajectory(3)]}}))
    assert read_memdaily(tmp_path / "parts") == whole


def test_a_folder_without_parts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"holds no \*\.json"):
        read_memdaily(tmp_path)
