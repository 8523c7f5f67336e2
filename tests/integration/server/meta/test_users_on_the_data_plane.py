"""What a user's key opens of memories: role by visibility by verb, and that no id in a request opens anything more.

In the team `home`: rex, a member, owns the agent; lin owns the team, mia is an admin of it, tom a member, ann nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from memstrata.server.call import Scoped
from memstrata.server.policy import POLICY
from memstrata.server.routes import ROUTES

NAMES = ("rex", "lin", "mia", "tom", "ann", "root")
SCOPED = [route.path for route in ROUTES if isinstance(route.handler, Scoped)]
READS = ("/v3/conversation/query", "/v3/atomic/query", "/v3/scenario/ls", "/v3/core/read", "/v3/recall")
SAID = [{"role": "user", "content": "Remember: I live in Lisbon."}]


@dataclass
class Plane:
    """The data plane, asked by people about rex's agent."""

    home: Any
    people: Mapping[str, Any]
    agent_id: str

    @property
    def team_id(self) -> str:
        return str(self.home.team_id)

    @property
    def asset_id(self) -> str:
        return f"chat_memory-{self.team_id}-{self.agent_id}"

    async def ask(self, name: str, path: str, /, **body: Any) -> httpx.Response:
        """Ask with a person's key; without ids of its own the body has the agent's."""
        return await self.send(name, path, {"team_id": self.team_id, "agent_id": self.agent_id, **body})

    async def send(self, name: str, path: str, body: Any, **headers: str) -> httpx.Response:
        own = {"authorization": f"Bearer {self.people[name].key}", "x-tdai-service-id": "default"}
        sent = {**own, **{key.replace("_", "-"): value for key, value in headers.items()}}
        response: httpx.Response = await self.home.root.http.post(path, json=body, headers=sent)
        if response.status_code == 403:
            assert response.json()["message"] == (
                "permission_denied: this user may not do this, or there is nothing of that name"
            )
        return response

    async def who(self, path: str, /, **body: Any) -> str:
        """Say who of all may do it, by first letters."""
        answers = {name: await self.ask(name, path, **body) for name in NAMES}
        assert {answer.status_code for answer in answers.values()} <= {200, 403, 404}
        return "".join(name[0] if answers[name].status_code != 403 else "-" for name in NAMES)


@pytest.fixture
async def plane(home: Any, new_user: Any) -> Plane:
    made = await home.root("user/create", username="tom", user_id="tom")
    tom = type(home.lin)(home.root.http, "tom", made["default_user_key"])
    await home.lin("team-member/add", team_id=home.team_id, user_id="tom")
    agent = await home.rex("agent/create", team_id=home.team_id, owner_user_id="rex", name="cook")
    people = {"root": home.root, "lin": home.lin, "mia": home.mia, "rex": home.rex, "ann": home.ann, "tom": tom}
    return Plane(home, people, agent["agent_id"])


# Visibility of the agent, grants on its memory as (subject type, subject, effect), who may use it. In the order of NAMES.
RULES = [
    ("private", [], "r-----"),
    ("team", [], "rlmt--"),
    ("agent", [], "rlmt--"),
    ("task", [], "rlmt--"),
    ("restricted", [], "rlm---"),
    ("restricted", [("user", "tom", "allow")], "rlmt--"),
    ("restricted", [("team_role", "member", "allow")], "rlmt--"),
    ("restricted", [("team_role", "member", "allow"), ("user", "tom", "deny")], "rlm---"),
    ("restricted", [("user", "mia", "deny")], "rl----"),
    ("private", [("user", "tom", "allow")], "r-----"),
    ("team", [("user", "tom", "deny")], "rlm---"),
    ("team", [("team_role", "admin", "deny")], "r--t--"),
    ("team", [("user", "rex", "deny")], "rlmt--"),
]


@pytest.mark.parametrize(("visibility", "grants", "users"), RULES)
async def test_who_may_use_an_agent_and_who_may_change_what_it_shares(
    plane: Plane, visibility: str, grants: list[tuple[str, str, str]], users: str
) -> None:
    rex = plane.people["rex"]
    await rex("agent/update", agent_id=plane.agent_id, visibility=visibility)
    for kind, subject, effect in grants:
        grant = {"subject_type": kind, "subject_id": subject, "permission": "read", "effect": effect}
        await rex("acl/grant", asset_id=plane.asset_id, **grant)

    for path in READS:
        assert await plane.who(path, query="Lisbon") == users, path
    assert await plane.who("/v3/conversation/add", session_id="s", messages=SAID) == users
    assert await plane.who("/v2/conversation/add", session_id="s", messages=SAID) == users
    assert await plane.who("/v3/core/write", content="# Rex") == "r-----"
    assert await plane.who("/v3/core/restore", version=1) == "r-----"
    assert await plane.who("/v3/scenario/write", path="a.md", content="x") == "r-----"
    assert await plane.who("/v3/scenario/rm", path="a.md") == "r-----"
    assert await plane.who("/v3/forget", agent=True, dry_run=True) == "r----r"
    assert await plane.who("/v3/forget", session_ids=["s"], dry_run=True) == f"{users[:-1]}r"
    assert await plane.who("/v3/forget", user=True, dry_run=True) == "rlmtar"
    assert await plane.who("/v3/chat-memory/clear", memory_ids=[plane.asset_id]) == "r----r"


