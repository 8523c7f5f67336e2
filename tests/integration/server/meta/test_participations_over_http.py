"""`participation-log/*` as its clients see it: who may write what, and which lines are read."""

from __future__ import annotations

import re
from typing import Any

import pytest

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


@pytest.fixture
async def ids(home: Any) -> dict[str, str]:
    """What a line of rex's is about."""
    agent = await home.lin("agent/create", team_id=home.team_id, owner_user_id="lin", name="cook")
    return {"team_id": home.team_id, "task_id": "task-1", "agent_id": agent["agent_id"], "user_id": "rex"}


async def listed(home: Any, **narrow: Any) -> tuple[list[str], int]:
    page = await home.rex("participation-log/list", team_id=home.team_id, **narrow)
    return [line["source"] for line in page["items"]], page["total"]


async def test_a_line_has_the_contracts_form_and_its_defaults(home: Any, ids: dict[str, str]) -> None:
    line = await home.rex("participation-log/append", **ids)

    assert re.fullmatch(UUID, line["id"])
    assert line == ids | {
        "id": line["id"],
        "source": "unknown",
        "metadata_json": None,
        "created_at": line["created_at"],
        "updated_at": line["created_at"],
    }
    page = await home.lin("participation-log/list", team_id=home.team_id)
    assert page == {"items": [line], "total": 1, "limit": 20, "offset": 0}


async def test_members_log_for_themselves_and_administrators_for_anyone_in_the_team(
    home: Any, ids: dict[str, str]
) -> None:
    append = "participation-log/append"

    for person in (home.rex, home.lin, home.mia):
        await person(append, **ids)
    assert await home.rex.refused(append, **ids | {"user_id": "lin"}) == (403, "permission_denied")
    assert await home.mia.refused(append, **ids | {"user_id": "ann"}) == (404, "member_not_found")
    assert await home.ann.refused(append, **ids | {"user_id": "ann"}) == (404, "team_not_found")
    assert await home.root.refused(append, **ids) == (403, "permission_denied")
    assert (await listed(home))[1] == 3


async def test_a_line_names_an_agent_of_the_team_that_its_user_may_see(home: Any, ids: dict[str, str]) -> None:
    private = await home.lin(
        "agent/create", team_id=home.team_id, owner_user_id="lin", name="diary", visibility="private"
    )
    office = await home.lin("team/create", name="office", owner_user_id="lin")
    clerk = await home.lin("agent/create", team_id=office["team_id"], owner_user_id="lin", name="clerk")

    for agent_id in ("agt-none", private["agent_id"], clerk["agent_id"]):
        error = await home.lin.refused("participation-log/append", **ids | {"agent_id": agent_id})
        assert error == (404, "agent_not_found")
    own = ids | {"agent_id": private["agent_id"], "user_id": "lin"}
    assert (await home.mia("participation-log/append", **own))["user_id"] == "lin"


@pytest.mark.parametrize(
    "mistake",
    [{"task_id": ""}, {"task_id": " "}, {"task_id": "t" * 513}, {"created_at": "2026-01-02"}, {"created_at": "soon"}],
)
async def test_a_line_that_cannot_be_meant_is_refused(home: Any, ids: dict[str, str], mistake: dict[str, str]) -> None:
    assert await home.rex.refused("participation-log/append", **ids | mistake) == (400, "invalid_request")


async def test_lines_are_found_by_what_they_name_and_by_time(home: Any, ids: dict[str, str]) -> None:
    for day, source, other in (
        (1, "one", {}),
        (2, "two", {"task_id": "task-2"}),
        (3, "three", {"user_id": "lin"}),
        (4, "four", {"metadata_json": {"a": 1}}),
    ):
        time = {"created_at": f"2026-01-0{day}T00:00:00.000Z"}
        await home.mia("participation-log/append", **ids | {"source": source} | time | other)

    assert await listed(home) == (["four", "three", "two", "one"], 4)
    assert await listed(home, limit=1, offset=1) == (["three"], 4)
    assert await listed(home, task_id="task-2") == (["two"], 1)
    assert await listed(home, agent_id=ids["agent_id"], user_id="lin") == (["three"], 1)
    window = {"created_after": "2026-01-02T00:00:00Z", "created_before": "2026-01-03T00:00:00Z"}
    assert await listed(home, **window) == (["three", "two"], 2)
    assert await listed(home, dedupe=True) == (["four", "three"], 2)
    assert await home.rex.refused("participation-log/list", team_id=home.team_id, created_after="x") == (
        400,
        "invalid_request",
    )


async def test_the_log_is_for_the_team(home: Any, ids: dict[str, str]) -> None:
    await home.rex("participation-log/append", **ids)

    assert await home.ann.refused("participation-log/list", team_id=home.team_id) == (404, "team_not_found")
    assert (await home.root("participation-log/list", team_id=home.team_id))["total"] == 1
    await home.lin("team-member/remove", team_id=home.team_id, user_id="rex")
    assert await home.rex.refused("participation-log/list", team_id=home.team_id) == (404, "team_not_found")
