"""`asset/*`, `agent-fixed-asset/*` and `acl/*` as clients see them: the contract's fields, ids and codes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@dataclass(frozen=True)
class Kitchen:
    """A team: lin owns it, mia and rex are members of it, and zoe is not."""

    team_id: str
    lin: Any
    mia: Any
    rex: Any
    zoe: Any

    async def asset(self, asset_id: str = "skl-1", owner: Any = None, **given: Any) -> str:
        person = owner or self.lin
        usual = {"team_id": self.team_id, "asset_type": "skill", "name": "菜谱", "source_type": "manual"}
        await person("asset/create", asset_id=asset_id, owner_user_id=person.user_id, **{**usual, **given})
        return asset_id

    async def agent(self, owner: Any = None, **given: Any) -> str:
        person = owner or self.lin
        made = await person("agent/create", team_id=self.team_id, owner_user_id=person.user_id, name="cook", **given)
        return str(made["agent_id"])

    def memory(self, agent_id: str) -> str:
        return f"chat_memory-{self.team_id}-{agent_id}"


@pytest.fixture
async def kitchen(new_user: Callable[[str], Awaitable[Any]]) -> Kitchen:
    lin, mia, rex, zoe = [await new_user(name) for name in ("lin", "mia", "rex", "zoe")]
    team_id = (await lin("team/create", name="kitchen", owner_user_id=lin.user_id))["team_id"]
    for person in (mia, rex):
        await lin("team-member/add", team_id=team_id, user_id=person.user_id)
    return Kitchen(team_id, lin, mia, rex, zoe)


def skill(asset_id: str, **given: Any) -> dict[str, Any]:
    return {"asset_id": asset_id, "asset_type": "skill", **given}


def memory(asset_id: str) -> dict[str, Any]:
    return {"asset_id": asset_id, "asset_type": "chat_memory"}


async def test_an_asset_has_the_contracts_form_and_changes_by_its_owner(kitchen: Kitchen) -> None:
    lin = kitchen.lin
    made = await lin(
        "asset/create",
        asset_id="skl-1",
        team_id=kitchen.team_id,
        asset_type="skill",
        name="菜谱",
        owner_user_id=lin.user_id,
        source_type="manual",
        confidence=0.5,
        expires_at="2999-01-01T00:00:00+08:00",
        metadata_json='{"a":1}',
    )
    assert re.fullmatch(ISO, made["created_at"])
    assert made == {
        "asset_id": "skl-1",
        "team_id": kitchen.team_id,
        "asset_type": "skill",
        "name": "菜谱",
        "description": "",
        "owner_user_id": lin.user_id,
        "source_type": "manual",
        "source_ref": "",
        "version": 1,
        "visibility": "team",
        "status": "draft",
        "confidence": 0.5,
        "expires_at": "2999-01-01T00:00:00+08:00",
        "last_used_at": None,
        "usage_count": 0,
        "content_ref": "",
        "created_at": made["created_at"],
        "updated_at": made["created_at"],
        "metadata_json": '{"a":1}',
    }
    assert await kitchen.mia("asset/get", asset_id="skl-1") == made
    changed = await lin("asset/update", asset_id="skl-1", name="tea", version="2", status="active", expires_at="")
    assert (changed["name"], changed["version"], changed["status"], changed["expires_at"]) == ("tea", 2, "active", None)
    assert changed["metadata_json"] == '{"a":1}'
    assert await lin("asset/touch-usage", asset_id="skl-1") == {"ok": True}
    used = await lin("asset/get", asset_id="skl-1")
    assert used["usage_count"] == 1
    assert re.fullmatch(ISO, used["last_used_at"])
    assert await lin("asset/delete", asset_ids=["skl-1", "missing"]) == {
        "deleted_ids": ["skl-1", "missing"],
        "failed": [],
    }
    assert await lin.refused("asset/get", asset_id="skl-1") == (404, "asset_not_found")


async def test_only_members_register_assets_and_in_their_own_name_once(kitchen: Kitchen) -> None:
    body = {"asset_id": "skl-1", "team_id": kitchen.team_id, "asset_type": "skill", "name": "n", "source_type": "m"}
    lin, mia, zoe = kitchen.lin, kitchen.mia, kitchen.zoe

    assert await mia.refused("asset/create", **body, owner_user_id=lin.user_id) == (403, "permission_denied")
    assert await zoe.refused("asset/create", **body, owner_user_id=zoe.user_id) == (404, "team_not_found")
    await lin("asset/create", **body, owner_user_id=lin.user_id)
    assert await mia.refused("asset/create", **body, owner_user_id=mia.user_id) == (409, "duplicate_entry")
    for mistake in (
        {"asset_type": "recipe"},
        {"expires_at": "some day"},
        {"asset_id": " "},
        {"asset_id": ""},
        {"name": ""},
        {"visibility": "public"},
        {"confidence": "high"},
    ):
        refused = await mia.refused("asset/create", **{**body, "owner_user_id": mia.user_id, **mistake})
        assert refused == (400, "invalid_request"), mistake


async def test_who_may_not_read_an_asset_is_told_that_there_is_none(kitchen: Kitchen, admin: Any) -> None:
    await kitchen.asset(visibility="private")

    for person in (kitchen.mia, kitchen.zoe):
        for route in ("asset/get", "asset/touch-usage", "asset/update", "acl/list"):
            assert await person.refused(route, asset_id="skl-1") == (404, "asset_not_found")
        given = {"subject_type": "user", "subject_id": person.user_id, "permission": "read"}
        assert await person.refused("acl/grant", asset_id="skl-1", **given) == (404, "asset_not_found")
        assert await person("asset/delete", asset_ids=["skl-1"]) == {"deleted_ids": ["skl-1"], "failed": []}
    assert (await admin("asset/get", asset_id="skl-1"))["asset_id"] == "skl-1"
    assert await kitchen.zoe.refused("asset/list", team_id=kitchen.team_id) == (404, "team_not_found")


async def test_who_may_read_an_asset_may_not_change_it(kitchen: Kitchen) -> None:
    await kitchen.asset()

    for route, body in (
        ("asset/update", {"asset_id": "skl-1", "name": "mine"}),
        ("asset/touch-usage", {"asset_id": "skl-1"}),
        ("asset/delete", {"asset_ids": ["skl-1"]}),
        ("acl/list", {"asset_id": "skl-1"}),
        (
            "acl/grant",
            {"asset_id": "skl-1", "subject_type": "team_role", "subject_id": "member", "permission": "write"},
        ),
    ):
        assert await kitchen.mia.refused(route, **body) == (403, "permission_denied"), route
    assert (await kitchen.lin("asset/get", asset_id="skl-1"))["name"] == "菜谱"


async def test_lists_show_and_count_what_their_reader_may_read(kitchen: Kitchen, admin: Any) -> None:
    await kitchen.asset("skl-1")
    await kitchen.asset("skl-2", visibility="private")
    await kitchen.asset("skl-3", owner=kitchen.mia, visibility="private")

    async def listed(person: Any, **given: Any) -> list[str]:
        page = await person("asset/list", team_id=kitchen.team_id, asset_type="skill", **given)
        assert page["total"] == len(page["items"])
        return sorted(one["asset_id"] for one in page["items"])

    assert await listed(kitchen.lin) == ["skl-1", "skl-2"]
    assert await listed(kitchen.mia) == ["skl-1", "skl-3"]
    assert await listed(kitchen.mia, visibility="private", owner_user_id=kitchen.mia.user_id) == ["skl-3"]
    assert await listed(admin) == ["skl-1", "skl-2", "skl-3"]
    accessible = await kitchen.mia(
        "asset/list-accessible", user_key=kitchen.mia.key, visibility=["team", "task"], limit=1
    )
    assert (accessible["total"], accessible["limit"], accessible["items"][0]["asset_id"]) == (1, 1, "skl-1")
    assert await kitchen.mia.refused("asset/list-accessible", user_id=kitchen.lin.user_id) == (403, "permission_denied")
    others = await admin("asset/list-accessible", user_id=kitchen.mia.user_id, asset_type="skill", action="write")
    assert [one["asset_id"] for one in others["items"]] == ["skl-3"]
    assert await kitchen.mia.refused("asset/list-accessible") == (400, "invalid_request")


async def test_a_kind_that_a_user_has_switched_off_is_not_offered(kitchen: Kitchen) -> None:
    await kitchen.asset("skl-1")
    agent_id = await kitchen.agent()
    await kitchen.lin("agent-fixed-asset/set", agent_id=agent_id, bindings=[skill("skl-1")])
    lin = kitchen.lin

    async def offered() -> tuple[set[str], set[str]]:
        accessible = await lin("asset/list-accessible", user_id=lin.user_id, team_id=kitchen.team_id)
        bound = await lin("agent-fixed-asset/list-with-detail", agent_id=agent_id)
        assert bound["total"] == len(bound["items"])
        return {one["asset_type"] for one in accessible["items"]}, {one["asset_type"] for one in bound["items"]}

    assert await offered() == ({"skill", "chat_memory"}, {"skill", "chat_memory"})
    await lin("config/user/set", user_id=lin.user_id, module="asset_type", params={"skill.enabled": "0"})
    assert await offered() == ({"chat_memory"}, {"chat_memory"})
    await lin("config/user/set", user_id=lin.user_id, module="asset_type", params={"skill.enabled": "1"})
    assert await offered() == ({"skill", "chat_memory"}, {"skill", "chat_memory"})


async def test_an_expired_asset_is_no_longer_given_to_anybody(kitchen: Kitchen) -> None:
    await kitchen.asset("skl-1")
    agent_id = await kitchen.agent()
    await kitchen.lin("agent-fixed-asset/set", agent_id=agent_id, bindings=[skill("skl-1")])
    await kitchen.lin("asset/update", asset_id="skl-1", expires_at="2020-01-01")

    assert await kitchen.mia.refused("asset/get", asset_id="skl-1") == (404, "asset_not_found")
    for person in (kitchen.lin, kitchen.mia):
        checked = await person("acl/check", user_id=person.user_id, asset_id="skl-1", action="read")
        assert checked == {"allowed": False, "reason": "asset_not_available"}
        bound = await person("agent-fixed-asset/list-with-detail", agent_id=agent_id)
        assert "skl-1" not in [one["asset_id"] for one in bound["items"]]
    assert (await kitchen.lin("asset/get", asset_id="skl-1"))["expires_at"] == "2020-01-01"


async def test_a_grant_lets_in_and_keeps_out_until_it_is_revoked(kitchen: Kitchen) -> None:
    lin, mia = kitchen.lin, kitchen.mia
    await kitchen.asset(visibility="restricted")
    whom = {"asset_id": "skl-1", "subject_type": "user", "subject_id": mia.user_id, "permission": "read"}
    question = {"user_id": mia.user_id, "asset_id": "skl-1", "action": "read"}

    assert await mia("acl/check", **question) == {"allowed": False, "reason": "visibility_restricted"}
    row = await lin("acl/grant", **whom, granted_by_key=lin.key)
    assert re.fullmatch(UUID, row["id"])
    assert row == {
        "id": row["id"],
        **whom,
        "effect": "allow",
        "granted_by": lin.user_id,
        "created_at": row["created_at"],
        "updated_at": row["created_at"],
    }
    assert await mia("acl/check", **question) == {"allowed": True, "reason": f"acl:{row['id']}"}
    assert (await mia("asset/get", asset_id="skl-1"))["asset_id"] == "skl-1"
    assert (await lin("acl/list", asset_id="skl-1"))["items"] == [row]
    denied = await lin("acl/grant", **whom, effect="deny", granted_by=lin.user_id)
    assert denied["id"] == row["id"]
    assert await mia("acl/check", **question) == {"allowed": False, "reason": f"acl_deny:{row['id']}"}
    assert await mia.refused("asset/get", asset_id="skl-1") == (404, "asset_not_found")
    assert await mia.refused("acl/revoke", id=row["id"]) == (404, "acl_not_found")
    assert await lin("acl/revoke", id=row["id"]) == {"ok": True}
    assert await lin.refused("acl/revoke", id=row["id"]) == (404, "acl_not_found")
    assert await mia("acl/check", **question) == {"allowed": False, "reason": "visibility_restricted"}


async def test_nobody_grants_in_another_name_or_to_what_is_not_there(kitchen: Kitchen) -> None:
    await kitchen.asset()
    body = {"asset_id": "skl-1", "permission": "read"}
    to_mia = {**body, "subject_type": "user", "subject_id": kitchen.mia.user_id}
    refused = kitchen.lin.refused

    assert await refused("acl/grant", **to_mia, granted_by=kitchen.mia.user_id) == (403, "permission_denied")
    assert await refused("acl/grant", **to_mia, granted_by_key=kitchen.mia.key) == (403, "permission_denied")
    assert await refused("acl/grant", **to_mia, granted_by_key="sk-mem-none") == (403, "permission_denied")
    assert await refused("acl/grant", **body, subject_type="user", subject_id="usr-x") == (404, "user_not_found")
    assert await refused("acl/grant", **body, subject_type="agent", subject_id="agt-x") == (404, "agent_not_found")
    assert await refused("acl/grant", **body, subject_type="team_role", subject_id="boss") == (400, "invalid_request")
    assert (await kitchen.lin("acl/list", asset_id="skl-1"))["total"] == 0


async def test_what_others_may_do_is_told_to_who_owns_the_asset_or_runs_the_team(kitchen: Kitchen, admin: Any) -> None:
    await kitchen.asset("skl-1", owner=kitchen.mia)
    about_rex = {"user_id": kitchen.rex.user_id, "asset_id": "skl-1", "action": "write"}
    answer = {"allowed": False, "reason": "no_permission"}

    for person in (kitchen.mia, kitchen.lin, admin, kitchen.rex):
        assert await person("acl/check", **about_rex) == answer
    assert await kitchen.zoe.refused("acl/check", **about_rex) == (403, "permission_denied")
    about_lin = {"user_id": kitchen.lin.user_id, "asset_id": "skl-1", "action": "write"}
    assert await kitchen.rex.refused("acl/check", **about_lin) == (403, "permission_denied")
    assert await admin.refused("acl/check", **about_rex, agent_id="agt-x") == (404, "agent_not_found")


async def test_an_agent_that_is_not_ones_own_to_use_opens_nothing(kitchen: Kitchen) -> None:
    agent_id = await kitchen.agent(visibility="private")
    await kitchen.asset(visibility="private")
    await kitchen.lin("acl/grant", asset_id="skl-1", subject_type="agent", subject_id=agent_id, permission="read")

    body = {"user_id": kitchen.mia.user_id, "agent_id": agent_id}
    assert await kitchen.mia.refused("acl/check", **body, asset_id="skl-1", action="read") == (404, "agent_not_found")
    assert await kitchen.mia.refused("asset/list-accessible", **body) == (404, "agent_not_found")


async def test_bindings_are_replaced_added_and_removed_and_the_agents_memory_stays(kitchen: Kitchen) -> None:
    lin = kitchen.lin
    agent_id = await kitchen.agent()
    own = kitchen.memory(agent_id)
    for number in range(30):
        await kitchen.asset(f"skl-{number:02}")

    async def bound() -> set[str]:
        first = await lin("agent-fixed-asset/list", agent_id=agent_id)
        rest = await lin("agent-fixed-asset/list", agent_id=agent_id, limit=100, offset=20)
        assert first["total"] == len(first["items"]) + len(rest["items"])
        return {one["asset_id"] for one in first["items"] + rest["items"]}

    all_of_them = [skill(f"skl-{number:02}") for number in range(29)]
    assert await lin("agent-fixed-asset/set", agent_id=agent_id, bindings=all_of_them) == {"ok": True}
    assert await bound() == {own, *(one["asset_id"] for one in all_of_them)}
    await lin("agent-fixed-asset/set", agent_id=agent_id, mode="add", bindings=[skill("skl-29")])
    assert len(await bound()) == 31
    await lin("agent-fixed-asset/set", agent_id=agent_id, mode="remove", bindings=[skill("skl-00"), memory(own)])
    assert await bound() == {own, *(f"skl-{number:02}" for number in range(1, 30))}
    one = skill("skl-07", injection_mode="tool", priority="9", created_by="somebody")
    await lin("agent-fixed-asset/set", agent_id=agent_id, bindings=[one])
    (row,) = [
        one for one in (await lin("agent-fixed-asset/list", agent_id=agent_id))["items"] if one["asset_id"] == "skl-07"
    ]
    assert re.fullmatch(UUID, row.pop("id"))
    assert re.fullmatch(ISO, row.pop("created_at"))
    assert row == {
        "agent_id": agent_id,
        "asset_id": "skl-07",
        "asset_type": "skill",
        "injection_mode": "tool",
        "priority": 9,
        "created_by": lin.user_id,
    }
    assert await bound() == {own, "skl-07"}


async def test_only_what_may_be_bound_is_bound(kitchen: Kitchen) -> None:
    lin, mia = kitchen.lin, kitchen.mia
    agent_id = await kitchen.agent()
    other_team = (await lin("team/create", name="bar", owner_user_id=lin.user_id))["team_id"]
    await kitchen.asset("open")
    await kitchen.asset("of-mia", owner=mia)
    await kitchen.asset("secret", owner=mia, visibility="private")
    await kitchen.asset("mine", visibility="private")
    await kitchen.asset("task", visibility="task")
    await kitchen.asset("few", visibility="restricted")
    await kitchen.asset("old", status="archived")
    await kitchen.asset("far", team_id=other_team)

    async def refused(*bindings: dict[str, Any], person: Any = lin) -> tuple[int, str]:
        answer: tuple[int, str] = await person.refused("agent-fixed-asset/set", agent_id=agent_id, bindings=bindings)
        return answer

    for name in ("task", "few", "old", "far"):
        assert await refused(skill("open"), skill(name)) == (409, "asset_not_bindable"), name
    for name in ("secret", "missing"):
        assert await refused(skill(name)) == (404, "asset_not_found"), name
    assert await refused(skill("open"), skill("open")) == (409, "duplicate_entry")
    assert await refused({"asset_id": "open", "asset_type": "llm_wiki"}) == (400, "asset_type_mismatch")
    assert await refused(skill("of-mia"), person=mia) == (403, "permission_denied")
    assert await refused(skill("open"), person=kitchen.zoe) == (404, "agent_not_found")
    assert (await lin("agent-fixed-asset/list", agent_id=agent_id))["total"] == 1
    bindings = [skill("open"), skill("of-mia"), skill("mine")]
    assert await lin("agent-fixed-asset/set", agent_id=agent_id, bindings=bindings) == {"ok": True}


async def test_an_agent_borrows_at_most_two_memories(kitchen: Kitchen) -> None:
    agent_id, *lent = [await kitchen.agent() for _ in range(4)]
    memories = [memory(kitchen.memory(one)) for one in lent]
    body = {"agent_id": agent_id}

    assert await kitchen.lin("agent-fixed-asset/set", **body, bindings=memories[:2]) == {"ok": True}
    assert await kitchen.lin.refused("agent-fixed-asset/set", **body, bindings=memories) == (409, "asset_not_bindable")
    refused = await kitchen.lin.refused("agent-fixed-asset/set", **body, mode="add", bindings=memories[2:])
    assert refused == (409, "asset_not_bindable")
    own = memory(kitchen.memory(agent_id))
    assert await kitchen.lin("agent-fixed-asset/set", **body, bindings=[own, *memories[1:]]) == {"ok": True}


async def test_bound_assets_come_with_their_agent_and_the_address_of_their_service(kitchen: Kitchen) -> None:
    agent_id = await kitchen.agent(prompt="You cook.")
    url = "http://wiki.example/api"
    await kitchen.asset("wiki-1", asset_type="llm_wiki", metadata_json={"service_url": url})
    await kitchen.asset("cg-1", asset_type="code_graph", content_ref=url)
    await kitchen.asset("skl-1", metadata_json={"service_url": "javascript:alert(1)"})
    bindings = [
        {"asset_id": "wiki-1", "asset_type": "llm_wiki", "injection_mode": "tool"},
        {"asset_id": "cg-1", "asset_type": "code_graph"},
        skill("skl-1"),
    ]
    await kitchen.lin("agent-fixed-asset/set", agent_id=agent_id, bindings=bindings)
    found = await kitchen.mia("agent-fixed-asset/list-with-detail", agent_id=agent_id, touch_usage=True)

    assert found["agent"] == {
        "agent_id": agent_id,
        "team_id": kitchen.team_id,
        "owner_user_id": kitchen.lin.user_id,
        "prompt": "You cook.",
        "visibility": "team",
        "status": "active",
    }
    items = {one["asset_id"]: one for one in found["items"]}
    assert found["total"] == 3  # the agent's memory is its owner's alone
    wiki = items["wiki-1"]
    assert wiki == {
        "asset_id": "wiki-1",
        "asset_type": "llm_wiki",
        "name": "菜谱",
        "description": "",
        "status": "draft",
        "visibility": "team",
        "injection_mode": "tool",
        "priority": 50,
        "created_at": wiki["created_at"],
        "service_url": url,
    }
    assert items["cg-1"]["service_url"] == url
    assert "service_url" not in items["skl-1"]
    assert (await kitchen.lin("asset/get", asset_id="wiki-1"))["usage_count"] == 1


async def test_summaries_are_in_the_order_asked_and_say_nothing_of_hidden_agents(kitchen: Kitchen) -> None:
    shown, hidden = await kitchen.agent(), await kitchen.agent(visibility="private")
    await kitchen.asset("skl-1")
    for agent_id in (shown, hidden):
        await kitchen.lin("agent-fixed-asset/set", agent_id=agent_id, bindings=[skill("skl-1")])
    zeros = {"skill": 0, "llm_wiki": 0, "code_graph": 0, "chat_memory": 0}

    async def summary(person: Any, **given: Any) -> list[tuple[str, dict[str, int], int]]:
        body = {"agent_ids": [hidden, shown, "agt-x"], **given}
        found = await person("agent-fixed-asset/summary-by-agents", **body)
        assert found["total"] == len(found["items"])
        return [(one["agent_id"], one["counts"], one["total"]) for one in found["items"]]

    both = {**zeros, "skill": 1, "chat_memory": 1}
    one = {**zeros, "skill": 1}
    assert await summary(kitchen.lin) == [(hidden, both, 2), (shown, both, 2), ("agt-x", zeros, 0)]
    assert await summary(kitchen.mia) == [(hidden, zeros, 0), (shown, one, 1), ("agt-x", zeros, 0)]
    assert await summary(kitchen.lin, asset_id="skl-1") == [(hidden, one, 1), (shown, one, 1), ("agt-x", zeros, 0)]


async def test_the_id_of_an_agents_memory_is_for_its_owner_alone(kitchen: Kitchen) -> None:
    agent_id = await kitchen.agent()
    asset_id = kitchen.memory(agent_id)
    await kitchen.lin("asset/delete", asset_ids=[asset_id])
    body = {"asset_id": asset_id, "team_id": kitchen.team_id, "name": "n", "source_type": "m"}
    mia, lin = kitchen.mia, kitchen.lin

    for kind in ("chat_memory", "skill"):
        refused = await mia.refused("asset/create", **body, asset_type=kind, owner_user_id=mia.user_id)
        assert refused == (403, "permission_denied")
    assert await lin.refused("asset/create", **body, asset_type="skill", owner_user_id=lin.user_id) == (
        403,
        "permission_denied",
    )
    made = await lin("asset/create", **body, asset_type="chat_memory", owner_user_id=lin.user_id)
    assert made["asset_id"] == asset_id


async def test_deleting_an_agents_memory_deletes_what_it_remembers(kitchen: Kitchen) -> None:
    agent_id = await kitchen.agent()
    scope = {"team_id": kitchen.team_id, "agent_id": agent_id, "user_id": kitchen.lin.user_id}
    headers = {"authorization": f"Bearer {kitchen.lin.key}", "x-tdai-service-id": "default"}

    async def data(route: str, **body: Any) -> Any:
        response = await kitchen.lin.http.post(f"/v3/{route}", json={**scope, **body}, headers=headers)
        assert response.status_code == 200, response.text
        return response.json()["data"]

    message = {"role": "user", "content": "I like green tea"}
    await data("conversation/add", session_id="s1", messages=[message])
    assert (await data("conversation/count"))["total"] == 1
    await kitchen.lin("asset/delete", asset_ids=[kitchen.memory(agent_id)])
    assert (await data("conversation/count"))["total"] == 0


async def test_a_recall_says_which_agents_memory_is_borrowed(kitchen: Kitchen) -> None:
    lin = kitchen.lin
    cook, waiter = await kitchen.agent(), await kitchen.agent()
    headers = {"authorization": f"Bearer {lin.key}", "x-tdai-service-id": "default"}

    async def data(route: str, agent_id: str, **body: Any) -> Any:
        scope = {"team_id": kitchen.team_id, "agent_id": agent_id, "user_id": lin.user_id}
        response = await lin.http.post(f"/v3/{route}", json={**scope, **body}, headers=headers)
        assert response.status_code == 200, response.text
        return response.json()["data"]

    message = {"role": "user", "content": "Remember that I keep saffron under the loose stair."}
    await data("conversation/add", waiter, session_id="s1", messages=[message])
    await data("pipeline/flush", waiter, wait_seconds=20)
    assert "borrowed" not in await data("recall", cook, query="where is the saffron")
    lent = [memory(kitchen.memory(waiter))]
    await lin("agent-fixed-asset/set", agent_id=cook, bindings=lent)
    found = await data("recall", cook, query="where is the saffron")

    assert found["items"] == []
    (borrowed,) = found["borrowed"]
    assert set(borrowed) == {"team_id", "agent_id", "agent_name", "items", "persona", "scenes"}
    assert (borrowed["team_id"], borrowed["agent_id"], borrowed["agent_name"]) == (kitchen.team_id, waiter, "cook")
    assert [(one["agent_id"], one["user_id"]) for one in borrowed["items"]] == [(waiter, lin.user_id)]
    assert {one["agent_id"] for one in borrowed["scenes"]} <= {waiter}
    assert "saffron" in found["prepend_context"]
    await lin("agent-fixed-asset/set", agent_id=cook, mode="remove", bindings=lent)
    assert "borrowed" not in await data("recall", cook, query="where is the saffron")
