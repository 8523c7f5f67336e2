"""The clients of the directory: a verb for each route, the same for both twins, with and without the SDK's own errors."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

import httpx
import pytest

from memstrata.client import (
    AsyncMetadataClient,
    Conflict,
    MetadataClient,
    ParamError,
    Unreachable,
    compat,
)
from memstrata.server.policy import POLICY

P = {"team_id": "t", "left_out": None}
PAGE = {"limit": 5, "offset": 10}
VERBS: dict[str, tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]] = {
    "create_user": (({"username": "lin", "user_id": None},), {}, {"username": "lin"}),
    "create_user_with_key": (({"username": "lin", "user_key": "k"},), {}, {"username": "lin", "user_key": "k"}),
    "get_user": (({"user_key": "k"},), {}, {"user_key": "k"}),
    "delete_users": ((("u1", "u2"),), {}, {"user_ids": ["u1", "u2"]}),
    "list_users": (("t",), {"pagination": PAGE}, {"team_id": "t", **PAGE}),
    "create_user_key": (({"name": "laptop"},), {}, {"name": "laptop"}),
    "list_user_keys": ((), {}, {}),
    "get_user_key": (("k1",), {}, {"key_id": "k1"}),
    "revoke_user_key": (("k1",), {}, {"key_id": "k1"}),
    "update_user_key": (({"key_id": "k1", "expires_at": None},), {}, {"key_id": "k1"}),
    "keep_user_key": (("k1",), {}, {"key_id": "k1", "expires_at": None}),
    "verify_auth": (("k",), {}, {"user_key": "k"}),
    "init_admin": (({"username": "root"},), {}, {"username": "root"}),
    "list_instance_users": (({"status": "active"},), {}, {"status": "active"}),
    "create_team": ((P,), {}, {"team_id": "t"}),
    "get_team": (("t",), {}, {"team_id": "t"}),
    "update_team": ((P,), {}, {"team_id": "t"}),
    "delete_teams": ((["t"],), {}, {"team_ids": ["t"]}),
    "list_teams": (("u",), {"pagination": {"limit": 5, "offset": None}}, {"user_id": "u", "limit": 5}),
    "add_team_member": ((P,), {}, {"team_id": "t"}),
    "remove_team_member": (("t", "u"), {}, {"team_id": "t", "user_id": "u"}),
    "list_team_members": (("t",), {"pagination": PAGE}, {"team_id": "t", **PAGE}),
    "get_team_member": (("t", "u"), {}, {"team_id": "t", "user_id": "u"}),
    "create_agent": ((P,), {}, {"team_id": "t"}),
    "get_agent": (("a",), {}, {"agent_id": "a"}),
    "update_agent": ((P,), {}, {"team_id": "t"}),
    "delete_agents": ((["a"],), {}, {"agent_ids": ["a"]}),
    "list_agents": ((P,), {}, {"team_id": "t"}),
    "archive_agent": (("a",), {}, {"agent_id": "a"}),
    "create_task": ((P,), {}, {"team_id": "t"}),
    "get_task": (("k",), {}, {"task_id": "k"}),
    "update_task": ((P,), {}, {"team_id": "t"}),
    "delete_tasks": ((["k"],), {}, {"task_ids": ["k"]}),
    "list_tasks": (("t",), {"status": "running", "pagination": PAGE}, {"team_id": "t", "status": "running", **PAGE}),
    "archive_task": (("k",), {}, {"task_id": "k"}),
    "link_task_agent": (("k", "a", "lead"), {}, {"task_id": "k", "agent_id": "a", "role_in_task": "lead"}),
    "unlink_task_agent": (("k", "a"), {}, {"task_id": "k", "agent_id": "a"}),
    "list_task_agents": (("k",), {}, {"task_id": "k"}),
    "append_participation_log": ((P,), {}, {"team_id": "t"}),
    "list_participation_logs": ((P,), {}, {"team_id": "t"}),
    "create_asset": ((P,), {}, {"team_id": "t"}),
    "get_asset": (("x",), {}, {"asset_id": "x"}),
    "update_asset": ((P,), {}, {"team_id": "t"}),
    "delete_assets": ((["x"],), {}, {"asset_ids": ["x"]}),
    "list_assets": ((P,), {}, {"team_id": "t"}),
    "list_accessible_assets": ((P,), {}, {"team_id": "t"}),
    "touch_asset_usage": (("x",), {}, {"asset_id": "x"}),
    "set_agent_fixed_assets": (
        ("a", [{"asset_id": "x", "priority": None}]),
        {},
        {"agent_id": "a", "bindings": [{"asset_id": "x"}]},
    ),
    "list_agent_fixed_assets": (("a",), {}, {"agent_id": "a"}),
    "list_agent_fixed_assets_with_detail": (({"agent_id": "a"},), {}, {"agent_id": "a"}),
    "summarize_agent_fixed_assets_by_agents": (({"agent_ids": ["a"]},), {}, {"agent_ids": ["a"]}),
    "grant_acl": (({"asset_id": "x"},), {}, {"asset_id": "x"}),
    "revoke_acl": (("g",), {}, {"id": "g"}),
    "list_acl": (("x",), {"pagination": PAGE}, {"asset_id": "x", **PAGE}),
    "check_acl": (({"user_id": "u"},), {}, {"user_id": "u"}),
    "get_instance_quota": ((), {}, {}),
    "get_user_config": (({"module": "quota"},), {}, {"module": "quota"}),
    "set_user_config": (({"module": "quota"},), {}, {"module": "quota"}),
}


class Recording:
    """Answers everything with one object, and keeps what was asked."""

    def __init__(self, status: int = 200, data: dict[str, Any] | None = None) -> None:
        self.requests: list[httpx.Request] = []
        self._answer = {"code": 0 if status == 200 else status, "message": "team_exists: kitchen", "data": data or {}}
        self._status = status

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return httpx.Response(self._status, json=self._answer)


async def test_every_route_of_the_directory_has_a_verb() -> None:
    server = Recording(data={"ok": True})
    async with AsyncMetadataClient(user_key="k", transport=httpx.MockTransport(server)) as meta:
        for verb, (args, named, _) in VERBS.items():
            await getattr(meta, verb)(*args, **named)

    meant = {path for path in POLICY if path.startswith(("/v3/meta/", "/v3/internal/meta/"))}
    assert len([path for path in meant if path.startswith("/v3/meta/")]) == 55
    assert {request.url.path for request in server.requests} == meant
    assert all(request.headers["x-tdai-user-key"] == "k" for request in server.requests)


@pytest.mark.parametrize("verb", VERBS)
async def test_all_clients_send_the_same_and_answer_with_what_came(verb: str) -> None:
    args, named, body = VERBS[verb]
    server = Recording(data={"total": 0})
    transport = httpx.MockTransport(server)
    stub = compat.HttpStub("http://m", "k", "i", client=httpx.Client(transport=transport))

    with MetadataClient("http://m", transport=transport) as meta:
        assert getattr(meta, verb)(*args, **named) == {"total": 0}
    async with AsyncMetadataClient("http://m", transport=transport) as twin:
        assert await getattr(twin, verb)(*args, **named) == {"total": 0}
    with compat.MetadataClient("http://m", "k", "i", stub=stub) as moved:
        assert getattr(moved, verb)(*args, **named) == {"total": 0}

    assert [json.loads(request.content) for request in server.requests] == [body] * 3
    assert len({request.url for request in server.requests}) == 1


def test_the_table_of_this_test_is_whole_and_verbs_show_their_arguments() -> None:
    verbs = {name for name in dir(MetadataClient) if not name.startswith("_")} - {"close", "with_timeout"}

    assert verbs == set(VERBS)
    for kind in (MetadataClient, AsyncMetadataClient):
        assert list(inspect.signature(kind.list_tasks).parameters) == ["where", "status", "pagination"]
        assert kind.list_tasks.__doc__
        assert inspect.signature(kind.list_tasks) == inspect.signature(kind().list_tasks)


async def test_a_refusal_is_of_the_tree_and_of_the_moved_client_its_own() -> None:
    transport = httpx.MockTransport(Recording(409))
    stub = compat.AsyncHttpStub("http://m", "k", "i", client=httpx.AsyncClient(transport=transport))

    with pytest.raises(Conflict, match="team_exists"):
        MetadataClient(transport=transport).create_team({"name": "kitchen"})
    with pytest.raises(compat.TDAMError) as caught:
        await compat.AsyncMetadataClient("http://m", "k", "i", stub=stub).create_team({"name": "kitchen"})
    assert (caught.value.code, str(caught.value)) == (409, "<TDAMError: (code=409, message=team_exists: kitchen)>")


def test_what_only_reads_is_repeated_and_a_change_is_not() -> None:
    tries = 0

    def reset(request: httpx.Request) -> httpx.Response:
        nonlocal tries
        tries += 1
        raise httpx.ReadError("reset", request=request)

    meta = MetadataClient(transport=httpx.MockTransport(reset))
    meta._pause = lambda _: None
    with pytest.raises(Unreachable):
        meta.get_team("t")
    assert tries == 4
    with pytest.raises(Unreachable):
        meta.create_team({"name": "kitchen"})
    assert tries == 5


async def test_arguments_that_are_none_are_refused_before_anything_is_sent() -> None:
    server = Recording()
    meta = AsyncMetadataClient(transport=httpx.MockTransport(server))

    for wrong in ("kitchen", ["kitchen"], 3):
        with pytest.raises(ParamError):
            await meta.create_team(wrong)  # type: ignore[arg-type]
    with pytest.raises(ParamError):
        await meta.list_teams({"name": "kitchen"})
    with pytest.raises(ParamError):
        await meta.delete_users("u1")
    assert server.requests == []


async def test_awaitables_of_verbs_can_run_side_by_side() -> None:
    meta = AsyncMetadataClient(transport=httpx.MockTransport(Recording(data={"allowed": True})))

    verdicts = await asyncio.gather(*(asyncio.create_task(meta.check_acl({"user_id": u})) for u in ("u", "v")))

    assert [verdict["allowed"] for verdict in verdicts] == [True, True]


def test_the_moved_client_reads_with_get_and_keeps_the_trace_of_an_answer() -> None:
    seen: list[tuple[str, str, bytes]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((request.method, request.url.path, request.url.query))
        return httpx.Response(200, json={"code": 0, "data": {"items": []}}, headers={"x-trace-id": "tr-1"})

    stub = compat.HttpStub("http://m/", "k", "i", client=httpx.Client(transport=httpx.MockTransport(answer)))
    with compat.MemoryPromptClient("http://m", "k", "i", team_id="home", stub=stub) as prompts:
        assert prompts.list(layer="l1") == {"items": [], "trace_id": "tr-1"}
        prompts.apply("mp-1", layer="l1")

    assert seen == [("GET", "/v3/memory-prompt/get", b"layer=l1"), ("POST", "/v3/memory-prompt/set", b"")]


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (httpx.Response(502, text="bad gateway"), 502),
        (httpx.Response(200, text="hello"), -1),
        (httpx.Response(200, json=[1]), -1),
        (httpx.Response(200, json={"code": 4291, "message": "quota"}), 4291),
        (httpx.Response(404, json={"error": "Not found"}), 404),
    ],
)
def test_the_moved_client_tells_answers_apart_as_the_contracts_sdk_does(response: httpx.Response, code: int) -> None:
    client = httpx.Client(transport=httpx.MockTransport(lambda _: response))

    with pytest.raises(compat.TDAMError) as caught:
        compat.HttpStub("http://m", "k", "i", client=client).post("/v3/core/read", {})

    assert caught.value.code == code


def test_a_client_with_a_timeout_shares_the_connection_and_bounds_all_its_calls() -> None:
    seen: list[float] = []

    def record(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"]["read"])
        return httpx.Response(200, json={"code": 0, "data": {}})

    meta = MetadataClient(transport=httpx.MockTransport(record))
    hurried = meta.with_timeout(2.0)
    hurried.get_team("t")
    meta.get_team("t")

    assert hurried._http is meta._http
    assert (1.5 < seen[0] <= 2.0, seen[1]) == (True, 30.0)
    with pytest.raises(ValueError, match="timeout"):
        meta.with_timeout(0)
