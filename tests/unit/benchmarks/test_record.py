from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.driver import Round
from benchmarks.record import Record

ROUND = Round(
    connections=32,
    requests=300,
    errors=0,
    seconds=1.0,
    requests_per_second=300.0,
    p50_ms=2.0,
    p95_ms=4.0,
    p99_ms=5.0,
    max_ms=9.0,
    server_cpu_ms=0.5,
    client_cpu_percent=40.0,
    other_cpu_percent=1.0,
    rss_mb=70.0,
)


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return Record(tmp_path / "run.jsonl")


def test_a_figure_is_the_median_of_its_rounds(record: Record) -> None:
    for number, rate in enumerate((100.0, 2_000.0, 1_600.0), start=1):
        record.round("add", "empty", number, replace(ROUND, requests_per_second=rate))
    figures = {figure.name: figure for figure in record.figures()}
    rate_of_adds = figures["add.empty.32.requests_per_second"]
    assert (rate_of_adds.value, rate_of_adds.reached, rate_of_adds.reference) == (1_600.0, True, 189.1)


def test_the_report_says_what_was_not_reached(record: Record) -> None:
    record.round("add", "empty", 1, ROUND)
    line = next(row for row in record.report().splitlines() if row.startswith("add.empty.32.requests_per_second"))
    assert line.split() == ["add.empty.32.requests_per_second", "300", "≥", "1500", "NO", "189.1", "1.6"]


def test_every_round_is_in_the_file_before_the_run_ends(record: Record) -> None:
    record.about(rounds=3)
    record.round("add", "empty", 1, ROUND)
    record.figure("sessions.lost", 0, expected=1_000)
    lines = [json.loads(line) for line in record.file.read_text(encoding="utf-8").splitlines()]
    assert [line["kind"] for line in lines] == ["run", "round", "figure"]
    assert lines[1]["requests_per_second"] == 300.0
    assert lines[2] == {"kind": "figure", "name": "sessions.lost", "value": 0, "expected": 1_000}


def test_failed_requests_are_counted_over_all_rounds(record: Record) -> None:
    record.round("add", "empty", 1, replace(ROUND, errors=2))
    record.round("recall", "100k", 1, replace(ROUND, errors=1))
    assert record.failed_requests == 3


def test_the_file_ends_with_the_verdicts(record: Record) -> None:
    record.figure("start.empty.seconds", 2.0)
    record.close()
    last = json.loads(record.file.read_text(encoding="utf-8").splitlines()[-1])
    assert last == {
        "kind": "verdict",
        "name": "start.empty.seconds",
        "value": 2.0,
        "target": {"at_most": 1.0},
        "reached": False,
        "reference": 7.8,
        "times_better": 3.9,
    }
