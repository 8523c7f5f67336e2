from __future__ import annotations

import pytest

from memstrata.clock import to_iso
from memstrata.evals.datasets.builder import Builder
from memstrata.evals.datasets.times import Timeline, written_time


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00.000Z"),
        ("12:09 am on 13 September, 2023", "2023-09-13T00:09:00.000Z"),
        ("12:30 pm on 1 January, 2024", "2024-01-01T12:30:00.000Z"),
        ("2023/05/20 (Sat) 02:21", "2023-05-20T02:21:00.000Z"),
        ("March-15-2024", "2024-03-15T00:00:00.000Z"),
        ("2024年04月01日 周一 08:30", "2024-04-01T08:30:00.000Z"),
        ("2024年4月1日", "2024-04-01T00:00:00.000Z"),
        ("2023-12-25", "2023-12-25T00:00:00.000Z"),
    ],
)
def test_each_data_set_s_way_of_writing_a_time_is_read(written: str, iso: str) -> None:
    instant = written_time(written)
    assert instant is not None
    assert to_iso(instant) == iso


@pytest.mark.parametrize("written", ["", "yesterday", "Mayhem-15-2024", "2024年13月41日", "25:99 pm on 8 May, 2023"])
def test_what_is_no_time_is_none(written: str) -> None:
    assert written_time(written) is None


def test_messages_of_a_session_are_a_minute_apart_until_a_time_is_told() -> None:
    timeline = Timeline(Builder("made"))
    timeline.tell("2024-01-01")
    first, second = timeline.take(), timeline.take()
    timeline.tell("2024-01-02")
    assert second - first == 60_000
    assert to_iso(timeline.take()) == "2024-01-02T00:00:00.000Z"


def test_a_time_that_cannot_be_read_is_counted_and_time_goes_on() -> None:
    builder = Builder("made")
    timeline = Timeline(builder)
    first = timeline.take()
    timeline.tell("some day")
    timeline.tell("")
    timeline.tell(None)
    assert timeline.take() - first == 60_000
    assert builder.counts == {"times that could not be read": 1}
