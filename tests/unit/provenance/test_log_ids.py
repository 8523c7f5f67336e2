"""Names of generations: derived from the run, safe in any path, and leading back to the run."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from memstrata.errors import InvalidRequest
from memstrata.provenance.log_ids import LogId, key_of, next_cursor, parse_log_id, read_cursor
from memstrata.records import RunRecord

RUN = RunRecord("l1", "items", 1, 2, 1, 0, "model", 1_767_323_045_000, 1_767_323_046_500)
LOG_ID = LogId.of(255, RUN, "m_1767323045000_0a0b0c0d")
TEXT = "mgl_l1_succeeded_1767323046500_m_1767323045000_0a0b0c0d_00000000000000ff"


def encoded(place: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def test_a_log_id_names_layer_end_time_anchor_and_run_and_is_read_back() -> None:
    assert str(LOG_ID) == TEXT
    assert parse_log_id(TEXT) == LOG_ID


@pytest.mark.parametrize("outcome", ["retry", "poison"])
def test_a_run_that_stored_nothing_because_of_a_fault_has_failed(outcome: Any) -> None:
    assert str(LogId.of(1, replace(RUN, outcome=outcome), None)) == "mgl_l1_failed_1767323046500_none_0000000000000001"


@pytest.mark.parametrize("record_id", ["profile:v1:ab", "记忆", "../../etc/passwd", "a" * 129, "", "half \ud83d"])
def test_an_anchor_that_no_name_can_hold_is_a_hash(record_id: str) -> None:
    log_id = LogId.of(1, RUN, record_id)

    assert re.fullmatch(r"h_[0-9a-f]{24}", log_id.anchor)
    assert parse_log_id(str(log_id)) == log_id


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mgl_l4_succeeded_1_m_1_0000000000000001",
        "mgl_l1_lost_1_m_1_0000000000000001",
        "mgl_l1_succeeded_1_m_1_00000000000000FF",
        "mgl_l1_succeeded_1_m/1_0000000000000001",
        "mgl_l1_succeeded_٣_m_0000000000000001",
        "mgl_l1_succeeded_1_m_8000000000000000",
        f"mgl_l1_succeeded_{'9' * 40}_m_0000000000000001",
        TEXT + "\n",
    ],
)
def test_what_is_no_log_id_leads_nowhere(text: str) -> None:
    assert parse_log_id(text) is None


def test_an_id_fits_its_run_even_when_the_anchor_went_and_no_other_run() -> None:
    assert LogId.of(255, RUN, None).names(RUN)
    assert not LOG_ID.names(replace(RUN, outcome="retry"))
    assert not LOG_ID.names(replace(RUN, kind="l2"))
    assert not LOG_ID.names(replace(RUN, finished_at=RUN.finished_at + 1))


def test_a_generation_id_outlives_its_anchor_and_differs_between_instances_and_runs() -> None:
    ids = [
        LOG_ID.generation_id("default"),
        LogId.of(255, RUN, None).generation_id("default"),
        LOG_ID.generation_id("other"),
        LogId.of(256, RUN, None).generation_id("default"),
    ]

    assert all(re.fullmatch(r"mg_[0-9a-f]{32}", one) for one in ids)
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def test_a_key_sorts_the_newest_first_within_its_hour_and_stays_short() -> None:
    longest = LogId.of(2**63 - 1, RUN, "a" * 128)
    later = LogId.of(1, replace(RUN, finished_at=RUN.finished_at + 1), None)

    assert key_of(LOG_ID) == (
        "memory-generation-logs/v1/layer=l1/date=2026-01-02/hour=03/"
        f"8232676953499__mid=m_1767323045000_0a0b0c0d__lid={TEXT}.json"
    )
    assert key_of(later) < key_of(LOG_ID)
    assert len(key_of(longest).encode()) <= 850


def test_a_cursor_says_where_to_go_on_and_fits_the_wire() -> None:
    longest = LogId.of(2**63 - 1, RUN, "a" * 128)

    assert read_cursor(next_cursor(LOG_ID)) == (RUN.finished_at, 255)
    assert json.loads(base64.urlsafe_b64decode(next_cursor(LOG_ID) + "==")) == {
        "beforeMs": RUN.finished_at,
        "afterLogId": TEXT,
    }
    assert len(next_cursor(longest)) <= 512


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "not base64!",
        "记忆",
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
        base64.urlsafe_b64encode(b"[" * 100_000).decode(),
        encoded([]),
        encoded({"beforeMs": RUN.finished_at}),
        encoded({"beforeMs": str(RUN.finished_at), "afterLogId": TEXT}),
        encoded({"beforeMs": 1, "afterLogId": TEXT}),
        encoded({"beforeMs": RUN.finished_at, "afterLogId": "mgl_x"}),
    ],
)
def test_a_cursor_that_was_never_handed_out_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^INVALID_GENERATION_LOG_CURSOR"):
        read_cursor(cursor)
