"""Teams and their members over HTTP: who sees, runs and leaves them, and what goes with a team."""

from __future__ import annotations

import re
from typing import Any

import pytest

UUID4 = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


async def test_anybody_makes_a_team_of_their_own_and_administers_it(lin: Any, new_user: Any) -> None:
    made = await lin("team/create", name="厨房", owner_user_id=lin.user_id, description="d", metadata_json={"a": [1]})

    assert re.fullmatch(r"team-[a-z0-9]{10}", made["team_id"])
    assert re.fullmatch(ISO, made["created_at"])
    assert made == {
        "team_id": made["team_id"],
        "name": "厨房",
        "description": "d",
        "owner_user_id": lin.user_id,
        "status": "active",
        "created_at": made["created_at"],
        "updated_at": made["created_at"],
        "metadata_json": {"a": [1]},
    }
    assert await lin("team/get", team_id=made["team_id"]) == made
    own = await lin("team-member/get", team_id=made["team_id"], user_id=lin.user_id)
    assert (own["role"], own["status"], own["username"]) == ("admin", "active", "lin")
    rex = await new_user("rex")
    refused = await lin.refused("team/create", name="n", owner_user_id=rex.user_id)
    assert refused == (403, "permission_denied")


@pytest.mark.parametrize("metadata", ["{}", '{"a": 1}', {"a": None}, [1, 2.50], 7, {}, None])
async def test_metadata_comes_back_as_it_was_given(lin: Any, metadata: Any) -> None:
    made = await lin("team/create", name="n", owner_user_id=lin.user_id, metadata_json=metadata)

    assert made["metadata_json"] == metadata
    assert (await lin("team/update", team_id=made["team_id"], name="m"))["metadata_json"] == metadata


async def test_a_team_is_changed_by_its_administrators_and_in_what_is_named(lin: Any, new_user: Any, team: str) -> None:
    rex, eve = await new_user("rex"), await new_user("eve")
    await lin("team-member/add", team_id=team, user_id=rex.user_id, role="admin")
    await lin("team-member/add", team_id=team, user_id=eve.user_id)

    changed = await rex("team/update", team_id=team, description="food", status="archived")

    assert (changed["name"], changed["description"], changed["status"]) == ("kitchen", "food", "archived")
    assert await eve.refused("team/update", team_id=team, name="x") == (403, "permission_denied")
    assert await lin.refused("team/update", team_id=team, name=" ") == (400, "invalid_request")
    assert await lin.refused("team/update", team_id=team, status="gone") == (400, "invalid_request")


async def test_who_is_outside_is_told_that_there_is_no_team(admin: Any, lin: Any, new_user: Any, team: str) -> None:
    eve = await new_user("eve")
    questions: list[tuple[str, dict[str, Any]]] = [
        ("team/get", {"team_id": team}),
        ("team/update", {"team_id": team, "name": "mine"}),
        ("team-member/list", {"team_id": team}),
        ("team-member/get", {"team_id": team, "user_id": lin.user_id}),
        ("team-member/add", {"team_id": team, "user_id": lin.user_id}),
        ("team-member/remove", {"team_id": team, "user_id": lin.user_id}),
    ]

    for route, body in questions:
        answers = [await eve.ask(route, **{**body, "team_id": one}) for one in (team, "team-none")]
        assert {(one.status_code, one.json()["message"].partition(":")[0]) for one in answers} == {
            (404, "team_not_found")
        }
    gone = await eve("team/delete", team_ids=[team, "team-none"])
    assert gone["deleted_ids"] == []
    assert {one["reason"] for one in gone["failed"]} == {"team_not_found"}
    assert (await admin("team/get", team_id=team))["name"] == "kitchen"
    assert (await admin("team-member/list", team_id=team))["total"] == 1
    assert await admin.refused("team/update", team_id=team, name="mine") == (403, "permission_denied")


async def test_teams_are_listed_for_whoever_is_in_them(admin: Any, lin: Any, new_user: Any, team: str) -> None:
    second = await lin("team/create", name="office", owner_user_id=lin.user_id)
    eve = await new_user("eve")

    page = await lin("team/list", user_id=lin.user_id, limit=1)
    assert (len(page["items"]), page["total"], page["limit"], page["offset"]) == (1, 2, 1, 0)
    named = await lin("team/list", user_key=lin.key, name="office")
    assert [one["team_id"] for one in named["items"]] == [second["team_id"]]
    assert (await admin("team/list", user_id=lin.user_id))["total"] == 2
    assert (await eve("team/list", user_id=eve.user_id))["total"] == 0
    for asked in ({"user_id": lin.user_id}, {"user_key": lin.key}, {"user_key": "sk-mem-nobody"}):
        assert await eve.refused("team/list", **asked) == (404, "user_not_found")
    assert await lin.refused("team/list") == (400, "invalid_request")


