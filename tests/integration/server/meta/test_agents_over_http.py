"""`agent/*` as its clients see it: who may do what, and that an agent's memory comes and goes with it."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import httpx
import pytest

PLANE = {"team_id": "", "agent_id": "", "user_id": "lin", "session_id": "s1"}


async def made(home: Any, **given: Any) -> Any:
    """An agent of lin's in the team."""
    return await home.lin("agent/create", **{"team_id": home.team_id, "owner_user_id": "lin", "name": "厨师"} | given)


async def said(home: Any, agent: Any) -> int:
    """How many messages the agent's memory holds."""
    scope = {**PLANE, "team_id": agent["team_id"], "agent_id": agent["agent_id"]}
    answer = await home.client.post("/v3/conversation/query", json=scope)
    return int(answer.json()["data"]["total"])


async def say(home: Any, agent: Any) -> None:
    scope = {**PLANE, "team_id": agent["team_id"], "agent_id": agent["agent_id"]}
    messages = [{"role": "user", "content": "Remember: I live in Lisbon."}]
    answer = await home.client.post("/v3/conversation/add", json={**scope, "messages": messages})
    assert answer.status_code == 200, answer.text


async def created_raw(home: Any, metadata: bytes) -> httpx.Response:
    """Make an agent with metadata that is put into the body as it is."""
    body = b'{"owner_user_id": "lin", "name": "n", "team_id": "' + home.team_id.encode()
    body += b'", "metadata_json": ' + metadata + b"}"
    headers = {"x-tdai-user-key": home.lin.key}
    answer: httpx.Response = await home.client.post("/v3/meta/agent/create", content=body, headers=headers)
    return answer


def memory_id(agent: Any) -> str:
    return f"chat_memory-{agent['team_id']}-{agent['agent_id']}"


async def names(person: Any, **where: Any) -> tuple[list[str], int]:
    page = await person("agent/list", **where)
    return [one["name"] for one in page["items"]], page["total"]