async def test_an_agent_that_is_archived_or_gone_is_nobodys(plane: Plane) -> None:
    rex = plane.people["rex"]
    assert (await plane.ask("tom", "/v3/core/read")).status_code == 200
    await rex("agent/archive", agent_id=plane.agent_id)
    assert await plane.who("/v3/core/read") == "------"
    await rex("agent/update", agent_id=plane.agent_id, status="active")
    assert await plane.who("/v3/core/read") == "rlmt--"
    await rex("agent/delete", agent_ids=[plane.agent_id])
    assert await plane.who("/v3/core/read") == "------"


async def test_a_memory_that_is_no_longer_shared_stays_its_owners(plane: Plane) -> None:
    await plane.people["rex"]("asset/update", asset_id=plane.asset_id, status="archived")

    assert await plane.who("/v3/core/read") == "r-----"


async def test_what_is_taken_back_is_back_at_once(plane: Plane) -> None:
    lin, rex = plane.people["lin"], plane.people["rex"]
    assert await plane.who("/v3/atomic/query") == "rlmt--"
    await lin("team-member/remove", team_id=plane.team_id, user_id="tom")
    assert await plane.who("/v3/atomic/query") == "rlm---"
    await lin("team-member/add", team_id=plane.team_id, user_id="rex", role="member", status="removed")
    assert await plane.who("/v3/atomic/query") == "-lm---"
    await lin("team-member/add", team_id=plane.team_id, user_id="rex", role="member")
    await rex("user-key/create", user_id="rex")
    keys = (await rex("user-key/list"))["items"]
    await rex("user-key/revoke", key_id=next(key["key_id"] for key in keys if key["is_default"]))
    assert (await plane.ask("rex", "/v3/atomic/query")).status_code == 401


async def test_users_of_one_agent_read_and_write_what_is_their_own(plane: Plane) -> None:
    for name in ("rex", "tom"):
        said = [{"role": "user", "content": f"Remember: I am {name}."}]
        added = await plane.ask(name, "/v3/conversation/add", session_id="s", messages=said)
        assert added.status_code == 200
    for name in ("rex", "tom", "mia"):
        answer = (await plane.ask(name, "/v3/conversation/query")).json()["data"]
        told = [f"Remember: I am {name}."] if name != "mia" else []
        assert [message["content"] for message in answer["messages"]] == told


@pytest.mark.parametrize("path", SCOPED)
async def test_no_id_in_a_request_goes_beyond_its_key(plane: Plane, path: str) -> None:
    """By body and by header, with a body that is right otherwise and with one that is not."""
    own = {"team_id": plane.team_id, "agent_id": plane.agent_id, "session_id": "s"}
    user = "rex" if POLICY[path] == "owner" else "tom"
    for more in ({}, {"query": 5, "messages": 5, "path": 5}):
        body = {**own, **more}
        assert (await plane.send(user, path, body)).status_code not in (401, 403)
        assert (await plane.send(user, path, {**body, "user_id": user})).status_code not in (401, 403)
        assert (await plane.send(user, path, {**body, "user_id": "mia"})).status_code == 403
        assert (await plane.send(user, path, body, x_tdai_user_id="mia")).status_code == 403
        assert (await plane.send(user, path, {**body, "user_id": ""}, x_tdai_user_id=user)).status_code == 422
        by_key = {"authorization": "Bearer local", "x_tdai_user_key": plane.people[user].key}
        assert (await plane.send(user, path, {**body, "user_id": "mia"}, **by_key)).status_code == 403
        assert (await plane.send("ann", path, {**body, "user_id": user})).status_code == 403
        headers = {"x_tdai_team_id": plane.team_id, "x_tdai_agent_id": plane.agent_id}
        assert (await plane.send(user, path, {"session_id": "s", **more}, **headers)).status_code not in (401, 403)
        if POLICY[path] == "target":
            continue
        for place in ("team_id", "agent_id"):
            for foreign in ("other", "%", f" {own[place]}", own[place].upper(), "\x00"):
                assert (await plane.send(user, path, {**body, place: foreign})).status_code == 403, (place, foreign)
            left = {name: value for name, value in body.items() if name != place}
            header = {f"x_tdai_{place}": "other"}
            assert (await plane.send(user, path, left, **header)).status_code == 403


async def test_an_agent_of_one_team_is_none_of_another(plane: Plane) -> None:
    rex = plane.people["rex"]
    second = await rex("team/create", name="second", owner_user_id="rex")

    answer = await plane.send("rex", "/v3/core/read", {"team_id": second["team_id"], "agent_id": plane.agent_id})

    assert answer.status_code == 403


