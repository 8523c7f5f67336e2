"""The time that a question asks for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.clock import EARLIEST, LATEST, Instant
from memstrata.records import MemoryRecord, Message
from memstrata.search.time_words import INSIDE, Window, lift, window_of

NOW: Instant = int(datetime(2026, 2, 11, 12, 0, tzinfo=UTC).timestamp() * 1000)  # a Wednesday
DAY = 86_400_000
EAST = timezone(timedelta(hours=8))


def days(query: str, zone: tzinfo = UTC) -> tuple[str, str] | None:
    """Return the first day of the window and the first one after it."""
    window = window_of(query, NOW, zone)
    if window is None:
        return None
    first, after = (datetime.fromtimestamp(at / 1000, zone) for at in (window.start, window.end))
    assert (first.hour, after.hour) == (0, 0)
    return first.date().isoformat(), after.date().isoformat()


@pytest.mark.parametrize(
    ("query", "first", "after"),
    [
        ("what did I eat yesterday", "2026-02-10", "2026-02-11"),
        ("what did I buy last week?", "2026-02-02", "2026-02-09"),
        ("where was I two days ago", "2026-02-09", "2026-02-10"),
        ("what happened in March 2025", "2025-03-01", "2025-04-01"),
        ("what happened in March", "2025-03-01", "2025-04-01"),
        ("what did I say on 2026-02-11", "2026-02-11", "2026-02-12"),
        ("what did we decide last Friday", "2026-02-06", "2026-02-07"),
        ("what did I do last summer", "2025-06-01", "2025-09-01"),
        ("what did I do last winter", "2024-12-01", "2025-03-01"),
        ("what did I do this winter", "2025-12-01", "2026-03-01"),
        ("what will we do next summer", "2026-06-01", "2026-09-01"),
        ("books I read in the summer of 2024", "2024-06-01", "2024-09-01"),
        ("how often did I run in the past two weeks", "2026-01-28", "2026-02-12"),
        ("how often did I run over the last 3 days", "2026-02-08", "2026-02-12"),
        ("where was I from 2026-01-05 to 2026-01-07", "2026-01-05", "2026-01-08"),
        ("上周五我吃了什么", "2026-02-06", "2026-02-07"),
        ("我三月去了哪里", "2025-03-01", "2025-04-01"),
        ("去年夏天我们去了哪里", "2025-06-01", "2025-09-01"),
        ("2024年冬天发生了什么", "2024-12-01", "2025-03-01"),
        ("最近三天我跑了几次步", "2026-02-08", "2026-02-12"),
        ("过去两个月我读了什么书", "2025-12-13", "2026-02-12"),
        ("上个月的账单", "2026-01-01", "2026-02-01"),
        ("前天晚上", "2026-02-09", "2026-02-10"),
        ("先週は何をしましたか", "2026-02-02", "2026-02-09"),
        ("去年の夏はどこに行きましたか", "2025-06-01", "2025-09-01"),
        ("おととい何を食べた", "2026-02-09", "2026-02-10"),
    ],
)
def test_a_time_in_a_question_is_a_window_of_whole_days(query: str, first: str, after: str) -> None:
    assert days(query) == (first, after)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "what is my name",
        "may I ask you something",
        "the last of the Mohicans",
        "who won last",
        "每三月一次的会议",
        "三五天前",
        "最近怎么样",
        "on 2025-06-31",
        "spring boot configuration",
        "我喜欢夏天",
    ],
)
def test_a_question_without_a_time_has_no_window(query: str) -> None:
    assert window_of(query, NOW) is None


def test_days_are_those_of_the_users_zone() -> None:
    late = int(datetime(2026, 2, 11, 20, 0, tzinfo=UTC).timestamp() * 1000)  # the 12th in Shanghai
    window = window_of("yesterday", late, EAST)
    assert window == Window(*(int(datetime(2026, 2, day, tzinfo=EAST).timestamp() * 1000) for day in (11, 12)))


@given(st.text(max_size=80) | st.sampled_from(["last year", "明年", "in 900 years", "999 年前", "in 9999-12-31"]))
def test_no_query_and_no_clock_breaks_it(query: str) -> None:
    for now in (EARLIEST, 0, NOW, LATEST):
        window = window_of(query, now)
        assert window is None or window.start < window.end


def test_what_was_said_inside_the_window_is_lifted_and_the_rest_stays(said: Callable[..., Message]) -> None:
    window = Window(NOW, NOW + DAY)
    moments = (NOW - 1, NOW, NOW + DAY - 1, NOW + DAY)
    assert [lift(said(1, said_at=moment), window) for moment in moments] == [1.0, INSIDE, INSIDE, 1.0]


@pytest.mark.parametrize(
    ("first", "last", "inside"),
    [
        (NOW, NOW, True),
        (NOW - 5 * DAY, NOW, True),
        (NOW - 5 * DAY, NOW - 1, False),
        (NOW + DAY, NOW + 2 * DAY, False),
        (NOW, None, True),
        (NOW, NOW - 9 * DAY, True),
        (None, None, False),
    ],
)
def test_a_memory_counts_by_when_it_happened(
    remembered: Callable[..., MemoryRecord], first: Instant | None, last: Instant | None, inside: bool
) -> None:
    memory = remembered(happened_from=first, happened_to=last, updated_at=NOW)
    assert (lift(memory, Window(NOW, NOW + DAY)) == INSIDE) == inside


def test_without_a_window_nothing_is_lifted(said: Callable[..., Message]) -> None:
    assert lift(said(1), None) == 1.0


def test_a_message_that_tells_a_story_asks_for_no_time() -> None:
    assert days("I lost my notes. What did we decide yesterday?") == ("2026-02-10", "2026-02-11")
    assert days("The teacher praised me yesterday! I was so happy. We did maths.") is None
    assert days("昨天老师表扬我了！\n我好开心。\n我喜欢数学。") is None
