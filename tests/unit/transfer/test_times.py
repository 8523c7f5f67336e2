from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from memstrata.clock import EARLIEST, LATEST, from_iso
from memstrata.errors import InvalidRequest
from memstrata.transfer.node import Node
from memstrata.transfer.place import Place
from memstrata.transfer.times import read_time

PLACE = Place("chat.json", path="[0].time")
INSTANT = from_iso("2026-01-02T03:04:05Z")


def read(value: object) -> int | None:
    return read_time(Node(value, PLACE))


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Tokyo"])
def server_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05.000z",
        "2026-01-02T11:04:05+08:00",
        "2026-01-02T11:04:05+0800",
        "2026-01-01T23:34:05-03:30",
        "2026-01-02 11:04:05 +08",
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05",
        "2026/1/2 3:04:05",
        "2026-01-02, 03:04:05 UTC",
        1_767_323_045,
        1_767_323_045_000,
        1_767_323_045.0,
        "1767323045",
        "1767323045000",
    ],
)
@pytest.mark.usefixtures("server_zone")
def test_every_spelling_is_the_same_instant_on_every_server(value: object) -> None:
    assert read(value) == INSTANT


def test_fractions_are_kept_to_the_millisecond() -> None:
    assert read("2026-01-02T03:04:05.6789Z") == INSTANT + 678
    assert read("2026-01-02T03:04:05,6Z") == INSTANT + 600
    assert read(1_767_323_045.678) == INSTANT + 678


def test_a_date_alone_is_its_midnight() -> None:
    assert read("2026-01-02") == from_iso("2026-01-02T00:00:00Z")


def test_the_end_of_a_day_and_a_leap_second_are_times() -> None:
    assert read("2026-01-02T24:00:00Z") == from_iso("2026-01-03T00:00:00Z")
    assert read("2016-12-31T23:59:60Z") == from_iso("2017-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (-1, -1000),
        ("1970-01-01", 0),
        ("2999-12-31T00:00:00Z", from_iso("2999-12-31T00:00:00Z")),
        ("12026-01-02T03:04:05Z", LATEST),
        ("+012026-01-02", LATEST),
        ("-0044-03-15", EARLIEST),
        ("0000-01-01", EARLIEST),
        ("0001-01-01T00:00:00+08:00", EARLIEST),
        ("9999-12-31T23:59:59-08:00", LATEST),
        (10**30, LATEST),
        (-(10**30), EARLIEST),
        (float("inf"), LATEST),
        (float("-inf"), EARLIEST),
        ("9" * 5000 + "-01-01", LATEST),
    ],
)
def test_an_absurd_year_is_data(value: object, expected: int) -> None:
    assert read(value) == expected


@pytest.mark.parametrize("value", ["", "  ", float("nan")])
def test_an_empty_cell_is_no_time(value: object) -> None:
    assert read(value) is None


def test_a_field_that_is_not_there_is_no_time() -> None:
    assert read_time(None) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("yesterday", "not a time: 'yesterday' (expected a form such as 2026-01-02T03:04:05Z)"),
        ("2026-13-02", "no such date or time: '2026-13-02'"),
        ("2026-02-29T00:00:00Z", "no such date or time: '2026-02-29T00:00:00Z'"),
        ("2026-01-02T25:00:00Z", "no such date or time: '2026-01-02T25:00:00Z'"),
        ("2026-01-02T24:01:00Z", "no such date or time: '2026-01-02T24:01:00Z'"),
        ("2026-01-02T03:60:00Z", "no such date or time: '2026-01-02T03:60:00Z'"),
        ("2026-01-02T03:04:61Z", "no such date or time: '2026-01-02T03:04:61Z'"),
        ("2026-01-02T03:04:05+24:00", "no such date or time: '2026-01-02T03:04:05+24:00'"),
        (True, "expected a time, found true or false"),
        ([1], "expected a time: ISO text, or seconds or milliseconds since 1970"),
    ],
)
def test_what_is_no_time_is_an_error_with_its_place(value: object, expected: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(value)
    assert str(caught.value) == f"chat.json [0].time: {expected}"


def test_a_number_too_large_for_a_float_is_still_a_time() -> None:
    assert read(json.loads("1" + "0" * 400)) == LATEST
