"""What the log says about a run: names instead of numbers, each record with its own references."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memstrata.provenance.record import OutputRecord, RowRef, describe
from memstrata.records import Generation, PromptRef, Provenance, RunOutput, RunRecord
from memstrata.store.evidence import EvidenceLayer
from memstrata.store.shapes import RowName

RUN = RunRecord("l1", "items", 1, 2, 2, 0, "model", 100, 250)
NAMES: dict[EvidenceLayer, dict[int, RowName]] = {
    "l0": {1: RowName("msg-1"), 2: RowName("msg-2"), 3: RowName("msg-3")},
    "l1": {7: RowName("m_a", 0), 8: RowName("m_b", 2), 9: RowName("m_b", 1)},
    "l2": {},
    "l3": {},
}
FIRST = RunOutput("l1", 7, "store", (1, 2))
SECOND = RunOutput("l1", 8, "merge", (2, 3), (9,), "two say the same")


def generation(**given: Any) -> Generation:
    return Generation(5, "default", "home", "assistant", "lin", "s1", replace(RUN, **given))


def test_a_record_names_every_row_once_and_each_output_with_what_it_alone_rests_on() -> None:
    record = describe(generation(outputs=(FIRST, SECOND)), NAMES)

    one, two, three = (RowRef("l0", f"msg-{n}") for n in (1, 2, 3))
    assert record.anchor == "m_a"
    assert record.input_refs == (one, two, three)
    assert record.output_refs == (RowRef("l1", "m_a"), RowRef("l1", "m_b"))
    assert record.outputs == (
        OutputRecord(RowRef("l1", "m_a"), 0, "store", (one, two), (), ""),
        OutputRecord(RowRef("l1", "m_b"), 2, "merge", (two, three), (RowRef("l1", "m_b"),), "two say the same"),
    )


def test_the_record_of_one_row_keeps_the_runs_name_and_leaves_out_the_others() -> None:
    whole = describe(generation(outputs=(FIRST, SECOND)), NAMES)
    record = describe(generation(outputs=(FIRST, SECOND)), NAMES, only=("l1", 8))

    assert (record.log_id, record.generation_id) == (whole.log_id, whole.generation_id)
    assert record.output_refs == (RowRef("l1", "m_b"),)
    assert record.input_refs == (RowRef("l0", "msg-2"), RowRef("l0", "msg-3"))


def test_a_run_without_outputs_has_no_anchor_and_no_references() -> None:
    record = describe(generation(outcome="nothing"), NAMES)

    assert (record.status, record.anchor, record.input_refs, record.output_refs) == ("succeeded", None, (), ())
    assert record.log_id.anchor == "none"


def test_what_rules_made_names_the_built_in_prompt() -> None:
    prompt = PromptRef("mp-1", 3, "team", "ab")

    assert describe(generation(), NAMES).prompt == PromptRef("builtin:l1", 1, "system", "")
    assert describe(generation(provenance=Provenance("gpt", prompt=prompt)), NAMES).prompt == prompt


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ("truncated: the reply was cut off", "truncated", "the reply was cut off"),
        ("rate_limit: 429: slow down", "rate_limit", "429: slow down"),
        ("no answer", "failed", "no answer"),
        ("HTTP 500: broken", "failed", "HTTP 500: broken"),
        ("", "failed", ""),
    ],
)
def test_a_failure_is_told_by_code_and_message(error: str, code: str, message: str) -> None:
    record = describe(generation(outcome="retry", error=error), NAMES)

    assert (record.status, record.error_code, record.error_message) == ("failed", code, message)


def test_a_success_has_no_error() -> None:
    record = describe(generation(error="left over: from before"), NAMES)

    assert (record.error_code, record.error_message) == ("", "")
