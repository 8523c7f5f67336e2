"""The table itself: every row has the same checks, in the same order."""

from typing import Any

import httpx
import pytest

from memstrata.server import create_app
from memstrata.server.call import Scoped, SessionUse
from memstrata.server.routes import ROUTES, Route
from memstrata.settings import ServerSettings

DATA = [route for route in ROUTES if route.method == "POST"]
SCOPED = [route for route in DATA if isinstance(route.handler, Scoped)]
SCOPE = {"team_id": "t", "agent_id": "a", "user_id": "u"}


def name(route: Route) -> str:
    return route.path


def test_every_path_stands_once() -> None:
    assert len({route.path for route in ROUTES}) == len(ROUTES)


def test_the_contracts_routes_are_all_there() -> None:
    verbs = {
        "conversation": {"add", "query", "search", "delete"},
        "atomic": {"query", "search", "update", "delete"},
        "scenario": {"ls", "read", "write", "rm"},
        "core": {"read", "write"},
    }
    shared = {f"{noun}/{verb}" for noun, found in verbs.items() for verb in found}
    counts = {f"{noun}/count" for noun in verbs}
    ours = {"recall", "trace", "pipeline/status", "pipeline/flush", "pipeline/retry", "pipeline/spending"}
    ours |= {"atomic/history", "atomic/undo"}
    ours |= {"forget", "forget/receipt", "policy/get", "policy/set", "policy/list", "audit/list", "audit/verify"}
    ours |= {"proxy/usage"}
    ours |= {f"{noun}/{verb}" for noun in ("scenario", "core") for verb in ("history", "restore")}

    prompts = {"create", "get", "update", "delete", "set", "setting/list", "log"}
    logs = {f"memory-prompt/{verb}" for verb in prompts} | {f"memory-generation-log/{verb}" for verb in ("list", "get")}

    assert {route.path for route in ROUTES} == (
        {f"/v3/{path}" for path in shared | counts | ours | logs | {"chat-memory/clear"}}
        | {f"/v2/{path}" for path in shared | {"pipeline/status"}}
        | {"/health", "/metrics"}
    )


@pytest.mark.parametrize("route", DATA, ids=name)
async def test_without_a_bearer_it_is_401_before_anything_else(
    api: httpx.AsyncClient, memory: Any, route: Route
) -> None:
    response = await api.post(route.path, content=b"not json", headers={"authorization": ""})

    assert (response.status_code, response.json()["code"]) == (401, 401)
    assert memory.calls == []


@pytest.mark.parametrize("route", DATA, ids=name)
async def test_without_an_instance_it_is_401(api: httpx.AsyncClient, memory: Any, route: Route) -> None:
    response = await api.post(route.path, json=SCOPE, headers={"x-tdai-service-id": " "})

    assert response.status_code == 401
    assert memory.calls == []


@pytest.mark.parametrize("route", DATA, ids=name)
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff"])
async def test_a_body_that_is_no_json_object_is_400(
    api: httpx.AsyncClient, memory: Any, route: Route, body: bytes
) -> None:
    response = await api.post(route.path, content=body)

    assert (response.status_code, response.json()["code"]) == (400, 400)
    assert memory.calls == []


@pytest.mark.parametrize("route", SCOPED, ids=name)
@pytest.mark.parametrize("wrong", [{}, {"query": 5, "messages": "x", "id": 1, "ids": 1, "path": 1, "content": 1}])
async def test_without_a_scope_it_is_422_whatever_else_is_wrong(
    memory: Any, settings: ServerSettings, route: Route, wrong: dict[str, Any]
) -> None:
    headers = {"authorization": "Bearer x", "x-tdai-service-id": "default"}
    transport = httpx.ASGITransport(create_app(memory, settings))
    async with httpx.AsyncClient(transport=transport, base_url="http://server", headers=headers) as api:
        response = await api.post(route.path, json=wrong)

    assert (response.status_code, response.json()["code"]) == (422, 422)
    assert "team_id, agent_id, user_id" in response.json()["message"]
    assert memory.calls == []


@pytest.mark.parametrize("route", SCOPED, ids=name)
async def test_a_session_is_demanded_on_l0_and_l1_where_the_settings_say_always(memory: Any, route: Route) -> None:
    assert isinstance(route.handler, Scoped)
    headers = {"authorization": "Bearer x", "x-tdai-service-id": "default"}
    transport = httpx.ASGITransport(create_app(memory, ServerSettings(require_session="always")))
    async with httpx.AsyncClient(transport=transport, base_url="http://server", headers=headers) as api:
        without = await api.post(route.path, json=SCOPE)
        with_one = await api.post(route.path, json=SCOPE, headers={"x-tdai-session-id": "s1"})

    expects = route.handler.session is not SessionUse.IGNORED
    assert (without.status_code == 422) == expects
    assert with_one.status_code != 422


@pytest.mark.parametrize("route", DATA, ids=name)
async def test_no_other_verb_reaches_it(api: httpx.AsyncClient, memory: Any, route: Route) -> None:
    for method in ("GET", "PUT", "DELETE", "PATCH", "HEAD"):
        if not (method == "GET" and route.takes_get):
            assert (await api.request(method, route.path)).status_code == 404
    assert memory.calls == []


def test_only_what_reads_prompts_generations_receipts_and_policies_takes_get() -> None:
    assert {route.path for route in ROUTES if route.takes_get} == {
        "/v3/memory-prompt/get",
        "/v3/memory-prompt/setting/list",
        "/v3/memory-prompt/log",
        "/v3/memory-generation-log/list",
        "/v3/memory-generation-log/get",
        "/v3/forget/receipt",
        "/v3/policy/get",
        "/v3/policy/list",
        "/v3/audit/list",
        "/v3/audit/verify",
        "/v3/proxy/usage",
    }


async def test_get_needs_a_bearer_and_an_instance_as_post_does(api: httpx.AsyncClient) -> None:
    for route in (one for one in ROUTES if one.takes_get):
        for header in ("authorization", "x-tdai-service-id"):
            assert (await api.get(route.path, headers={header: " "})).status_code == 401
