"""The table of who may call what, against the application that is built from it and against a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, get_args

import httpx
import pytest

from memstrata.memory import Memory
from memstrata.server import create_app
from memstrata.server.archives import ARCHIVE_PATHS
from memstrata.server.mcp_endpoint import MCP_PATH
from memstrata.server.policy import POLICY, Identity
from memstrata.server.routes import META_ROUTES, ROUTES
from memstrata.settings import ServerSettings

GATEWAY = "Bearer sesame"
DEFAULT = {"x-tdai-service-id": "default"}
GET = {"/health", "/metrics"}

# Bodies that name something, for routes that decide by what is named. `{…}` is filled in.
NAMED: dict[str, dict[str, Any]] = {
    "/v3/chat-memory/clear": {"memory_ids": ["chat_memory-{team}-{agent}"]},
    "/v3/forget": {"team_id": "{team}", "agent_id": "{agent}", "agent": True, "confirm": True},
    "/v3/forget/receipt": {"forgetting_id": "fgt-none"},
    "/v3/memory-prompt/get": {"team_id": "{team}", "agent_id": "{agent}", "layer": "l1"},
    "/v3/memory-prompt/set": {"team_id": "{team}", "agent_ids": ["{agent}"], "action": "clear", "layer": "l1"},
    "/v3/memory-prompt/setting/list": {"team_id": "{team}", "agent_id": "{agent}"},
    "/v3/memory-prompt/log": {"team_id": "{team}", "agent_id": "{agent}"},
}


def paths(*identities: Identity) -> list[str]:
    return [path for path, identity in POLICY.items() if identity in identities]


@dataclass
class House:
    """A server with a gateway key: lin has a team and an agent in it, mia is a member, ann is in no team."""

    http: httpx.AsyncClient
    team: str
    agent: str
    keys: Mapping[str, str]

    async def ask(self, path: str, body: Mapping[str, Any] | None = None, **headers: str) -> int:
        method = "GET" if path in GET else "POST"
        sent = {**DEFAULT, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if path == MCP_PATH:  # its body is the protocol's: what it is about stands in the headers
            sent |= {f"x-tdai-{name.replace('_', '-')}": str(value) for name, value in (body or {}).items()}
        response = await self.http.request(method, path, json=body or {}, headers=sent)
        assert path in GET or response.status_code < 400 or "data" not in response.json(), path
        return response.status_code

    def bearer(self, name: str) -> str:
        return f"Bearer {self.keys[name]}"

    def scope(self) -> dict[str, str]:
        return {"team_id": self.team, "agent_id": self.agent, "session_id": "s"}

    def named(self, path: str) -> dict[str, Any]:
        """A body that names lin's agent, and nothing where the route takes none."""

        def filled(value: Any) -> Any:
            if isinstance(value, list):
                return [filled(one) for one in value]
            return value.format(team=self.team, agent=self.agent) if isinstance(value, str) else value

        return {name: filled(value) for name, value in NAMED[path].items()} if path in NAMED else self.scope()


@pytest.fixture
async def house(start: Callable[..., AbstractAsyncContextManager[str]]) -> AsyncIterator[House]:
    async with start(api_key="sesame") as url, httpx.AsyncClient(base_url=url) as http:

        async def data(path: str, body: Mapping[str, Any], key: str = "") -> Any:
            headers = {**DEFAULT, "authorization": GATEWAY} | ({"x-tdai-user-key": key} if key else {})
            response = await http.post(path, json=body, headers=headers)
            assert response.status_code == 200, response.text
            return response.json()["data"]

        root = await data("/v3/internal/meta/user/init-admin", {"username": "root"})
        keys = {"root": root["user_key"]}
        for name in ("lin", "mia", "ann"):
            made = await data("/v3/meta/user/create", {"username": name, "user_id": name}, keys["root"])
            keys[name] = made["default_user_key"]
        team = await data("/v3/meta/team/create", {"name": "home", "owner_user_id": "lin"}, keys["lin"])
        await data("/v3/meta/team-member/add", {"team_id": team["team_id"], "user_id": "mia"}, keys["lin"])
        agent = await data(
            "/v3/meta/agent/create", {"team_id": team["team_id"], "owner_user_id": "lin", "name": "a"}, keys["lin"]
        )
        yield House(http, team["team_id"], agent["agent_id"], keys)


async def test_every_route_of_the_application_has_a_row_and_every_row_a_route(
    open_memory: Callable[..., AbstractAsyncContextManager[Memory]],
) -> None:
    async with open_memory() as memory:
        gate: Any = create_app(memory, ServerSettings())
        served = [route.path for route in gate._app.routes]

    assert len(set(served)) == len(served)
    assert set(served) == set(POLICY)
    assert set(served) == {one.path for one in ROUTES} | {one.path for one in META_ROUTES} | set(ARCHIVE_PATHS) | {
        MCP_PATH
    }
    assert set(POLICY.values()) == set(get_args(Identity))


def test_what_decides_by_what_is_named_is_asked_about_something() -> None:
    assert set(NAMED) == set(paths("target"))


@pytest.mark.parametrize("identity", sorted(set(get_args(Identity)) - {"nobody"}))
async def test_nobody_and_wrong_keys_get_401(house: House, identity: Identity) -> None:
    for path in paths(identity):
        assert await house.ask(path) == 401, path
        for wrong in ("Bearer wrong", "Bearer sk-mem-wrong", "bearer sesame", "Bearer", "sesame"):
            assert await house.ask(path, authorization=wrong) == 401, (path, wrong)
        if identity != "internal":
            assert await house.ask(path, authorization=GATEWAY, x_tdai_user_key="sk-mem-wrong") == 401, path
            elsewhere = await house.ask(path, authorization=house.bearer("lin"), x_tdai_service_id="other")
            assert elsewhere == 401, path


