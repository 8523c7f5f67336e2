"""Times in prompts and answers: the users' zone, never the machine's."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from memstrata.distill.atoms.times import local_time, offset_of, read_time

SHANGHAI = ZoneInfo("Asia/Shanghai")
ST_JOHNS = ZoneInfo("America/St_Johns")


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Tokyo"])
def machine_zone(request: pytest.FixtureRequest) -> Iterator[str]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield request.param
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def shown(instant: int, zone: ZoneInfo) -> str:
    moment = local_time(instant, zone)
    return f"{moment.date()} {moment:%H:%M}{offset_of(moment)}"


@pytest.mark.usefixtures("machine_zone")
def test_an_instant_is_shown_in_the_users_zone_whatever_the_machines_is() -> None:
    assert shown(at("2026-02-11T01:20:00Z"), SHANGHAI) == "2026-02-11 09:20+08:00"
    assert shown(at("2026-03-08T05:29:00Z"), ST_JOHNS) == "2026-03-08 01:59-03:30"
    assert shown(at("2026-03-08T05:30:00Z"), ST_JOHNS) == "2026-03-08 03:00-02:30"


@pytest.mark.usefixtures("machine_zone")
@pytest.mark.parametrize(
    ("text", "zone", "start"),
    [
        ("2026-02-11T09:20", SHANGHAI, "2026-02-11T01:20:00Z"),
        ("2026-02-11 09:20:30", SHANGHAI, "2026-02-11T01:20:30Z"),
        ("2026-02-11T09:20+08:00", ST_JOHNS, "2026-02-11T01:20:00Z"),
        ("2026-02-11T01:20:00Z", ST_JOHNS, "2026-02-11T01:20:00Z"),
        ("2026-02-11", SHANGHAI, "2026-02-10T16:00:00Z"),
        ("2026-07-01", ST_JOHNS, "2026-07-01T02:30:00Z"),
        ("2026-02", SHANGHAI, "2026-01-31T16:00:00Z"),
        ("2026", SHANGHAI, "2025-12-31T16:00:00Z"),
    ],
)
def test_a_time_without_an_offset_is_in_the_users_zone(text: str, zone: ZoneInfo, start: str) -> None:
    assert read_time(text, zone) == at(start)


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("2026-02-11", "2026-02-11T23:59:59.999+08:00"),
        ("2024-02", "2024-02-29T23:59:59.999+08:00"),
        ("2026", "2026-12-31T23:59:59.999+08:00"),
        ("2026-02-11T09:20", "2026-02-11T09:20:00+08:00"),
    ],
)
def test_the_end_of_a_date_is_its_last_millisecond(text: str, last: str) -> None:
    assert read_time(text, SHANGHAI, end=True) == at(last)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13", "2026-13-01", "2026-02-30", "0000", "11.02.2026", "2026-02-11T25:00", "9" * 40]
)
@pytest.mark.parametrize("end", [False, True])
def test_what_is_no_time_is_none(text: str, end: bool) -> None:
    assert read_time(text, SHANGHAI, end=end) is None


@pytest.mark.parametrize("instant", [-(10**18), -1, 0, at("1970-01-01T00:00:00Z"), at("2999-12-31T23:59:59Z"), 10**18])
@pytest.mark.parametrize("zone", [SHANGHAI, ST_JOHNS, UTC, timezone(timedelta(hours=14))])
def test_any_instant_can_be_shown(instant: int, zone: ZoneInfo) -> None:
    assert len(shown(instant, zone)) == len("2026-02-11 09:20+08:00")