async def test_a_new_member_has_a_name_a_role_and_an_agent(lin: Any, new_user: Any, team: str) -> None:
    rex = await new_user("rex")

    made = await lin("team-member/add", team_id=team, user_id=rex.user_id)

    assert set(made) == {"id", "team_id", "user_id", "role", "joined_at", "status"}
    assert re.fullmatch(UUID4, made["id"])
    assert re.fullmatch(ISO, made["joined_at"])
    assert (made["role"], made["status"]) == ("member", "active")
    assert await rex("team-member/get", team_id=team, user_id=rex.user_id) == {**made, "username": "rex"}
    listed = await rex("team-member/list", team_id=team)
    assert (listed["total"], {one["username"] for one in listed["items"]}) == (2, {"lin", "rex"})
    agents = await rex("agent/list", team_id=team, owner_user_id=rex.user_id)
    assert [one["name"] for one in agents["items"]] == ["default-agent-rex"]


async def test_who_comes_back_has_the_agent_from_before(lin: Any, new_user: Any, team: str) -> None:
    rex = await new_user("rex")
    await lin("team-member/add", team_id=team, user_id=rex.user_id)
    assert await lin("team-member/remove", team_id=team, user_id=rex.user_id) == {"ok": True}
    assert await rex.refused("team/get", team_id=team) == (404, "team_not_found")
    assert await lin.refused("team-member/get", team_id=team, user_id=rex.user_id) == (404, "member_not_found")
    assert await lin.refused("team-member/remove", team_id=team, user_id=rex.user_id) == (404, "member_not_found")

    await lin("team-member/add", team_id=team, user_id=rex.user_id)

    assert (await rex("agent/list", team_id=team, owner_user_id=rex.user_id))["total"] == 1


async def test_roles_are_given_by_administrators_and_not_to_oneself(lin: Any, new_user: Any, team: str) -> None:
    rex, eve = await new_user("rex"), await new_user("eve")
    await lin("team-member/add", team_id=team, user_id=rex.user_id)
    denied, there = (403, "permission_denied"), (409, "member_already_exists")

    assert await lin.refused("team-member/add", team_id=team, user_id=rex.user_id) == there
    assert await rex.refused("team-member/add", team_id=team, user_id=eve.user_id) == denied
    assert await lin.refused("team-member/add", team_id=team, user_id="usr-none") == (404, "user_not_found")
    assert await lin.refused("team-member/add", team_id=team, user_id=lin.user_id, role="member") == denied
    changed = await lin("team-member/add", team_id=team, user_id=rex.user_id, role="admin")
    assert changed["role"] == "admin"
    assert await rex.refused("team-member/add", team_id=team, user_id=lin.user_id, role="reviewer") == denied
    assert await rex.refused("team-member/remove", team_id=team, user_id=lin.user_id) == denied
    assert (await rex("team-member/add", team_id=team, user_id=eve.user_id, role="reviewer"))["role"] == "reviewer"


async def test_a_team_goes_with_its_agents_their_memory_tasks_and_assets(
    admin: Any, lin: Any, new_user: Any, team: str
) -> None:
    rex = await new_user("rex")
    await lin("team-member/add", team_id=team, user_id=rex.user_id, role="reviewer")
    agent = await lin("agent/create", team_id=team, owner_user_id=lin.user_id, name="cook")
    task = await lin("task/create", team_id=team, creator_user_id=lin.user_id, title="bake")
    scope = {"team_id": team, "agent_id": agent["agent_id"], "user_id": lin.user_id}
    headers = {"authorization": "Bearer local", "x-tdai-service-id": "default"}

    async def data(route: str, **body: Any) -> Any:
        answer = await lin.http.post(f"/v3/{route}", json={**scope, **body}, headers=headers)
        return answer.json()["data"]

    await data("conversation/add", session_id="s", messages=[{"role": "user", "content": "no peanuts"}])
    assert (await data("conversation/count"))["total"] == 1
    assert await rex.refused("team/delete", team_ids=[team]) == (403, "permission_denied")

    assert await lin("team/delete", team_ids=[team]) == {"deleted_ids": [team], "failed": []}

    assert (await data("conversation/count"))["total"] == 0
    assert await admin.refused("team/get", team_id=team) == (404, "team_not_found")
    assert await admin.refused("agent/get", agent_id=agent["agent_id"]) == (404, "agent_not_found")
    assert await admin.refused("task/get", task_id=task["task_id"]) == (404, "task_not_found")
    asset = f"chat_memory-{team}-{agent['agent_id']}"
    assert await admin.refused("asset/get", asset_id=asset) == (404, "asset_not_found")


async def test_a_team_whose_owner_is_gone_is_run_by_the_system_administrator(admin: Any, lin: Any, team: str) -> None:
    await admin("user/delete", user_ids=[lin.user_id])

    assert (await admin("team/update", team_id=team, name="left behind"))["owner_user_id"] == lin.user_id
    assert (await admin("team/delete", team_ids=[team]))["deleted_ids"] == [team]