async def test_the_header_of_a_users_key_without_a_key_is_not_the_gateway(house: House) -> None:
    for path in paths("scope", "owner", "target", "operator", "internal"):
        body = {**house.scope(), "user_id": "lin", "instance_id": "default", "username": "x"}
        assert await house.ask(path, body, authorization=GATEWAY, x_tdai_user_key="") == 401, path


async def test_what_is_for_the_gateway_alone_no_users_key_opens(house: House) -> None:
    for path in paths("internal"):
        body = {"username": "again", "instance_id": "default"}
        for name in ("root", "lin"):
            assert await house.ask(path, body, authorization=house.bearer(name)) == 401, path
            key = house.keys[name]
            assert await house.ask(path, body, authorization=GATEWAY, x_tdai_user_key=key) == 403, path
        assert await house.ask(path, body, authorization=GATEWAY) not in (401, 403), path


async def test_what_is_for_operators_wants_the_gateway_or_the_system_administrator(house: House) -> None:
    for path in paths("operator"):
        for name in ("lin", "mia", "ann"):
            assert await house.ask(path, authorization=house.bearer(name)) == 403, path
            assert await house.ask(path, authorization=GATEWAY, x_tdai_user_key=house.keys[name]) == 403, path
        assert await house.ask(path, authorization=house.bearer("root")) not in (401, 403), path
        assert await house.ask(path, authorization=GATEWAY) not in (401, 403), path


async def test_what_is_about_a_scope_wants_a_user_of_its_agent(house: House) -> None:
    for path in paths("scope"):
        for name, opens in (("lin", True), ("mia", True), ("ann", False), ("root", False)):
            for headers in (
                {"authorization": house.bearer(name)},
                {"authorization": GATEWAY, "x_tdai_user_key": house.keys[name]},
            ):
                status = await house.ask(path, house.scope(), **headers)
                assert (status not in (401, 403)) == opens, (path, name, status)
        assert await house.ask(path, {**house.scope(), "user_id": "ann"}, authorization=GATEWAY) not in (401, 403), path


async def test_what_all_users_of_an_agent_share_is_changed_by_its_owner(house: House) -> None:
    for path in paths("owner"):
        for name, opens in (("lin", True), ("mia", False), ("ann", False), ("root", False)):
            status = await house.ask(path, house.scope(), authorization=house.bearer(name))
            assert (status not in (401, 403)) == opens, (path, name, status)
        assert await house.ask(path, {**house.scope(), "user_id": "ann"}, authorization=GATEWAY) not in (401, 403), path


@pytest.mark.parametrize("path", NAMED)
async def test_what_is_named_must_be_the_callers(house: House, path: str) -> None:
    refused = 404 if path == "/v3/forget/receipt" else 403
    body = house.named(path)
    assert await house.ask(path, body, authorization=house.bearer("ann")) == refused
    # The prompt that is in force for an agent is for all its users.
    expected = refused if path != "/v3/memory-prompt/get" else 200
    assert await house.ask(path, body, authorization=house.bearer("mia")) == expected
    for bearer in (house.bearer("lin"), house.bearer("root"), GATEWAY):
        filled = {**body, "user_id": "lin"} if path == "/v3/forget" else body
        assert await house.ask(path, filled, authorization=bearer) not in (401, 403), bearer


async def test_the_directory_wants_a_users_key_beside_the_gateways(house: House) -> None:
    for path in paths("user_key"):
        assert await house.ask(path, authorization=GATEWAY) == 401, path
        assert await house.ask(path, authorization=house.bearer("ann")) != 401, path


async def test_health_is_for_everybody_and_its_numbers_for_the_gateway(house: House) -> None:
    async def details(**headers: str) -> bool:
        response = await house.http.get("/health", headers=headers)
        assert response.status_code == 200
        return any("details" in part for part in response.json()["components"].values())

    assert await details(authorization=GATEWAY)
    assert not await details()
    assert not await details(authorization=house.bearer("root"))
    assert not await details(authorization=GATEWAY, **{"x-tdai-user-key": house.keys["root"]})


async def test_without_a_gateway_key_a_users_key_narrows_just_the_same(url: str) -> None:
    in_headers = {"x-tdai-team-id": "t", "x-tdai-agent-id": "a"}  # for the route whose body has no place for ids
    async with httpx.AsyncClient(base_url=url, headers=DEFAULT | in_headers) as http:
        made = await http.post("/v3/internal/meta/user/init-admin", json={"username": "root"})
        key = made.json()["data"]["user_key"]
        for path in paths("scope", "owner"):
            body = {"team_id": "t", "agent_id": "a", "session_id": "s"}
            as_user = {"x-tdai-user-key": key, "authorization": "Bearer local"}
            assert (await http.post(path, json=body, headers=as_user)).status_code == 403, path
            assert (await http.post(path, json=body, headers={"authorization": f"Bearer {key}"})).status_code == 403
            assert (await http.post(path, json=body, headers={"authorization": "Bearer sk-mem-no"})).status_code == 401
            body["user_id"] = "u"
            operator = await http.post(path, json=body, headers={"authorization": "Bearer local"})
            assert operator.status_code not in (401, 403), path
        for path in paths("internal"):
            method = "GET" if path in GET else "POST"
            response = await http.request(method, path, json={"username": "x"}, headers={"x-tdai-user-key": key})
            assert response.status_code == 403, path
