"""When to distill, as tables of numbers (article 000; DESIGN §5)."""

from __future__ import annotations

from typing import Any

import pytest

from memstrata.records import Document
from memstrata.schedule.planner import PolicyPlanner
from memstrata.schedule.policy import (
    Due,
    deferred_due,
    l1_due,
    l1_threshold,
    l2_due,
    l3_reason,
    next_warmup,
    retry_due,
)
from memstrata.settings import PipelineSettings
from memstrata.store.shapes import ProfileState, SessionProgress

NOW = 1_000_000_000
SECOND = 1_000
HOUR = 3_600 * SECOND
SETTINGS = PipelineSettings()
PERSONA = Document(1, "persona", "persona.md", 1, "Lin drinks tea.", "", 1, "model", 0, 0)


def progress(rounds: int, messages: int | None = None, warmup: int = 5, last: int = NOW) -> SessionProgress:
    return SessionProgress(rounds, rounds if messages is None else messages, warmup, 0, "", last)


def state(**given: Any) -> ProfileState:
    usual: dict[str, Any] = {
        "unconsumed": 0,
        "oldest_unconsumed_at": None,
        "scenes": 1,
        "scenes_at": 0,
        "portrayed_at": 0,
        "persona": None,
        "memories_since_portrait": 0,
        "changed_scenes": 0,
        "persona_request": "",
        "last_message_at": NOW,
        "portrayed_document": 0,
        "last_memory": 0,
        "last_document": 0,
    }
    return ProfileState(**{**usual, **given})


@pytest.mark.parametrize(
    ("every_n", "warmup", "expected"), [(5, 1, 1), (5, 2, 2), (5, 4, 4), (5, 5, 5), (3, 4, 3), (1, 1, 1), (5, 99, 5)]
)
def test_the_threshold_is_the_warm_up_and_at_most_every_n(every_n: int, warmup: int, expected: int) -> None:
    assert l1_threshold(warmup, PipelineSettings(every_n=every_n)) == expected
    assert l1_threshold(warmup, PipelineSettings(every_n=every_n, warmup=False)) == every_n


@pytest.mark.parametrize(
    ("every_n", "steps"),
    [(5, [1, 2, 4, 5, 5]), (8, [1, 2, 4, 8, 8]), (1, [1, 1]), (2, [1, 2, 2]), (100, [1, 2, 4, 8, 16])],
)
def test_the_warm_up_doubles_up_to_every_n(every_n: int, steps: list[int]) -> None:
    settings = PipelineSettings(every_n=every_n)
    seen = [1]
    while len(seen) < len(steps):
        seen.append(next_warmup(seen[-1], settings))
    assert seen == steps


def test_a_warm_up_that_was_never_set_begins_at_the_beginning() -> None:
    assert next_warmup(0, SETTINGS) == 2


@pytest.mark.parametrize(
    ("session", "due"),
    [
        (progress(0, 0), None),
        (progress(0, 3, last=NOW - 5), Due(NOW - 5 + 600 * SECOND, "idle")),
        (progress(1, warmup=1), Due(NOW, "threshold")),
        (progress(1, warmup=2), Due(NOW + 600 * SECOND, "idle")),
        (progress(2, warmup=2), Due(NOW, "threshold")),
        (progress(4), Due(NOW + 600 * SECOND, "idle")),
        (progress(5), Due(NOW, "threshold")),
        (progress(5, last=0), Due(NOW, "threshold")),
        (progress(4, last=0), Due(600 * SECOND, "idle")),
    ],
)
def test_l1_runs_at_the_threshold_or_when_the_session_is_idle(session: SessionProgress, due: Due | None) -> None:
    assert l1_due(session, SETTINGS, NOW) == due
    assert PolicyPlanner(SETTINGS).next_l1(session, NOW) == (due.at if due else None)


