"""What is asked of every request about the directory before its handler sees it: instance, key, body, in this order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest

from memstrata.server.policy import POLICY
from memstrata.server.routes import META_ROUTES, ROUTES

INSTANCE = {"x-tdai-service-id": "default"}
WITH_KEY = [route for route in META_ROUTES if POLICY[route.path] == "user_key"]
INTERNAL = [route for route in META_ROUTES if POLICY[route.path] == "internal"]
OF_INSTANCE = [route for route in META_ROUTES if POLICY[route.path] != "internal"]
KEY = "sk-mem-0123456789abcdefghijklmnopqrstuv"


def code_of(response: httpx.Response) -> tuple[int, str]:
    answer = response.json()
    assert answer["code"] == response.status_code
    return response.status_code, answer["message"].partition(":")[0]


@pytest.fixture
async def gated(start: Callable[..., AbstractAsyncContextManager[str]]) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server with the gateway key `sesame`, whose instance `default` has the administrator's `KEY`."""
    async with start(api_key="sesame") as url, httpx.AsyncClient(base_url=url) as client:
        made = await client.post(
            "/v3/internal/meta/user/init-admin",
            json={"username": "root", "user_key": KEY, "instance_id": "default"},
            headers={"authorization": "Bearer sesame"},
        )
        assert made.json()["data"]["user_key"] == KEY
        yield client


CONTRACT = {
    "user": "create create-with-key get delete list",
    "user-key": "create list get revoke update",
    "team": "create get update delete list",
    "team-member": "add remove list get",
    "agent": "create get update delete list archive",
    "task": "create get update delete list archive",
    "task-agent": "link unlink list",
    "participation-log": "append list",
    "asset": "create get update delete list list-accessible touch-usage",
    "agent-fixed-asset": "set list list-with-detail summary-by-agents",
    "acl": "grant revoke list check",
    "auth": "verify",
    "instance-quota": "get",
    "config/user": "get set",
}


def test_the_contracts_57_routes_are_all_there() -> None:
    expected = {f"/v3/meta/{noun}/{verb}" for noun, verbs in CONTRACT.items() for verb in verbs.split()}
    expected |= {f"/v3/internal/meta/user/{verb}" for verb in ("init-admin", "list-by-instance")}

    assert len(expected) == 57
    assert {route.path for route in META_ROUTES} == expected


def test_every_path_stands_once_and_only_two_kinds_of_routes_want_no_key() -> None:
    paths = [route.path for route in ROUTES] + [route.path for route in META_ROUTES]

    assert len(set(paths)) == len(paths)
    assert [route.path for route in META_ROUTES if POLICY[route.path] == "nobody"] == ["/v3/meta/auth/verify"]
    for route in META_ROUTES:
        assert route.path.startswith("/v3/internal/meta/" if POLICY[route.path] == "internal" else "/v3/meta/")


async def test_without_an_instance_it_is_400_whatever_else_is_there(http: httpx.AsyncClient) -> None:
    for route in META_ROUTES:
        response = await http.post(route.path, json={"username": "x"}, headers={"x-tdai-user-key": KEY})
        assert code_of(response) == (400, "missing_instance_id"), route.path
    for route in OF_INSTANCE:
        response = await http.post(route.path, json={}, headers={"x-tdai-service-id": "i" * 129})
        assert code_of(response) == (400, "invalid_instance_id"), route.path


async def test_without_a_key_that_opens_it_is_401_before_the_body_is_read(http: httpx.AsyncClient) -> None:
    for route in WITH_KEY:
        missing = await http.post(route.path, content=b"no json", headers=INSTANCE)
        assert (missing.status_code, missing.json()["message"]) == (401, "unauthorized: missing_user_key")
        wrong = await http.post(route.path, content=b"no json", headers={**INSTANCE, "x-tdai-user-key": KEY})
        assert (wrong.status_code, wrong.json()["message"]) == (401, "unauthorized: invalid_user_key")


@pytest.mark.parametrize(
    ("body", "status"), [(b"", 400), (b"no json", 400), (b"[]", 400), (b'"{}"', 400), (b" " * 1_048_577, 413)]
)
async def test_a_body_that_is_no_request_is_the_callers_mistake_on_every_route(
    admin: Any, body: bytes, status: int
) -> None:
    headers = {**INSTANCE, "x-tdai-user-key": admin.key}
    for route in META_ROUTES if status == 400 else META_ROUTES[:1]:
        response = await admin.http.post(route.path, content=body, headers=headers)
        assert code_of(response) == (status, "invalid_request"), route.path


async def test_only_post_is_answered(http: httpx.AsyncClient) -> None:
    for route in META_ROUTES:
        response = await http.get(route.path, headers=INSTANCE)
        assert (response.status_code, response.json()) == (404, {"error": f"Not found: GET {route.path}"})


async def test_an_unknown_route_is_an_envelope_only_where_the_contract_has_one(http: httpx.AsyncClient) -> None:
    internal = await http.post("/v3/internal/meta/user/none", json={}, headers=INSTANCE)
    public = await http.post("/v3/meta/user/none", json={}, headers=INSTANCE)

    assert code_of(internal) == (404, "not_found")
    assert (public.status_code, set(public.json())) == (404, {"error"})


