"""The trail over HTTP: who acted by which key, one row for each change of the directory, and who may read it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from memstrata.records.audit import mark
from memstrata.server.routes import META_ROUTES

READING = ("/get", "/list", "/check", "/verify", "/list-accessible", "/list-with-detail", "/summary-by-agents")
USED = ("/list-by-instance", "/touch-usage")  # that an asset was used is no change of it
ELSEWHERE = ("/v3/meta/user-key/", "/v3/internal/")  # in the other tests
BEARER = {"authorization": "Bearer sesame", "x-tdai-service-id": "default"}


@dataclass
class House:
    """A server with a gateway key, its administrator and the user lin."""

    http: httpx.AsyncClient
    keys: Mapping[str, str]

    async def data(self, path: str, body: Mapping[str, Any] | None = None, who: str = "") -> Any:
        headers = BEARER | ({"x-tdai-user-key": self.keys[who]} if who else {})
        response = await self.http.post(path, json=body or {}, headers=headers)
        assert response.status_code == 200, (path, response.text)
        return response.json()["data"]

    async def rows(self, **asked: Any) -> list[dict[str, Any]]:
        items = (await self.data("/v3/audit/list", {"limit": 100, **asked}))["items"]
        assert isinstance(items, list)
        return items


@pytest.fixture
async def house(start: Callable[..., AbstractAsyncContextManager[str]]) -> AsyncIterator[House]:
    async with start(api_key="sesame") as url, httpx.AsyncClient(base_url=url) as http:
        keys: dict[str, str] = {}
        found = House(http, keys)
        root = await found.data("/v3/internal/meta/user/init-admin", {"username": "root"})
        keys["root"] = root["user_key"]
        made = await found.data("/v3/meta/user/create", {"username": "lin", "user_id": "lin"}, "root")
        keys["lin"] = made["default_user_key"]
        yield found


async def test_the_key_decides_who_acted(house: House) -> None:
    team = await house.data("/v3/meta/team/create", {"name": "home", "owner_user_id": "lin"}, "lin")
    new = {"team_id": team["team_id"], "owner_user_id": "lin", "name": "a"}
    agent = await house.data("/v3/meta/agent/create", new, "lin")
    said = {
        "team_id": team["team_id"],
        "agent_id": agent["agent_id"],
        "user_id": "lin",
        "session_id": "s",
        "messages": [{"role": "user", "content": "I drink tea"}],
    }
    await house.data("/v3/conversation/add", said, "lin")
    await house.data("/v3/conversation/add", said)

    by_gateway, by_lin = await house.rows(action="message.add")
    assert (by_gateway["actor"], by_lin["actor"]) == ("gateway", f"user:{mark('default', 'lin')}")
    assert by_lin["team_id"] == team["team_id"]
    assert by_lin["user"] == by_gateway["user"] == mark("default", "lin")
    assert [row["actor"] for row in await house.rows(action="instance.init")] == ["gateway"]


async def test_the_use_of_a_key_is_told_once_a_minute_and_its_making_and_end_each_time(house: House) -> None:
    made = await house.data("/v3/meta/user-key/create", {"name": "second"}, "lin")
    for _ in range(5):
        await house.data("/v3/meta/user-key/list", {}, "lin")
    await house.data("/v3/meta/user-key/update", {"key_id": made["key_id"], "name": "other"}, "lin")
    await house.data("/v3/meta/user-key/revoke", {"key_id": made["key_id"]}, "lin")

    rows = [row for row in await house.rows(action="key.") if row["actor"] == f"user:{mark('default', 'lin')}"]
    assert [row["action"] for row in rows] == ["key.revoke", "key.update", "key.create", "key.use"]
    assert [row["subject"]["key"] for row in rows[:3]] == [[made["key_id"]]] * 3


async def test_each_change_of_the_directory_leaves_one_row(house: House) -> None:
    asked: set[str] = set()

    async def done(action: str, path: str, body: Mapping[str, Any], who: str = "lin") -> Any:
        asked.add(f"/v3/meta/{path}")
        before = await house.rows()
        data = await house.data(f"/v3/meta/{path}", body, who)
        new = [row for row in await house.rows() if row["seq"] > before[0]["seq"] and row["action"] != "key.use"]
        assert [row["action"] for row in new] == [action], path
        return data

    team = (await done("team.create", "team/create", {"name": "t", "owner_user_id": "lin"}))["team_id"]
    await done("team.update", "team/update", {"team_id": team, "name": "moonpetal"})
    await done("user.create", "user/create", {"username": "mia", "user_id": "mia"}, "root")
    await done("user.create", "user/create-with-key", {"username": "ann", "user_key": "sk-mem-" + "a" * 32}, "root")
    await done("member.put", "team-member/add", {"team_id": team, "user_id": "mia"})
    new = {"team_id": team, "owner_user_id": "lin", "name": "a"}
    agent = (await done("agent.create", "agent/create", new))["agent_id"]
    await done("agent.update", "agent/update", {"agent_id": agent, "name": "moonpetal"})
    asset = {"asset_id": "moonpetal", "asset_type": "skill", "source_type": "manual", **new}
    await done("asset.create", "asset/create", asset)
    await done("asset.update", "asset/update", {"asset_id": "moonpetal", "name": "b"})
    bound = [{"asset_id": "moonpetal", "asset_type": "skill"}]
    await done("binding.add", "agent-fixed-asset/set", {"agent_id": agent, "bindings": bound, "mode": "add"})
    granted = {"asset_id": "moonpetal", "subject_type": "user", "subject_id": "mia", "permission": "read"}
    grant = await done("acl.grant", "acl/grant", granted)
    await done("acl.revoke", "acl/revoke", {"id": grant["id"]})
    task = (await done("task.create", "task/create", {"team_id": team, "creator_user_id": "lin", "title": "t"}))[
        "task_id"
    ]
    await done("task.link", "task-agent/link", {"task_id": task, "agent_id": agent})
    await done("task.unlink", "task-agent/unlink", {"task_id": task, "agent_id": agent})
    line = {"team_id": team, "task_id": task, "agent_id": agent, "user_id": "lin"}
    await done("participation.append", "participation-log/append", line)
    await done("task.update", "task/archive", {"task_id": task})
    await done("task.update", "task/update", {"task_id": task, "title": "moonpetal"})
    await done("task.delete", "task/delete", {"task_ids": [task]})
    await done("asset.delete", "asset/delete", {"asset_ids": ["moonpetal"]})
    await done("agent.archive", "agent/archive", {"agent_id": agent})
    await done("agent.delete", "agent/delete", {"agent_ids": [agent]})
    await done("member.remove", "team-member/remove", {"team_id": team, "user_id": "mia"})
    await done("team.delete", "team/delete", {"team_ids": [team]})
    await done("user.delete", "user/delete", {"user_ids": ["mia"]}, "root")
    own = {"user_id": "lin", "module": "asset_type", "params": {"skill.enabled": "0"}}
    await done("configuration.set", "config/user/set", own)
    assert "moonpetal" not in str(await house.rows())
    changing = {route.path for route in META_ROUTES if not route.path.endswith(READING + USED)}
    assert changing - asked == {path for path in changing if path.startswith(ELSEWHERE)}


async def test_only_the_operator_reads_the_trail_and_of_the_own_instance(house: House) -> None:
    for path in ("/v3/audit/list", "/v3/audit/verify"):
        for who, status in (("", 200), ("root", 200), ("lin", 403)):
            headers = BEARER | ({"x-tdai-user-key": house.keys[who]} if who else {})
            assert (await house.http.post(path, json={}, headers=headers)).status_code == status, (path, who)
        other = await house.http.post(path, json={}, headers=BEARER | {"x-tdai-service-id": "other"})
        found = other.json()["data"]
        assert (found.get("items", []), found.get("rows", 0)) == ([], 0)


async def test_the_trail_is_verified_and_paged(house: House) -> None:
    verified = await house.data("/v3/audit/verify")
    rows = await house.rows()
    assert (verified["intact"], verified["broken_seq"], verified["head"]) == (True, None, "same")
    assert verified["rows"] == len(rows)

    seqs: list[int] = []
    before: int | None = None
    while True:
        asked = {"limit": 1} | ({"before": before} if before else {})
        page = await house.data("/v3/audit/list", asked)
        seqs += [row["seq"] for row in page["items"]]
        before = page["next_before"]
        if before is None:
            break
    assert seqs == [row["seq"] for row in rows]
    mine = await house.rows(user_id="lin", action="user.create")
    assert [row["subject"]["user"] for row in mine] == [[mark("default", "lin")]]
    assert await house.rows(user_id="lin", time_start="2999-01-01T00:00:00Z") == []
    refused = await house.http.post("/v3/audit/list", json={"user": "lin"}, headers=BEARER)
    assert refused.status_code == 400