@pytest.mark.parametrize(
    ("given", "due"),
    [
        ({"unconsumed": 0}, None),
        # L2 never ran: the delay alone
        ({"unconsumed": 1, "oldest_unconsumed_at": NOW}, Due(NOW + 10 * SECOND, "delay")),
        # it ran just now, long ago, or exactly so long ago that both rules agree
        ({"unconsumed": 1, "oldest_unconsumed_at": NOW, "scenes_at": NOW}, Due(NOW + 900 * SECOND, "interval")),
        ({"unconsumed": 1, "oldest_unconsumed_at": NOW, "scenes_at": NOW - HOUR}, Due(NOW + 10 * SECOND, "delay")),
        (
            {"unconsumed": 1, "oldest_unconsumed_at": NOW, "scenes_at": NOW - 890 * SECOND},
            Due(NOW + 10 * SECOND, "delay"),
        ),
        # a memory that has waited for the most runs now, but only while the agent is active
        ({"unconsumed": 1, "oldest_unconsumed_at": NOW - 2 * HOUR, "scenes_at": NOW}, Due(NOW, "waited long enough")),
        (
            {"unconsumed": 1, "oldest_unconsumed_at": NOW - HOUR + 60 * SECOND, "scenes_at": NOW},
            Due(NOW + 60 * SECOND, "waited long enough"),
        ),
        (
            {
                "unconsumed": 1,
                "oldest_unconsumed_at": NOW - 2 * HOUR,
                "scenes_at": NOW,
                "last_message_at": NOW - 24 * HOUR - 1,
            },
            Due(NOW + 900 * SECOND, "interval"),
        ),
        (
            {
                "unconsumed": 1,
                "oldest_unconsumed_at": NOW - 2 * HOUR,
                "scenes_at": NOW,
                "last_message_at": NOW - 24 * HOUR,
            },
            Due(NOW, "waited long enough"),
        ),
    ],
)
def test_l2_runs_soon_but_not_too_often_and_not_too_late(given: dict[str, Any], due: Due | None) -> None:
    assert l2_due(state(**given), SETTINGS, NOW) == due
    assert PolicyPlanner(SETTINGS).next_l2(state(**given), NOW) == (due.at if due else None)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"scenes": 0, "persona_request": "moved"}, None),
        ({"persona_request": "moved"}, "asked for by L2: moved"),
        ({"persona_request": "moved", "persona": PERSONA, "portrayed_at": 5}, "asked for by L2: moved"),
        ({}, "cold start"),
        ({"portrayed_at": 5}, "body lost"),
        ({"portrayed_at": 5, "memories_since_portrait": 99}, "body lost"),
        ({"persona": PERSONA}, "a persona was there before the first scenes"),
        ({"persona": PERSONA, "portrayed_at": 5}, None),
        ({"persona": PERSONA, "portrayed_at": 5, "memories_since_portrait": 49, "changed_scenes": 9}, None),
        ({"persona": PERSONA, "portrayed_at": 5, "memories_since_portrait": 50}, "50 new memories"),
        ({"persona": PERSONA, "portrayed_at": 5, "memories_since_portrait": 51}, "51 new memories"),
    ],
)
def test_l3_has_five_reasons_in_this_order(given: dict[str, Any], reason: str | None) -> None:
    assert l3_reason(state(**given), SETTINGS) == reason
    assert PolicyPlanner(SETTINGS).l3_reason(state(**given)) == reason


def test_a_portrait_of_blanks_counts_as_lost() -> None:
    blank = Document(1, "persona", "persona.md", 1, " \n", "", 1, "human", 0, 0)
    assert l3_reason(state(persona=blank, portrayed_at=5), SETTINGS) == "body lost"


@pytest.mark.parametrize(
    ("attempt", "least", "wait"),
    [
        (1, None, 5),
        (2, None, 15),
        (3, None, 45),
        (4, None, 135),
        (5, None, None),
        (6, None, None),
        (1, 60, 60),
        (3, 60, 60),
        (4, 60, 135),
        (5, 60, None),
        (1, 0, 5),
    ],
)
def test_a_failed_job_waits_longer_each_time_until_it_has_had_its_tries(
    attempt: int, least: float | None, wait: int | None
) -> None:
    due = retry_due(attempt, SETTINGS, NOW, least)
    assert (due.at if due else None) == (None if wait is None else NOW + wait * SECOND)


def test_the_planner_warms_up_by_the_policy() -> None:
    assert [PolicyPlanner(SETTINGS).warmed_up(n) for n in (1, 2, 4, 5)] == [2, 4, 5, 5]


@pytest.mark.parametrize(
    ("deferrals", "least", "wait"),
    [
        (1, None, 5),
        (2, None, 10),
        (3, None, 20),
        (6, None, 160),
        (7, None, 300),
        (8, None, 300),
        (10_000, None, 300),
        (1, 60, 60),
        (5, 60, 80),
        (7, 3_600, 3_600),
        (1, 0, 5),
    ],
)
def test_a_job_that_is_put_off_waits_longer_each_time_up_to_five_minutes_or_as_long_as_it_was_told(
    deferrals: int, least: float | None, wait: int
) -> None:
    assert deferred_due(deferrals, SETTINGS, NOW, least) == Due(NOW + wait * SECOND, "put off")


def test_who_wants_to_wait_longer_than_five_minutes_after_a_failure_waits_as_long_when_put_off() -> None:
    patient = PipelineSettings(retry_seconds=900)
    waits = [deferred_due(deferrals, patient, NOW, None).at - NOW for deferrals in (1, 2, 50)]
    assert waits == [900 * SECOND] * 3