async def test_an_agent_has_the_contracts_form_and_its_defaults(home: Any) -> None:
    agent = await made(home)

    assert list(agent) == [
        "agent_id",
        "team_id",
        "owner_user_id",
        "name",
        "description",
        "prompt",
        "visibility",
        "status",
        "created_at",
        "updated_at",
        "metadata_json",
    ]
    assert re.fullmatch(r"agt-[a-z0-9]{10}", agent["agent_id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", agent["created_at"])
    assert (agent["visibility"], agent["status"], agent["prompt"], agent["metadata_json"]) == (
        "team",
        "active",
        "",
        None,
    )
    assert await home.rex("agent/get", agent_id=agent["agent_id"]) == agent


async def test_an_agent_comes_with_a_private_memory_that_is_bound_to_it(home: Any) -> None:
    agent = await made(home)

    asset = await home.lin("asset/get", asset_id=memory_id(agent))
    assert (asset["asset_type"], asset["visibility"], asset["owner_user_id"]) == ("chat_memory", "private", "lin")
    bound = await home.lin("agent-fixed-asset/list", agent_id=agent["agent_id"])
    (binding,) = bound["items"]
    assert (binding["asset_id"], binding["injection_mode"], binding["priority"]) == (memory_id(agent), "summary", 50)


@pytest.mark.parametrize("metadata", ['"{\\"a\\": 1}"', '{"b": [1.50, null], "a": "\\u53a8"}', "7", "[]", "false"])
async def test_metadata_comes_back_byte_by_byte_as_it_was_given(home: Any, metadata: str) -> None:
    answer = await created_raw(home, metadata.encode())

    assert answer.json()["data"]["metadata_json"] == json.loads(metadata)
    assert f'"metadata_json":{metadata}' in answer.text
    agent_id = answer.json()["data"]["agent_id"]
    changed = await home.lin("agent/update", agent_id=agent_id, name="m")
    assert changed["metadata_json"] == json.loads(metadata)


@pytest.mark.parametrize("metadata", ['"\\q"', '"\xff"', "[" * 100_000 + "]" * 100_000])
async def test_metadata_that_no_reader_could_read_is_refused(home: Any, metadata: str) -> None:
    answer = await created_raw(home, metadata.encode("latin-1"))

    assert answer.status_code == 400, answer.text
    assert answer.json()["message"].startswith("invalid_request: ")


async def test_agents_are_made_by_active_members_in_their_own_name(home: Any) -> None:
    agent = {"team_id": home.team_id, "owner_user_id": "rex", "name": "n"}

    assert await home.lin.refused("agent/create", **agent) == (403, "permission_denied")
    assert await home.ann.refused("agent/create", **{**agent, "owner_user_id": "ann"}) == (404, "team_not_found")
    assert await home.root.refused("agent/create", **{**agent, "owner_user_id": home.root.user_id}) == (
        403,
        "permission_denied",
    )
    assert await home.rex.refused("agent/create", **{**agent, "name": " "}) == (400, "invalid_request")
    assert await home.rex.refused("agent/create", **{**agent, "visibility": "open"}) == (400, "invalid_request")
    await home.rex("agent/create", **agent)
    await home.lin("team-member/remove", team_id=home.team_id, user_id="rex")
    assert await home.rex.refused("agent/create", **agent) == (404, "team_not_found")


async def test_who_may_not_see_an_agent_is_told_that_there_is_none(home: Any) -> None:
    team = await made(home)
    private = await made(home, visibility="private")

    assert (await home.rex("agent/get", agent_id=team["agent_id"]))["name"] == "厨师"
    assert (await home.root("agent/get", agent_id=private["agent_id"]))["name"] == "厨师"
    for person, agent in ((home.ann, team), (home.rex, private), (home.mia, private)):
        for route in ("agent/get", "agent/update", "agent/archive"):
            assert await person.refused(route, agent_id=agent["agent_id"]) == (404, "agent_not_found")
        batch = await person("agent/delete", agent_ids=[agent["agent_id"]])
        assert batch == {"deleted_ids": [], "failed": [{"id": agent["agent_id"], "reason": "agent_not_found"}]}


@pytest.mark.parametrize(
    ("agent_id", "status"),
    [(b"agt-\\ud800", 404), (b"\\u0000", 404), (b"a' OR 1=1 --", 404), (b"a" * 513, 400), (b"", 400)],
)
async def test_a_hostile_id_is_an_unknown_one_or_none(home: Any, agent_id: bytes, status: int) -> None:
    headers = {"x-tdai-user-key": home.lin.key}
    body = b'{"agent_id": "' + agent_id + b'"}'
    answer = await home.client.post("/v3/meta/agent/get", content=body, headers=headers)

    assert answer.status_code == status, answer.text


async def test_only_its_owner_changes_an_agent(home: Any) -> None:
    agent = await made(home)

    for person in (home.rex, home.mia, home.root):
        for route in ("agent/update", "agent/archive"):
            assert await person.refused(route, agent_id=agent["agent_id"], name="x") == (403, "permission_denied")
        assert await person.refused("agent/delete", agent_ids=[agent["agent_id"]]) == (403, "permission_denied")
    changed = await home.lin(
        "agent/update",
        agent_id=agent["agent_id"],
        description="d",
        prompt="p",
        visibility="restricted",
        status="inactive",
    )
    kept = {"updated_at": changed["updated_at"], "description": "d", "prompt": "p"}
    assert changed == agent | kept | {"visibility": "restricted", "status": "inactive"}


async def test_what_a_removed_user_left_is_decided_about_by_who_runs_the_team(home: Any) -> None:
    agent = await made(home)
    await home.rex("agent/create", team_id=home.team_id, owner_user_id="rex", name="rex's")
    await home.root("user/delete", user_ids=["rex"])
    (left,) = (await home.mia("agent/list", team_id=home.team_id, owner_user_id="rex", name="rex's"))["items"]

    assert (await home.mia("agent/archive", agent_id=left["agent_id"]))["status"] == "inactive"
    assert (await home.root("agent/delete", agent_ids=[left["agent_id"]]))["deleted_ids"] == [left["agent_id"]]
    assert await home.mia.refused("agent/archive", agent_id=agent["agent_id"]) == (403, "permission_denied")


async def test_lists_show_and_count_what_the_caller_may_see(home: Any) -> None:
    await home.lin("agent/delete", agent_ids=[one["agent_id"] for one in await default_agents(home, home.lin)])
    for name, visibility in (("one", "team"), ("two", "private"), ("three", "restricted")):
        await made(home, name=name, visibility=visibility)
    in_team = {"team_id": home.team_id, "owner_user_id": "lin"}

    assert await names(home.lin, **in_team) == (["three", "two", "one"], 3)
    assert await names(home.root, **in_team) == (["three", "two", "one"], 3)
    assert await names(home.mia, **in_team) == (["three", "one"], 2)
    assert await names(home.rex, **in_team) == (["one"], 1)
    assert await names(home.ann, owner_user_id="lin") == ([], 0)
    assert await names(home.rex, owner_user_key=home.lin.key) == (["one"], 1)
    assert await names(home.lin, **in_team, limit="1", offset="1") == (["two"], 3)
    assert await names(home.lin, **in_team, name="two", status="active") == (["two"], 1)
    assert await home.ann.refused("agent/list", team_id=home.team_id) == (404, "team_not_found")
    assert await home.lin.refused("agent/list") == (400, "missing_team_id")
    assert await home.lin.refused("agent/list", owner_user_key="sk-mem-none") == (404, "user_not_found")


async def test_a_restricted_agent_is_seen_by_whom_its_memory_is_granted_to(home: Any) -> None:
    agent = await made(home, visibility="restricted")
    assert await home.rex.refused("agent/get", agent_id=agent["agent_id"]) == (404, "agent_not_found")

    grant = {"subject_type": "user", "subject_id": "rex", "permission": "use", "effect": "allow", "granted_by": "lin"}
    row = await home.lin("acl/grant", asset_id=memory_id(agent), **grant)
    assert await home.rex("agent/get", agent_id=agent["agent_id"]) == agent

    await home.lin("acl/revoke", id=row["id"])
    assert await home.rex.refused("agent/get", agent_id=agent["agent_id"]) == (404, "agent_not_found")


async def test_archiving_empties_the_memory_and_keeps_the_agent(home: Any) -> None:
    agent, other = await made(home), await made(home)
    for one in (agent, other):
        await say(home, one)
    archived = await home.lin("agent/archive", agent_id=agent["agent_id"])

    assert archived == agent | {"status": "inactive", "updated_at": archived["updated_at"]}
    assert (await said(home, agent), await said(home, other)) == (0, 1)
    assert await home.lin.refused("asset/get", asset_id=memory_id(agent)) == (404, "asset_not_found")
    assert (await home.lin("agent-fixed-asset/list", agent_id=agent["agent_id"]))["total"] == 0
    assert (await home.lin("agent/archive", agent_id=agent["agent_id"]))["status"] == "inactive"


async def test_an_agent_that_is_active_again_has_a_memory_again(home: Any) -> None:
    agent = await made(home)
    await home.lin("agent/archive", agent_id=agent["agent_id"])
    await home.lin("agent/update", agent_id=agent["agent_id"], status="active")

    assert (await home.lin("asset/get", asset_id=memory_id(agent)))["visibility"] == "private"
    assert (await home.lin("agent-fixed-asset/list", agent_id=agent["agent_id"]))["total"] == 1


async def test_deleting_takes_memory_asset_links_and_log_along(home: Any) -> None:
    agent = await made(home)
    await say(home, agent)
    parts = [{"agent_id": agent["agent_id"]}]
    task = await home.lin("task/create", team_id=home.team_id, creator_user_id="lin", title="t", linked_agents=parts)
    ids = {"team_id": home.team_id, "task_id": task["task_id"]}
    await home.lin("participation-log/append", **ids, agent_id=agent["agent_id"], user_id="lin")

    batch = await home.lin("agent/delete", agent_ids=[agent["agent_id"], "agt-none", agent["agent_id"]])

    assert batch == {
        "deleted_ids": [agent["agent_id"]],
        "failed": [{"id": "agt-none", "reason": "agent_not_found"}],
    }
    assert await said(home, agent) == 0
    assert await home.root.refused("agent/get", agent_id=agent["agent_id"]) == (404, "agent_not_found")
    assert await home.root.refused("asset/get", asset_id=memory_id(agent)) == (404, "asset_not_found")
    assert (await home.lin("task-agent/list", task_id=task["task_id"]))["total"] == 0
    assert (await home.lin("participation-log/list", team_id=home.team_id))["total"] == 0


async def test_one_agent_of_somebody_else_keeps_the_whole_batch_from_going(home: Any) -> None:
    mine = await home.rex("agent/create", team_id=home.team_id, owner_user_id="rex", name="mine")
    theirs = await made(home)

    batch = [mine["agent_id"], theirs["agent_id"]]
    assert await home.rex.refused("agent/delete", agent_ids=batch) == (403, "permission_denied")
    assert await home.rex("agent/get", agent_id=mine["agent_id"]) == mine
    assert await home.rex.refused("agent/delete", agent_ids=[]) == (400, "invalid_request")


async def test_clearing_a_memory_reaches_the_agent_that_the_directory_knows(home: Any) -> None:
    """Read as text alone, the id could be that of another team's agent as well."""
    agent = await made(home)
    first, _, rest = memory_id(agent).removeprefix("chat_memory-").partition("-")
    namesake = {"team_id": first, "agent_id": rest}
    for one in (agent, namesake):
        await say(home, one)

    answer = await home.client.post("/v3/chat-memory/clear", json={"memory_ids": [memory_id(agent)]})

    assert answer.json()["data"]["all_cleared"], answer.text
    assert (await said(home, agent), await said(home, namesake)) == (0, 1)


async def test_clearing_what_is_no_chat_memory_is_refused(home: Any) -> None:
    asset = {"asset_id": "ast-1", "team_id": home.team_id, "asset_type": "skill", "name": "s", "source_type": "manual"}
    await home.lin("asset/create", **asset, owner_user_id="lin")

    answer = await home.client.post("/v3/chat-memory/clear", json={"memory_ids": ["ast-1"]})
    assert (answer.status_code, answer.json()["message"].partition(":")[0]) == (400, "asset_type_mismatch")


async def test_the_administrator_of_another_instance_finds_nothing(home: Any, new_admin: Any) -> None:
    other = await new_admin("other")
    agent = await made(home)
    task = await home.lin("task/create", team_id=home.team_id, creator_user_id="lin", title="t")

    assert await other.refused("agent/get", agent_id=agent["agent_id"]) == (404, "agent_not_found")
    assert await other.refused("task/get", task_id=task["task_id"]) == (404, "task_not_found")
    assert await other.refused("participation-log/list", team_id=home.team_id) == (404, "team_not_found")
    assert await names(other, owner_user_id="lin") == ([], 0)
    assert (await other("agent/delete", agent_ids=[agent["agent_id"]]))["deleted_ids"] == []
    assert await home.lin("agent/get", agent_id=agent["agent_id"]) == agent


async def test_agents_made_at_once_all_get_ids_of_their_own(home: Any) -> None:
    agents = await asyncio.gather(*(made(home, name=f"a{number}") for number in range(30)))

    assert len({one["agent_id"] for one in agents}) == 30


async def default_agents(home: Any, person: Any) -> Any:
    """What a member got when they joined."""
    page = await person("agent/list", team_id=home.team_id, owner_user_id=person.user_id)
    return page["items"] or [{"agent_id": "agt-none"}]
