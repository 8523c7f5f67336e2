"""Whole milliseconds inside, ISO text at the edges, one way to wait."""

from __future__ import annotations

import asyncio

import pytest

from memstrata.clock import SystemClock, day_of, from_iso, milliseconds, to_iso
from memstrata.errors import InvalidRequest

MONDAY = 1_767_603_600_000


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (MONDAY, "2026-01-05T09:00:00.000Z"),
        (MONDAY + 7, "2026-01-05T09:00:00.007Z"),
        (32_472_144_000_000, "2999-01-01T00:00:00.000Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_an_instant_is_written_and_read_back(instant: int, text: str) -> None:
    assert to_iso(instant) == text
    assert from_iso(text) == instant
    assert day_of(instant) == text[:10]


@pytest.mark.parametrize(("instant", "text"), [(-(10**18), "0001-01-01"), (10**18, "9999-12-31")])
def test_what_text_cannot_express_is_shown_as_the_nearest_that_it_can(instant: int, text: str) -> None:
    assert to_iso(instant).startswith(text)
    assert day_of(instant) == text


@pytest.mark.parametrize(
    ("text", "rest"),
    [("2026-01-05T09:00:00Z", 0), ("2026-01-05T09:00:00.5Z", 500), ("2026-01-05T09:00:00.123456789Z", 123)],
)
def test_fractions_of_any_length_are_read_to_the_millisecond(text: str, rest: int) -> None:
    assert from_iso(text) == MONDAY + rest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-05",
        "2026-01-05T09:00Z",
        "2026-01-05T09:00:00",
        "2026-01-05T09:00:00+00:00",
        "2026-01-05 09:00:00Z",
        "2026-1-5T09:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-01-05T24:00:00Z",
        "2026-01-05T09:00:60Z",
        "0000-01-01T00:00:00Z",
        "1767603600000",
        "２０２６-01-05T09:00:00Z",
        "2026-01-05T09:00:00Z\n",
        "2026-01-05T09:00:00.Z",
    ],
)
def test_any_other_form_of_time_is_refused_by_name(text: str) -> None:
    """Wire contract §1.6."""
    with pytest.raises(InvalidRequest) as refused:
        from_iso(text, field="since")
    assert refused.value.field == "since"


@pytest.mark.parametrize(("seconds", "expected"), [(0, 0), (1, 1_000), (0.0015, 2), (2.5, 2_500), (-1, -1_000)])
def test_seconds_become_whole_milliseconds(seconds: float, expected: int) -> None:
    assert milliseconds(seconds) == expected


async def test_the_system_clock_waits_for_the_signal_or_the_time() -> None:
    clock = SystemClock()
    signal = asyncio.Event()
    async with asyncio.timeout(20):
        await clock.wait(signal, clock.now() + 10)
        await clock.wait(signal, 0)
        assert not signal.is_set()
        signal.set()
        await clock.wait(signal, clock.now() + 3_600_000)
        await clock.wait(signal, None)


def test_the_system_clock_counts_milliseconds_since_1970() -> None:
    assert MONDAY < SystemClock().now() < 10**13