@pytest.mark.parametrize("fails", [False, True])
async def test_an_answer_has_the_callers_name_for_the_request(admin: Any, fails: bool) -> None:
    async def named(**headers: str) -> str:
        key = {} if fails else {"x-tdai-user-key": admin.key}
        sent = {**INSTANCE, **key, **{name.replace("_", "-"): value for name, value in headers.items()}}
        answer = (await admin.http.post("/v3/meta/instance-quota/get", json={}, headers=sent)).json()
        assert (answer["code"] != 0) == fails
        return str(answer["request_id"])

    assert await named(x_request_id="mine") == "mine"
    assert await named(x_request_id="mine", x_qcloud_transaction_id="theirs") == "theirs"
    assert len(await named(x_request_id="n" * 500)) == 128
    assert (await named()).startswith("req-")


async def test_numbers_may_be_text_and_have_bounds(admin: Any) -> None:
    page = await admin("user/list", limit="1", offset="0", unknown={"key": []})
    assert (page["limit"], page["offset"]) == (1, 0)
    assert (await admin("user/list", limit=None, offset=None))["limit"] == 20
    for wrong in ({"limit": 0}, {"limit": 101}, {"limit": "many"}, {"offset": -1}, {"offset": 2**70}, {"limit": 1.5}):
        assert await admin.refused("user/list", **wrong) == (400, "invalid_request")


async def test_text_that_is_no_text_is_repaired_and_what_is_odd_is_kept(admin: Any) -> None:
    headers = {**INSTANCE, "x-tdai-user-key": admin.key}

    async def post(route: str, body: bytes) -> Any:
        return await admin.http.post(f"/v3/meta/{route}", content=body, headers=headers)

    made = (await post("user/create", rb'{"username": "a\u0000b\ud800c"}')).json()["data"]
    assert (await admin("user/get", user_id=made["user_id"]))["username"] == "a\0b\ufffdc"
    assert code_of(await post("user/get", rb'{"user_id": "usr-\u0000\ud800"}')) == (404, "user_not_found")
    assert code_of(await post("user/get", b'{"user_id": "\xff"}')) == (400, "invalid_request")


async def test_metadata_that_is_no_utf_8_is_refused(admin: Any) -> None:
    body = b'{"name": "n", "owner_user_id": "' + admin.user_id.encode() + b'", "metadata_json": {"a": "\xff"}}'
    headers = {**INSTANCE, "x-tdai-user-key": admin.key}

    response = await admin.http.post("/v3/meta/team/create", content=body, headers=headers)

    assert code_of(response) == (400, "invalid_request")


async def test_a_users_key_may_be_the_bearer(admin: Any) -> None:
    async def quota(**headers: str) -> Any:
        return await admin.http.post("/v3/meta/instance-quota/get", json={}, headers={**INSTANCE, **headers})

    assert (await quota(authorization=f"Bearer {admin.key}")).status_code == 200
    assert (await quota(authorization="Bearer anything")).json()["message"] == "unauthorized: missing_user_key"
    both = {"authorization": "Bearer sk-mem-wrong", "x-tdai-user-key": admin.key}
    assert (await quota(**both)).status_code == 200


async def test_where_a_gateway_key_is_set_it_or_a_users_key_opens_the_directory(gated: httpx.AsyncClient) -> None:
    async def ask(path: str, **headers: str) -> tuple[int, str]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        response = await gated.post(path, json={"user_key": KEY}, headers={**INSTANCE, **named})
        return response.status_code, response.json()["message"]

    quota, verify = "/v3/meta/instance-quota/get", "/v3/meta/auth/verify"
    wrong = "Bearer sk-mem-wrong"
    assert await ask(quota, x_tdai_user_key=KEY) == (401, "Unauthorized: missing Bearer token")
    assert await ask(quota, x_tdai_user_key=KEY, authorization="Bearer open") == (401, "Unauthorized: invalid token")
    assert await ask(quota, authorization="Bearer sesame") == (401, "unauthorized: missing_user_key")
    assert await ask(quota, x_tdai_user_key=KEY, authorization="Bearer sesame") == (200, "ok")
    assert await ask(quota, authorization=f"Bearer {KEY}") == (200, "ok")
    assert await ask(quota, authorization=wrong) == (401, "unauthorized: invalid_user_key")
    assert await ask(verify, authorization="Bearer sesame") == (200, "ok")
    assert await ask(verify, authorization=f"Bearer {KEY}") == (200, "ok")
    assert await ask(verify, authorization=wrong) == (401, "unauthorized: invalid_user_key")


async def test_a_users_key_is_not_the_operators(gated: httpx.AsyncClient) -> None:
    for route in INTERNAL:
        headers = {**INSTANCE, "authorization": f"Bearer {KEY}", "x-tdai-user-key": KEY}
        response = await gated.post(route.path, json={"username": "x"}, headers=headers)
        assert (response.status_code, response.json()["message"]) == (401, "Unauthorized: invalid token")


async def test_who_presents_ten_wrong_keys_waits_a_minute_and_others_do_not(admin: Any, lin: Any) -> None:
    assert (await lin("instance-quota/get"))["max_teams_per_instance"] == 100

    async def verify(key: str) -> Any:
        return await admin.http.post("/v3/meta/auth/verify", json={"user_key": key}, headers=INSTANCE)

    for number in range(10):
        assert (await verify(f"sk-mem-{number}")).status_code == 200

    refused = await verify("sk-mem-10")

    assert code_of(refused) == (401, "unauthorized")
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert (await lin("instance-quota/get"))["max_teams_per_instance"] == 100
