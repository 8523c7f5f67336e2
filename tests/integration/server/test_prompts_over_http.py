"""`/memory-prompt/*` as its clients see it: both verbs, strict objects, the contract's codes, and the clients of ours."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from memstrata.client import AsyncMemoryPromptClient, InvalidRequest, MemoryPromptClient, NotFound

HEADERS = {"authorization": "Bearer local", "x-tdai-service-id": "default"}
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"

MISTAKES: list[tuple[str, Any, str]] = [
    ("create", {"name": "n", "layer": "l1", "prompt": "p", "user_id": "u"}, 'request: unrecognized key: "user_id"'),
    ("create", {"name": "n", "layer": "l4", "prompt": "p"}, "layer: expected one of l1, l2, l3"),
    ("create", {"name": "n", "layer": "l1"}, "prompt: required"),
    ("create", {"name": " ", "layer": "l1", "prompt": "p"}, "name: must not be empty"),
    ("create", [], "request: expected object"),
    ("get", {"memory_prompt_id": "mp-1", "team_id": "t"}, "request: "),
    ("get", {"team_id": "t"}, "layer: required"),
    ("get", {"agent_id": "a", "layer": "l1"}, "agent_id: needs a team_id"),
    ("get", {"limit": 101}, "limit: "),
    ("update", {"memory_prompt_id": "mp-1"}, "request: "),
    ("delete", {"memory_prompt_ids": []}, "memory_prompt_ids: "),
    ("set", {"action": "replace", "layer": "l1"}, "action: expected one of apply, clear"),
    ("set", {"action": "apply", "layer": "l1"}, "memory_prompt_id: required"),
    ("set", {"action": "clear", "layer": "l1", "memory_prompt_id": "mp-1"}, "memory_prompt_id: "),
    ("set", {"action": "clear", "layer": "l1", "agent_ids": ["a"]}, "agent_ids: needs a team_id"),
    ("set", {"action": "clear", "layer": "l1", "team_id": ""}, "team_id: "),
    ("set", {"action": "clear", "layer": "l1", "team_id": "t", "agent_ids": []}, "agent_ids: "),
    ("setting/list", {"agent_id": "a"}, "agent_id: needs a team_id"),
    ("setting/list", {"total": True}, 'request: unrecognized key: "total"'),
    ("log", {}, "request: "),
    ("log", {"team_id": "t", "start_time": "2026-01-01T00:00:00Z"}, "end_time: "),
    ("log", {"team_id": "t", "start_time": "2026-01-01", "end_time": "2026-01-02"}, "start_time: "),
    (
        "log",
        {"team_id": "t", "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-04-02T00:00:00Z"},
        "end_time: at most 90 days",
    ),
]


@pytest.fixture
async def api(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"{url}/v3/memory-prompt/", headers=HEADERS) as client:
        yield client


@pytest.fixture
async def operator(url: str) -> AsyncIterator[AsyncMemoryPromptClient]:
    async with AsyncMemoryPromptClient(url, operator="lin") as client:
        yield client


async def data(response: httpx.Response) -> Any:
    assert response.status_code == 200, response.text
    assert response.json()["code"] == 0
    return response.json()["data"]


async def create(api: httpx.AsyncClient, **given: Any) -> str:
    body = {"name": "diet", "layer": "l1", "prompt": "look for 饮食", **given}
    return str((await data(await api.post("create", json=body)))["memory_prompt_id"])


async def test_a_prompt_is_created_read_changed_and_listed(api: httpx.AsyncClient) -> None:
    body = {"name": " diet ", "layer": "l1", "prompt": "look for 饮食"}
    created = await data(await api.post("create", json=body, headers={b"x-tdai-user-id": "林".encode()}))

    assert set(created) == {"memory_prompt_id", "version", "created_at_ms"}
    assert re.fullmatch(f"mp-{UUID}", created["memory_prompt_id"])
    found = await data(await api.get("get", params={"memory_prompt_id": created["memory_prompt_id"]}))
    assert found == {
        "memory_prompt_id": created["memory_prompt_id"],
        "name": "diet",
        "layer": "l1",
        "prompt": "look for 饮食",
        "version": 1,
        "status": "active",
        "created_by": "林",
        "updated_by": "林",
        "created_at_ms": created["created_at_ms"],
        "updated_at_ms": created["created_at_ms"],
    }
    change = {"memory_prompt_id": created["memory_prompt_id"], "name": "tea"}
    changed = await data(await api.post("update", json=change))
    assert (set(changed), changed["version"]) == ({"memory_prompt_id", "version", "updated_at_ms"}, 2)
    (item,) = (await data(await api.post("get", json={"layer": "l1", "limit": 5})))["items"]
    assert (item["name"], item["created_by"], item["updated_by"]) == ("tea", "林", "default")
    assert await data(await api.get("get", params={"layer": "l2"})) == {"items": []}


async def test_the_prompt_in_force_is_the_built_in_one_or_the_narrowest_that_is_bound(api: httpx.AsyncClient) -> None:
    target = {"team_id": "home", "agent_id": "assistant", "layer": "l1"}
    assert await data(await api.get("get", params=target)) == {
        "memory_prompt_id": "builtin:l1",
        "prompt": "",
        "layer": "l1",
        "source": "system",
        "version": 1,
    }

    prompt_id = await create(api)
    bind = {"action": "apply", "layer": "l1", "memory_prompt_id": prompt_id, "team_id": "home"}
    assert await data(await api.post("set", json=bind)) == {"affected": 1}
    assert await data(await api.post("set", json=bind)) == {"affected": 0}
    found = await data(await api.post("get", json=target))
    assert (found["memory_prompt_id"], found["prompt"], found["source"]) == (prompt_id, "look for 饮食", "team")


async def test_bindings_and_their_history_have_the_contracts_form(api: httpx.AsyncClient) -> None:
    prompt_id = await create(api)
    whom = {"team_id": "home", "agent_ids": ["assistant"]}
    await api.post("set", json={"action": "apply", "layer": "l1", "memory_prompt_id": prompt_id, **whom})
    (bound,) = (await data(await api.get("setting/list", params={"target_type": "agent"})))["items"]
    await api.post("set", json={"action": "clear", "layer": "l1", **whom})

    assert bound == {
        "setting_id": "mps:a:05aba397c9aeee59052d946a5f4352a2:l1",
        "target_type": "agent",
        "team_id": "home",
        "agent_id": "assistant",
        "layer": "l1",
        "memory_prompt_id": prompt_id,
        "updated_by": "default",
        "updated_at_ms": bound["updated_at_ms"],
    }
    log = await data(await api.get("log", params={"memory_prompt_id": prompt_id, "time_order": "asc"}))
    applied, cleared = log["items"]
    assert re.fullmatch(r"mpsl-[0-9a-f-]{36}", applied.pop("setting_log_id"))
    assert applied.pop("operated_at_ms") == bound["updated_at_ms"]
    assert applied == {
        "target_type": "agent",
        "team_id": "home",
        "agent_id": "assistant",
        "layer": "l1",
        "action": "apply",
        "reason": "explicit",
        "before_memory_prompt_id": None,
        "after_memory_prompt_id": prompt_id,
        "operator_id": "default",
    }
    assert (cleared["action"], cleared["before_memory_prompt_id"], cleared["after_memory_prompt_id"]) == (
        "clear",
        prompt_id,
        None,
    )


async def test_the_log_of_a_team_is_not_that_of_its_agents(api: httpx.AsyncClient) -> None:
    prompt_id = await create(api)
    bind = {"action": "apply", "layer": "l1", "memory_prompt_id": prompt_id}
    await api.post("set", json=bind)
    await api.post("set", json={**bind, "team_id": "home"})
    await api.post("set", json={**bind, "team_id": "home", "agent_ids": ["a", "b"]})

    async def targets(**query: str) -> list[tuple[str | None, str | None]]:
        items = (await data(await api.get("log", params={**query, "time_order": "asc"})))["items"]
        return [(item["team_id"], item["agent_id"]) for item in items]

    assert await targets(team_id="home") == [("home", None)]
    assert await targets(team_id="home", agent_id="b") == [("home", "b")]
    assert await targets(target_type="instance") == [(None, None)]
    assert len(await targets(memory_prompt_id=prompt_id)) == 4
    assert await targets(memory_prompt_id=prompt_id, action="clear") == []


async def test_deleting_answers_with_what_was_cleared(api: httpx.AsyncClient) -> None:
    prompt_id = await create(api)
    await api.post("set", json={"action": "apply", "layer": "l1", "memory_prompt_id": prompt_id})

    refused = await api.post("delete", json={"memory_prompt_ids": [prompt_id, "mp-unknown"]})
    assert (refused.status_code, refused.json()["message"]) == (
        404,
        "MEMORY_PROMPT_NOT_FOUND: batch delete requires every id to exist",
    )
    assert await data(await api.post("delete", json={"memory_prompt_ids": [prompt_id]})) == {
        "deleted_prompt_ids": [prompt_id],
        "cleared_settings": {"instance": 1, "team": 0, "agent": 0},
    }
    (change,) = (await data(await api.get("log", params={"target_type": "instance", "action": "clear"})))["items"]
    assert change["reason"] == "prompt_deleted"


async def test_what_the_contract_does_not_have_is_400_and_named(api: httpx.AsyncClient) -> None:
    for verb, body, message in MISTAKES:
        response = await api.post(verb, json=body)
        assert (response.status_code, response.json()["code"]) == (400, 400), (verb, body)
        assert response.json()["message"].startswith(message)


async def test_a_query_string_is_as_strict_as_a_body(api: httpx.AsyncClient) -> None:
    for verb in ("get", "setting/list", "log"):
        for query in ("shoe_size=44", "limit=many", "limit=5&limit=6", "team_id=%ff", "a=1&" * 40):
            response = await api.get(f"{verb}?{query}")
            assert (response.status_code, response.json()["code"]) == (400, 400), (verb, query)


async def test_a_prompt_of_another_layer_or_unknown_cannot_be_applied(api: httpx.AsyncClient) -> None:
    prompt_id = await create(api, layer="l2")
    bind = {"action": "apply", "layer": "l1", "memory_prompt_id": prompt_id}

    mismatch = await api.post("set", json=bind)
    unknown = await api.post("set", json={**bind, "memory_prompt_id": "mp-unknown"})

    assert (mismatch.status_code, mismatch.json()["message"].split(":")[0]) == (400, "PROMPT_LAYER_MISMATCH")
    assert (unknown.status_code, unknown.json()["message"].split(":")[0]) == (404, "MEMORY_PROMPT_NOT_FOUND")


async def test_ids_in_headers_narrow_no_read(api: httpx.AsyncClient) -> None:
    prompt_id = await create(api)
    headers = {"x-tdai-team-id": "other", "x-tdai-agent-id": "other", "x-tdai-user-id": "other"}

    found = await data(await api.get("get", headers=headers))

    assert [item["memory_prompt_id"] for item in found["items"]] == [prompt_id]


async def test_another_instance_sees_nothing_of_it(api: httpx.AsyncClient) -> None:
    prompt_id = await create(api)
    await api.post("set", json={"action": "apply", "layer": "l1", "memory_prompt_id": prompt_id, "team_id": "home"})
    other = {"x-tdai-service-id": "other"}

    assert (await api.get("get", params={"memory_prompt_id": prompt_id}, headers=other)).status_code == 404
    assert (await data(await api.get("get", headers=other)))["items"] == []
    assert (await data(await api.get("setting/list", headers=other)))["items"] == []
    assert (await data(await api.get("log", params={"memory_prompt_id": prompt_id}, headers=other)))["items"] == []
    in_force = await data(await api.get("get", params={"team_id": "home", "layer": "l1"}, headers=other))
    assert in_force["source"] == "system"


async def test_the_client_speaks_all_of_it(operator: AsyncMemoryPromptClient) -> None:
    first = await operator.create(name="饮食", layer="l1", prompt="look for food")
    second = await operator.create(name="tea", layer="l1", prompt="look for tea")

    assert (await operator.get(first)).name == "饮食"
    assert [one.id for one in await operator.list(layer="l1", limit=1, offset=1)] == [first]
    assert await operator.update(first, prompt="look for 食物") == 2
    assert await operator.apply(first, layer="l1", team="home") == 1
    assert await operator.apply(second, layer="l1", team="home", agents=["a", "b"]) == 2
    assert (await operator.get_effective(layer="l1", team="home", agent="c")).prompt == "look for 食物"
    assert {one.agent for one in await operator.list_settings(team="home")} == {None, "a", "b"}
    assert await operator.clear(layer="l1", team="home", agents=["a"]) == 1
    gone = await operator.delete([second])
    assert (gone.prompt_ids, gone.cleared) == ((second,), {"instance": 0, "team": 0, "agent": 1})
    now = datetime.now(UTC)
    changes = await operator.list_setting_logs(
        team="home", agent="b", since=now - timedelta(days=1), until=now + timedelta(days=1), time_order="asc"
    )
    assert [(one.action, one.operator) for one in changes] == [("apply", "lin"), ("clear", "lin")]
    assert changes[-1].reason == "prompt_deleted"


async def test_the_clients_errors_are_those_of_the_tree(operator: AsyncMemoryPromptClient) -> None:
    with pytest.raises(NotFound):
        await operator.get("mp-unknown")
    with pytest.raises(InvalidRequest, match="agent_ids"):
        await operator.clear(layer="l1", team="home", agents=[])
    with pytest.raises(ValueError, match="time zone"):
        await operator.list_setting_logs(team="home", since=datetime(2026, 1, 1), until=None)  # noqa: DTZ001


def test_the_blocking_client_has_the_same_verbs() -> None:
    def verbs(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert verbs(MemoryPromptClient) == verbs(AsyncMemoryPromptClient)
