from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.clock import Instant
from memstrata.distill.rules.dates import day_in, mentions_a_date, with_dates
from memstrata.distill.rules.reading import Tense

SAID_AT: Instant = int(datetime(2026, 2, 11, 12, 0, tzinfo=UTC).timestamp() * 1000)  # a Wednesday


def span(text: str, tense: Tense | None = None) -> tuple[str, str] | None:
    timed = with_dates(text, SAID_AT, UTC, tense)
    if timed.happened_from is None or timed.happened_to is None:
        return None
    return day_in(timed.happened_from), day_in(timed.happened_to)


@pytest.mark.parametrize(
    ("text", "tense", "first", "last"),
    [
        ("on 2026-03-05", None, "2026-03-05", "2026-03-05"),
        ("2026/3/5", None, "2026-03-05", "2026-03-05"),
        ("yesterday", None, "2026-02-10", "2026-02-10"),
        ("the day before yesterday", None, "2026-02-09", "2026-02-09"),
        ("tomorrow morning", None, "2026-02-12", "2026-02-12"),
        ("last week", None, "2026-02-02", "2026-02-08"),
        ("next month", None, "2026-03-01", "2026-03-31"),
        ("last year", None, "2025-01-01", "2025-12-31"),
        ("this weekend", None, "2026-02-14", "2026-02-15"),
        ("two weeks ago", None, "2026-01-26", "2026-02-01"),
        ("in 3 days", None, "2026-02-14", "2026-02-14"),
        ("a year ago", None, "2025-01-01", "2025-12-31"),
        ("on May 3", "future", "2026-05-03", "2026-05-03"),
        ("on May 3", "past", "2025-05-03", "2025-05-03"),
        ("3rd of May 2024", None, "2024-05-03", "2024-05-03"),
        ("in May", "future", "2026-05-01", "2026-05-31"),
        ("in May", "past", "2025-05-01", "2025-05-31"),
        ("in October 2027", None, "2027-10-01", "2027-10-31"),
        ("in 2019", None, "2019-01-01", "2019-12-31"),
        ("on Friday", "future", "2026-02-13", "2026-02-13"),
        ("on Friday", "past", "2026-02-06", "2026-02-06"),
        ("last Friday", None, "2026-02-06", "2026-02-06"),
        ("on Friday, March 13", "future", "2026-03-13", "2026-03-13"),
        ("from May 3 to May 7", "future", "2026-05-03", "2026-05-07"),
        ("昨天", None, "2026-02-10", "2026-02-10"),
        ("后天", None, "2026-02-13", "2026-02-13"),
        ("上周", None, "2026-02-02", "2026-02-08"),
        ("下周三", None, "2026-02-18", "2026-02-18"),
        ("上个月", None, "2026-01-01", "2026-01-31"),
        ("下个月8号", None, "2026-03-08", "2026-03-08"),
        ("去年九月", None, "2025-09-01", "2025-09-30"),
        ("2018年", None, "2018-01-01", "2018-12-31"),
        ("2026年1月18日", None, "2026-01-18", "2026-01-18"),
        ("4月7日", "future", "2026-04-07", "2026-04-07"),
        ("4月7日", "past", "2025-04-07", "2025-04-07"),
        ("三天前", None, "2026-02-08", "2026-02-08"),
        ("十二月", "past", "2025-12-01", "2025-12-31"),
        ("两个月后", None, "2026-04-01", "2026-04-30"),
        ("周五", "future", "2026-02-13", "2026-02-13"),
        ("3月1日到3月5日", "future", "2026-03-01", "2026-03-05"),
        ("来週", None, "2026-02-16", "2026-02-22"),
        ("先月", None, "2026-01-01", "2026-01-31"),
        ("一昨日", None, "2026-02-09", "2026-02-09"),
        ("3日前", None, "2026-02-08", "2026-02-08"),
    ],
)
def test_a_date_is_derived_from_the_words_and_the_time_they_were_said(
    text: str, tense: Tense | None, first: str, last: str
) -> None:
    assert span(text, tense) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "next Friday", "recently", "every Friday", "on Fridays", "I may go", "4月7日", "in May", "on Friday",
        "每周三晚上", "每年四月", "每月8号",
        "四天工作制", "周四天工作制", "最近", "十月怀胎", "2026-02-30", "2月30日", "31 June 2025", "一个月",
        "room 2019", "v1.2026-01-01",
    ],
)  # fmt: skip
def test_what_cannot_be_derived_stays_unknown(text: str) -> None:
    assert span(text) is None
    assert with_dates(text, SAID_AT).text == text


def test_relative_words_are_explained_and_full_dates_are_not() -> None:
    assert with_dates("moved yesterday.", SAID_AT).text == "moved yesterday (2026-02-10)."
    assert with_dates("上周开始不吃肉", SAID_AT).text == "上周（2026-02-02至2026-02-08）开始不吃肉"
    assert with_dates("last week", SAID_AT).text == "last week (2026-02-02 to 2026-02-08)"
    assert with_dates("去年去了京都", SAID_AT).text == "去年（2025）去了京都"
    assert with_dates("2026年1月18日的半马", SAID_AT).text == "2026年1月18日的半马"


def test_an_explained_date_is_not_explained_again() -> None:
    once = with_dates("昨天买了", SAID_AT).text
    assert with_dates(once, SAID_AT).text == once


def test_a_date_is_noticed_without_deriving_it() -> None:
    assert mentions_a_date("see you on Friday")
    assert mentions_a_date("下个月")
    assert not mentions_a_date("see you soon")


@given(
    st.text(max_size=300),
    st.integers(-(10**16), 10**16),
    st.sampled_from(["past", "future", None]),
    st.integers(-14, 14),
)
def test_any_text_at_any_time_has_an_ordered_span_or_none(
    text: str, said_at: int, tense: Tense | None, offset: int
) -> None:
    zone = timezone(timedelta(hours=offset))
    timed = with_dates(text, said_at, zone, tense)
    assert (timed.happened_from is None) == (timed.happened_to is None)
    if timed.happened_from is not None and timed.happened_to is not None:
        assert timed.happened_from < timed.happened_to


@given(
    st.dates(),
    st.sampled_from(["yesterday", "tomorrow", "last week", "in 3 days", "上个月", "明年", "on May 31", "2月29日"]),
)
def test_dates_are_derived_on_every_day_of_the_calendar(day: date, text: str) -> None:
    said_at = round(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
    for tense in ("past", "future"):
        assert with_dates(text, said_at, UTC, tense).text.startswith(text)
