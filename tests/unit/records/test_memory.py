"""The words that records are made of."""

from __future__ import annotations

from typing import get_args

import memstrata.records as records
from memstrata.records import MEMORY_TYPES, JobKind


def test_the_types_of_memory_are_those_of_the_articles() -> None:
    assert {
        "persona",
        "episodic",
        "instruction",
        "work_fact",
        "work_task",
        "work_method",
        "work_artifact",
    } == MEMORY_TYPES


def test_there_is_a_job_for_each_layer_that_is_distilled() -> None:
    assert get_args(JobKind) == ("l1", "l2", "l3")


def test_every_exported_name_exists() -> None:
    assert [name for name in records.__all__ if not hasattr(records, name)] == []