async def test_people_may_forget_themselves_everywhere_and_only_themselves(plane: Plane) -> None:
    for name in ("rex", "tom"):
        await plane.ask(name, "/v3/conversation/add", session_id="s", messages=SAID)
    await plane.people["lin"]("team-member/remove", team_id=plane.team_id, user_id="tom")
    everything = {"user": True, "confirm": True}

    assert (await plane.ask("tom", "/v3/forget", **everything, user_id="rex")).status_code == 403
    assert (await plane.ask("tom", "/v3/forget", session_ids=["s"])).status_code == 403
    forgotten = await plane.ask("tom", "/v3/forget", **everything)
    assert forgotten.json()["data"]["counts"]["messages"] == 1
    receipt = {"forgetting_id": forgotten.json()["data"]["forgetting_id"]}
    assert (await plane.send("tom", "/v3/forget/receipt", receipt)).status_code == 200
    assert (await plane.send("rex", "/v3/forget/receipt", receipt)).status_code == 404
    left = (await plane.ask("rex", "/v3/conversation/query")).json()["data"]
    assert left["total"] == 1
    by_operator = await plane.ask("root", "/v3/forget", **everything, user_id="rex")
    assert by_operator.json()["data"]["counts"]["messages"] == 1


async def test_all_of_an_agent_is_forgotten_by_its_owner(plane: Plane) -> None:
    await plane.ask("tom", "/v3/conversation/add", session_id="s", messages=SAID)
    whole = {"agent": True, "confirm": True}

    for name in ("tom", "mia", "lin", "ann"):
        assert (await plane.ask(name, "/v3/forget", **whole)).status_code == 403
    forgotten = (await plane.ask("rex", "/v3/forget", **whole)).json()["data"]

    assert forgotten["counts"]["messages"] == 1
    receipt = {"forgetting_id": forgotten["forgetting_id"]}
    assert (await plane.send("rex", "/v3/forget/receipt", receipt)).status_code == 200
    assert (await plane.send("tom", "/v3/forget/receipt", receipt)).status_code == 404


async def test_a_memory_is_cleared_by_its_owner_whatever_else_is_on_the_list(plane: Plane) -> None:
    await plane.ask("rex", "/v3/conversation/add", session_id="s", messages=SAID)
    toms = await plane.people["tom"]("agent/create", team_id=plane.team_id, owner_user_id="tom", name="own")
    own = f"chat_memory-{plane.team_id}-{toms['agent_id']}"

    for ids in ([own, plane.asset_id], [plane.asset_id], ["chat_memory-none-none"]):
        answer = await plane.send("tom", "/v3/chat-memory/clear", {"memory_ids": ids})
        assert answer.status_code == 403

    assert (await plane.ask("rex", "/v3/conversation/query")).json()["data"]["total"] == 1


async def test_prompts_are_the_operators_and_bound_by_who_runs_a_team_or_owns_an_agent(plane: Plane) -> None:
    async def made(layer: str) -> str:
        body = {"name": "n", "layer": layer, "prompt": "Write {{messages}}"}
        answer = await plane.send("root", "/v3/memory-prompt/create", body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["data"]["memory_prompt_id"])

    async def who(path: str, **body: Any) -> str:
        answers = [(name, await plane.send(name, f"/v3/memory-prompt/{path}", body)) for name in NAMES]
        assert {answer.status_code for _, answer in answers} <= {200, 403}, [answer.text for _, answer in answers]
        return "".join(name[0] if answer.status_code == 200 else "-" for name, answer in answers)

    apply = {"action": "apply", "layer": "l1", "memory_prompt_id": await made("l1")}
    of_agent = {"team_id": plane.team_id, "agent_ids": [plane.agent_id]}
    named = {"team_id": plane.team_id, "agent_id": plane.agent_id}

    assert await who("set", **apply) == "-----r"
    assert await who("set", **apply, team_id=plane.team_id) == "-lm--r"
    assert await who("set", **apply, **of_agent) == "r----r"
    assert await who("set", **apply, **of_agent | {"agent_ids": [plane.agent_id, "other"]}) == "-----r"
    assert await who("get", layer="l1") == "-----r"
    assert await who("get", memory_prompt_id=apply["memory_prompt_id"]) == "-----r"
    assert await who("get", layer="l1", **named) == "rlmt-r"
    assert await who("get", layer="l1", team_id=plane.team_id) == "rlmt-r"
    for path in ("setting/list", "log"):
        assert await who(path, memory_prompt_id=apply["memory_prompt_id"]) == "-----r"
        assert await who(path, team_id=plane.team_id) == "-lm--r"
        assert await who(path, **named) == "r----r"
        assert await who(path, **named, target_type="team") == "-----r"
    shown = await plane.send("mia", "/v3/memory-prompt/setting/list", {"team_id": plane.team_id})
    assert [item["target_type"] for item in shown.json()["data"]["items"]] == ["team"]
    logged = (await plane.send("mia", "/v3/memory-prompt/log", {"team_id": plane.team_id})).json()["data"]["items"]
    assert [item["operator_id"] for item in logged][:1] == ["lin"]


async def test_a_change_is_remembered_as_the_keys_user_whatever_the_header_says(plane: Plane) -> None:
    body = {"action": "clear", "layer": "l1", "team_id": plane.team_id}
    forged = await plane.send("mia", "/v3/memory-prompt/set", body, x_tdai_user_id="lin")

    assert forged.status_code == 403
