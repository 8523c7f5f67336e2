"""Whether the trail is whole: each row's hash from its columns and the hash before it, and the end as it was noted.

A row that was changed, taken out, put in or moved breaks the chain at its place. Rows cut off the end break nothing by
themselves, so the end is noted outside of the database (`head`), and verifying compares. Pure: rows in, a report out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from memstrata.records.audit import GENESIS, AuditHead, AuditRow, chained

__all__ = ["CUT_OFF", "HEAD_MISSING", "AuditReport", "ChainCheck", "HeadState"]

HeadState = Literal["same", "behind", "missing", "differs"]
"""Of the noted end: it is the end, an earlier row (a process was killed), not there, or no row of this trail."""

CUT_OFF = "audit.cut_off"
"""Action of a row that notes, at a start, that rows which had been noted were not there any more."""

HEAD_MISSING = "audit.head_missing"
"""Action of a row that notes, at a start, that nobody could tell: there were rows, and no noted end."""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What verifying found. `rows` are those of the instance that was asked about, else all.

    `broken_seq` is the first row that is not what was written, or is not there; `reason` says how it is broken.
    """

    rows: int
    last_seq: int
    head: HeadState
    broken_seq: int | None = None
    reason: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def is_intact(self) -> bool:
        return self.broken_seq is None


class ChainCheck:
    """Takes the rows of a whole trail, portion by portion, and says at the end what it found."""

    def __init__(self, noted: AuditHead | None, instance: str | None = None) -> None:
        self._noted = noted
        self._instance = instance
        self._end = AuditHead(0, GENESIS)
        self._rows = 0
        self._broken: tuple[int, str] | None = None
        self._fits = noted is not None and noted == self._end
        self._warnings: list[str] = []

    @property
    def last_seq(self) -> int:
        return self._end.seq

    @property
    def is_broken(self) -> bool:
        return self._broken is not None

    def check(self, rows: Iterable[AuditRow]) -> None:
        """Go on with the next rows, in the order of `seq`; nothing more is looked at behind a broken one."""
        for row in rows:
            if self._broken is not None:
                return
            self._broken = self._problem(row)
            self._end = AuditHead(row.seq, row.hash)
            self._fits = self._fits or self._end == self._noted
            self._rows += self._instance in (None, row.entry.instance)

    def report(self) -> AuditReport:
        """Return what was found."""
        head, broken = self._head(), self._broken
        if broken is None and head == "differs" and self._noted is not None:
            seq = self._noted.seq
            lost = f"the noted end is row {seq}, the trail ends with row {self._end.seq}"
            moved = f"row {seq} is not the one that was noted as the end"
            broken = (min(seq, self._end.seq + 1), lost if seq > self._end.seq else moved)
        warnings = [*self._warnings]
        if head == "missing" and self._end.seq:
            warnings.append("no end was noted beside the database: rows cut off the end would not be seen")
        if head == "behind" and self._noted is not None:
            warnings.append(f"the noted end is row {self._noted.seq}: later rows cut off the end would not be seen")
        at, reason = broken or (None, "")
        return AuditReport(self._rows, self._end.seq, head, at, reason, tuple(warnings))

    def _problem(self, row: AuditRow) -> tuple[int, str] | None:
        expected = self._end.seq + 1
        if row.seq != expected:
            return expected, f"row {expected} is not there; the next one is {row.seq}"
        if row.hash != chained(self._end.hash, row.seq, row.entry):
            return row.seq, f"row {row.seq} or the one before it is not what was written"
        if row.entry.action == CUT_OFF:
            return row.seq, f"row {row.seq} notes that later rows had been cut off before it"
        if row.entry.action == HEAD_MISSING:
            self._warnings.append(f"row {row.seq} notes that the end was not noted when it was written")
        return None

    def _head(self) -> HeadState:
        if self._noted is None:
            return "missing"
        if self._noted == self._end:
            return "same"
        return "behind" if self._fits else "differs"
