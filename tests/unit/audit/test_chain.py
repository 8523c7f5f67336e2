"""The noted end of a trail against the trail: the same, behind after a kill, missing, or contradicted."""

from __future__ import annotations

from pathlib import Path

import pytest

from memstrata.audit.chain import ChainCheck
from memstrata.audit.head import HEAD_NAME, read_head, write_head
from memstrata.errors import Misconfigured
from memstrata.records.audit import GENESIS, AuditEntry, AuditHead, AuditRow, chained


def trail(length: int) -> list[AuditRow]:
    rows: list[AuditRow] = []
    before = GENESIS
    for seq in range(1, length + 1):
        entry = AuditEntry(seq, "default", "gateway", "memory.delete", "[]", "{}")
        before = chained(before, seq, entry)
        rows.append(AuditRow(seq, entry, before))
    return rows


def head(row: AuditRow) -> AuditHead:
    return AuditHead(row.seq, row.hash)


def test_an_end_that_is_the_last_row_is_the_same() -> None:
    check = ChainCheck(head(trail(4)[-1]))
    check.check(trail(4)[:2])
    check.check(trail(4)[2:])
    report = check.report()
    assert (report.is_intact, report.head, report.rows, report.warnings) == (True, "same", 4, ())


def test_an_end_that_is_an_earlier_row_is_behind_and_told() -> None:
    check = ChainCheck(head(trail(2)[-1]))
    check.check(trail(4))
    report = check.report()
    assert (report.is_intact, report.head) == (True, "behind")
    assert "row 2" in report.warnings[0]


def test_no_end_is_missing_and_told_where_there_are_rows() -> None:
    check = ChainCheck(None)
    assert check.report().warnings == ()
    check.check(trail(1))
    report = check.report()
    assert (report.is_intact, report.head, len(report.warnings)) == (True, "missing", 1)


@pytest.mark.parametrize(
    ("noted", "broken"), [(head(trail(6)[-1]), 5), (AuditHead(4, bytes(32)), 4), (AuditHead(2, bytes(32)), 2)]
)
def test_an_end_that_is_no_row_of_the_trail_breaks_it(noted: AuditHead, broken: int) -> None:
    check = ChainCheck(noted)
    check.check(trail(4))
    report = check.report()
    assert (report.is_intact, report.head, report.broken_seq) == (False, "differs", broken)
    assert report.reason


def test_nothing_behind_the_first_broken_row_is_looked_at() -> None:
    rows = trail(6)
    check = ChainCheck(None)
    check.check([*rows[:2], rows[3], rows[5]])
    assert (check.report().broken_seq, check.is_broken) == (3, True)


def test_an_end_is_read_as_it_was_noted(tmp_path: Path) -> None:
    assert read_head(tmp_path) is None
    for noted in (AuditHead(0, GENESIS), head(trail(3)[-1])):
        write_head(tmp_path, noted)
        assert read_head(tmp_path) == noted
    assert [file.name for file in tmp_path.iterdir()] == [HEAD_NAME]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"rows": "x", "hash": ""}', '{"rows": 1, "hash": "zz"}', "\x00"])
def test_a_note_that_is_none_of_ours_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / HEAD_NAME).write_text(text, encoding="utf-8")
    with pytest.raises(Misconfigured):
        read_head(tmp_path)
