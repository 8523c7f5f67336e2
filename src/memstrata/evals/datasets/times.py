"""The times that data sets write, each in its own way, and the time of each message of a session that has only one.

`1:56 pm on 8 May, 2023` (LoCoMo), `2023/05/20 (Sat) 02:21` (LongMemEval), `March-15-2024` (BEAM),
`2024年04月01日 周一 08:30` (MemDaily), ISO. None of them names a zone; they are read as UTC.
"""

from __future__ import annotations

import re

from memstrata.clock import Instant, milliseconds
from memstrata.errors import InvalidRequest
from memstrata.evals.datasets.builder import Builder
from memstrata.transfer.place import Place
from memstrata.transfer.times import time_from_text

__all__ = ["Timeline", "written_time"]

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH_OF = {name: number for number, month in enumerate(_MONTHS, start=1) for name in (month, month[:3])}
_CLOCK_ON_DAY = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)\s*(?P<half>[ap]m)?\s+on\s+(?P<day>\d{1,2})\s+(?P<month>[a-z]{3,9}),?\s+(?P<year>\d{4})",
    re.IGNORECASE,
)
_MONTH_FIRST = re.compile(r"(?P<month>[a-z]{3,9})[-\s]+(?P<day>\d{1,2}),?[-\s]+(?P<year>\d{4})", re.IGNORECASE)
_HAN = re.compile(
    r"(?P<year>\d{4})年(?P<month>\d{1,2})月(?P<day>\d{1,2})日(?:\s*(?:周|星期).)?(?:\s*(?P<hour>\d{1,2}):(?P<minute>\d\d))?"
)
_WEEKDAY = re.compile(r"\s*\([A-Za-z]{3,9}\)")
_FIRST: Instant = 1_577_836_800_000  # 2020-01-01, where a data set tells no time at all
_STEP = milliseconds(60)


def written_time(text: str) -> Instant | None:
    """Return the instant that a data set's time means, None if it cannot be read."""
    text = text.strip()
    form = next((match for one in (_CLOCK_ON_DAY, _MONTH_FIRST, _HAN) if (match := one.fullmatch(text))), None)
    iso = _WEEKDAY.sub("", text) if form is None else _iso(form)
    try:
        return time_from_text(iso, Place("")) if iso else None
    except InvalidRequest:
        return None


def _iso(form: re.Match[str]) -> str:
    part = {"hour": "0", "minute": "00", "half": "", **{k: v for k, v in form.groupdict().items() if v is not None}}
    month = part["month"]
    if not month.isdigit():
        if month.lower() not in _MONTH_OF:
            return ""
        month = str(_MONTH_OF[month.lower()])
    hour = int(part["hour"])
    if part["half"]:
        hour = hour % 12 + (12 if part["half"].lower() == "pm" else 0)
    return f"{part['year']}-{month}-{part['day']} {hour}:{part['minute']}"


class Timeline:
    """The times of the messages of one corpus in order: each is a minute after the one before, unless a time is told.

    A time that is told but cannot be read is counted, and the timeline goes on from where it was.
    """

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._next = _FIRST

    def tell(self, text: str | None) -> None:
        """Take the time of what comes next; None and the empty text tell nothing."""
        if text is None or not text.strip():
            return
        told = written_time(text)
        if told is None:
            self._builder.count("times that could not be read")
        else:
            self._next = told

    def take(self) -> Instant:
        """Return the time of the next message."""
        taken = self._next
        self._next += _STEP
        return taken
