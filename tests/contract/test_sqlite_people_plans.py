"""How SQLite finds users, keys, teams and members: by an index always, a key and a place in a team by one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import apsw
import pytest

from memstrata.records.people import Member, Team, User, UserKey
from memstrata.store.directory import UserFilter, Window
from memstrata.store.sqlite.directory import members, params, teams, user_keys, users

WINDOW = Window(20, 40)
USER = User("usr-1", "normal", "lin", "active", 1, 1)
KEY = UserKey("uky-1", "usr-1", "m", "n", True, 1)
TEAM = Team("team-1", "n", "", "usr-1", "active", "null", 1, 1)
MEMBER = Member("m-1", "team-1", "usr-1", "admin", "active", 1)

# What every request asks, or the check of a membership. The others are bounded by the directory's limits.
ONE_STEP = {
    "owner": user_keys._OWNER,
    "key": user_keys._GET,
    "user": users._GET,
    "team": teams._GET,
    "member": members._GET,
    "note of use": user_keys._USED,
}


def use_every_verb(connection: apsw.Connection) -> None:
    people, keys, rooms = (
        users.SqliteUsers(connection),
        user_keys.SqliteUserKeys(connection),
        teams.SqliteTeams(connection),
    )
    places, values = members.SqliteMembers(connection), params.SqliteParams(connection)
    people.add("default", USER)
    people.get("default", "usr-1")
    people.count("default")
    for where in (
        UserFilter(),
        UserFilter(team_id="team-1", username="lin"),
        UserFilter(user_ids=("usr-1",), status="active", user_type="normal"),
    ):
        people.page("default", where, WINDOW)
    keys.add("default", KEY, b"digest")
    keys.owner("default", b"digest")
    keys.get("default", "uky-1")
    keys.page("default", "usr-1", WINDOW)
    keys.active("default", "usr-1", 1)
    keys.replace("default", KEY)
    keys.used("default", "uky-1", 1)
    keys.remove("default", "uky-1")
    rooms.add("default", TEAM)
    rooms.get("default", "team-1")
    rooms.count("default")
    rooms.replace("default", TEAM)
    rooms.page("default", "usr-1", "n", WINDOW)
    places.put("default", MEMBER)
    places.get("default", "team-1", "usr-1")
    places.page("default", "team-1", WINDOW)
    places.remove("default", "team-1", "usr-1")
    values.put("default", "usr-1", "m", {"a": "b"})
    values.of("default", "usr-1", "m")
    rooms.remove("default", "team-1")
    people.remove("default", "usr-1")


@pytest.fixture
def plans(
    plans_of: Callable[[Callable[[apsw.Connection], object]], Mapping[str, list[str]]],
) -> Mapping[str, list[str]]:
    """The plan of every statement of these repositories."""
    return plans_of(use_every_verb)


def test_no_statement_walks_a_table(plans: Mapping[str, list[str]]) -> None:
    steps = {
        sql: [step for step in plan if step.startswith("SCAN") and "json_each" not in step]
        for sql, plan in plans.items()
    }

    assert len(plans) > 25
    assert {sql: found for sql, found in steps.items() if found} == {}


@pytest.mark.parametrize("name", sorted(ONE_STEP))
def test_what_every_request_asks_is_found_in_one_step_of_each_index(plans: Mapping[str, list[str]], name: str) -> None:
    plan = plans[ONE_STEP[name]]

    assert plan
    assert [step for step in plan if step.endswith("(instance=?)") or not step.startswith("SEARCH")] == []


def test_only_the_list_of_users_and_the_count_of_teams_read_all_of_an_instance(
    plans: Mapping[str, list[str]],
) -> None:
    whole = {
        sql: plan
        for sql, plan in plans.items()
        if any(step.endswith("(instance=?)") and not step.startswith("SEARCH users ") for step in plan)
    }

    assert list(whole) == [teams._COUNT]


def test_users_and_keys_are_paged_in_the_order_of_an_index(plans: Mapping[str, list[str]]) -> None:
    pages = [
        plan
        for sql, plan in plans.items()
        if "LIMIT" in sql and ("FROM user_keys" in sql or "FROM users WHERE instance = ? ORDER" in sql)
    ]

    assert len(pages) == 3
    assert [step for plan in pages for step in plan if "TEMP B-TREE" in step] == []
