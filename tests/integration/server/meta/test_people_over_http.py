"""Users over HTTP: who may add, see and remove whom, and the key that is shown once."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


async def test_the_administrator_adds_a_user_and_is_shown_the_key_once(admin: Any) -> None:
    made = await admin("user/create", username="lin")

    assert set(made) == {"user_id", "user_type", "created_at", "default_user_key"}
    assert re.fullmatch(r"usr-[a-z0-9]{10}", made["user_id"])
    assert re.fullmatch(ISO, made["created_at"])
    assert re.fullmatch(r"sk-mem-[A-Za-z0-9_-]{32}", made["default_user_key"])
    found = await admin("user/get", user_id=made["user_id"])
    assert found == {
        "user_id": made["user_id"],
        "user_type": "normal",
        "username": "lin",
        "created_at": made["created_at"],
    }


async def test_a_user_id_may_be_chosen_once(admin: Any) -> None:
    made = await admin("user/create", username="lin", user_id="usr-chosen")

    assert made["user_id"] == "usr-chosen"
    assert await admin.refused("user/create", username="rex", user_id="usr-chosen") == (409, "duplicate_entry")


@pytest.mark.parametrize(
    "key", ["short", "fifteen-letters", "sixteen letters 1", "密钥密钥密钥密钥密钥密钥密钥密钥", "k" * 513]
)
async def test_a_chosen_key_is_long_and_can_travel_in_a_header(admin: Any, key: str) -> None:
    assert await admin.refused("user/create-with-key", username="lin", user_key=key) == (400, "invalid_request")


async def test_a_chosen_key_opens_the_door_and_belongs_to_one_user(admin: Any) -> None:
    made = await admin("user/create-with-key", username="lin", user_key="my-own-long-key-1")

    assert made["default_user_key"] == "my-own-long-key-1"
    verified = await admin("auth/verify", user_key="my-own-long-key-1")
    assert verified["user"]["user_id"] == made["user_id"]
    again = await admin.refused("user/create-with-key", username="rex", user_key="my-own-long-key-1")
    assert again == (409, "duplicate_user_key")
    assert (await admin("user/list"))["total"] == 2


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("user/create", {"username": "x"}),
        ("user/create-with-key", {"username": "x", "user_key": "a-long-enough-key"}),
        ("user/delete", {"user_ids": ["usr-1"]}),
    ],
)
async def test_only_the_administrator_adds_and_removes_users(lin: Any, route: str, body: dict[str, Any]) -> None:
    assert await lin.refused(route, **body) == (403, "permission_denied")


async def test_a_user_sees_oneself_by_id_and_by_key_and_nobody_else(admin: Any, lin: Any, new_user: Any) -> None:
    rex = await new_user("rex")

    assert (await lin("user/get", user_id=lin.user_id))["username"] == "lin"
    assert (await lin("user/get", user_key=lin.key))["username"] == "lin"
    for asked in ({"user_id": rex.user_id}, {"user_key": rex.key}, {"user_id": "usr-none"}, {"user_key": "sk-mem-x"}):
        assert await lin.refused("user/get", **asked) == (404, "user_not_found")
    assert (await admin("user/get", user_key=rex.key))["username"] == "rex"
    assert await lin.refused("user/get") == (400, "invalid_request")


async def test_users_are_listed_newest_first_in_pages_with_the_total(admin: Any, new_user: Any) -> None:
    people = [await new_user(name) for name in ("lin", "rex", "ada")]

    page = await admin("user/list", limit="2", offset="1")

    assert page["total"] == 4
    assert (page["limit"], page["offset"]) == (2, 1)
    everybody = await admin("user/list")
    assert page["items"] == everybody["items"][1:3]
    assert {one["user_id"] for one in everybody["items"]} == {admin.user_id, *(one.user_id for one in people)}
    assert (await admin("user/list", username="rex"))["total"] == 1
    assert (await admin("user/list", user_ids=[people[0].user_id, "usr-none"]))["total"] == 1
    assert (await admin("user/list", user_ids=[]))["total"] == 0


async def test_a_list_of_users_depends_on_who_asks(lin: Any, new_user: Any, team: str) -> None:
    rex, eve = await new_user("rex"), await new_user("eve")
    await lin("team-member/add", team_id=team, user_id=rex.user_id)

    assert {one["username"] for one in (await lin("user/list", team_id=team))["items"]} == {"lin", "rex"}
    assert (await lin("user/list", team_id=team, username="rex"))["total"] == 1
    own = await rex("user/list", team_id=team)
    assert ([one["username"] for one in own["items"]], own["total"]) == (["rex"], 1)
    assert await rex.refused("user/list", team_id=team, username="lin") == (400, "filter_not_allowed")
    assert await rex.refused("user/list", team_id=team, user_ids=[lin.user_id]) == (400, "filter_not_allowed")
    assert await rex.refused("user/list") == (400, "missing_team_id")
    assert await eve.refused("user/list", team_id=team) == (404, "team_not_found")


async def test_a_removed_user_is_out_everywhere_at_once(admin: Any, lin: Any, new_user: Any, team: str) -> None:
    rex = await new_user("rex")
    await lin("team-member/add", team_id=team, user_id=rex.user_id)
    assert (await rex("team/get", team_id=team))["name"] == "kitchen"

    gone = await admin("user/delete", user_ids=[rex.user_id, "usr-none", rex.user_id])

    assert gone == {"deleted_ids": [rex.user_id], "failed": [{"id": "usr-none", "reason": "user_not_found"}]}
    assert await rex.refused("team/get", team_id=team) == (401, "unauthorized")
    assert [one["user_id"] for one in (await lin("team-member/list", team_id=team))["items"]] == [lin.user_id]


async def test_the_administrator_cannot_be_removed_nor_anybody_with_them(admin: Any, lin: Any) -> None:
    refused = await admin.refused("user/delete", user_ids=[lin.user_id, admin.user_id])

    assert refused == (409, "last_system_admin")
    assert (await lin("user/get", user_id=lin.user_id))["username"] == "lin"


async def test_a_key_is_verified_without_a_key(http: httpx.AsyncClient, lin: Any) -> None:
    async def verify(key: str, instance: str = "default") -> Any:
        headers = {"x-tdai-service-id": instance}
        return (await http.post("/v3/meta/auth/verify", json={"user_key": key}, headers=headers)).json()

    answer = await verify(lin.key)
    assert (answer["code"], answer["data"]["valid"]) == (0, True)
    assert set(answer["data"]["user"]) == {"user_id", "user_type", "username", "created_at"}
    for wrong in (await verify("sk-mem-nobody"), await verify(lin.key, "other")):
        assert (wrong["code"], wrong["data"]) == (0, {"valid": False, "user": None})


async def test_an_instance_is_initialised_once_and_has_a_team_and_an_agent(admin: Any) -> None:
    again = await admin.http.post(
        "/v3/internal/meta/user/init-admin", json={"username": "eve", "instance_id": "default"}
    )

    assert (again.status_code, again.json()["message"].partition(":")[0]) == (409, "already_initialized")
    teams = await admin("team/list", user_id=admin.user_id)
    assert [one["name"] for one in teams["items"]] == ["default-team"]
    agents = await admin("agent/list", team_id=teams["items"][0]["team_id"])
    assert [one["name"] for one in agents["items"]] == ["default-agent-root"]


async def test_the_operator_lists_the_users_of_an_instance_in_full(http: httpx.AsyncClient, lin: Any) -> None:
    async def users(**body: Any) -> Any:
        answer = await http.post("/v3/internal/meta/user/list-by-instance", json={"instance_id": "default", **body})
        return answer.json()["data"]

    found = await users(user_type="normal")

    assert found["total"] == 1
    row = found["items"][0]
    assert (row["user_id"], row["status"]) == (lin.user_id, "active")
    assert {"auth_provider", "external_id", "display_name", "email", "raw_profile_json", "metadata_json"} <= set(row)
    assert (await users())["total"] == 2
    assert (await users(status="inactive"))["total"] == 0
    assert (await users(user_ids=[lin.user_id]))["total"] == 1
    assert (await users(instance_id="other"))["total"] == 0


async def test_instances_know_nothing_of_each_others_people(admin: Any, lin: Any, new_admin: Any, team: str) -> None:
    other = await new_admin("other")

    assert (await other("user/list"))["total"] == 1
    assert await other.refused("user/get", user_id=lin.user_id) == (404, "user_not_found")
    assert await other.refused("team/get", team_id=team) == (404, "team_not_found")
    assert (await other("user/delete", user_ids=[lin.user_id]))["deleted_ids"] == []
    assert (await admin("user/list"))["total"] == 2


@pytest.mark.parametrize(
    "user_id", ["", " ", "u" * 513, 5, ["usr-1"]], ids=["empty", "blank", "huge", "a number", "a list"]
)
async def test_an_id_that_is_none_is_refused(admin: Any, user_id: Any) -> None:
    assert await admin.refused("user/create", username="lin", user_id=user_id) == (400, "invalid_request")
