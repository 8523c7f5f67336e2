"""Limits of an instance, and what users set for themselves, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest


async def test_the_limits_are_told(lin: Any) -> None:
    assert await lin("instance-quota/get") == {"max_users_per_instance": 500, "max_teams_per_instance": 100}


async def test_a_hundred_teams_are_enough(lin: Any) -> None:
    for number in range(99):
        await lin("team/create", name=f"team {number}", owner_user_id=lin.user_id)

    refused = await lin.refused("team/create", name="one more", owner_user_id=lin.user_id)

    assert refused == (409, "team_limit_exceeded")


async def test_a_module_is_shown_with_what_is_in_force(lin: Any) -> None:
    shown = await lin("config/user/get", user_id=lin.user_id, module="asset_type")

    assert (shown["user_id"], shown["module"]) == (lin.user_id, "asset_type")
    assert shown["module_description"]
    assert [(item["param_name"], item["effective_value"]) for item in shown["items"]] == [
        ("skill.enabled", "1"),
        ("llm_wiki.enabled", "1"),
        ("code_graph.enabled", "1"),
        ("chat_memory.enabled", "1"),
    ]
    assert set(shown["items"][0]) == {"module", "param_name", "param_key", "description", "effective_value"}


async def test_a_user_sets_values_for_oneself_alone(lin: Any, new_user: Any) -> None:
    rex = await new_user("rex")

    done = await lin("config/user/set", user_id=lin.user_id, module="asset_type", params={"skill.enabled": "0"})
    assert done == {"ok": True}

    async def value(person: Any) -> str:
        asked = {"user_id": person.user_id, "module": "asset_type", "param_name": "skill.enabled"}
        (item,) = (await person("config/user/get", **asked))["items"]
        return str(item["effective_value"])

    assert (await value(lin), await value(rex)) == ("0", "1")
    for verb, more in (("get", {}), ("set", {"params": {"skill.enabled": "0"}})):
        refused = await lin.refused(f"config/user/{verb}", user_id=rex.user_id, module="asset_type", **more)
        assert refused == (403, "permission_denied")


@pytest.mark.parametrize(
    ("module", "params", "code"),
    [
        ("quota", {"max_users_per_instance": "1"}, "invalid_param_scope"),
        ("asset_type", {"skill.enabled": "1", "skill": "1"}, "invalid_param_key"),
        ("asset_type", {"skill": "2"}, "invalid_param_key"),
        ("asset_type", {"skill.enabled": "yes"}, "invalid_param_value"),
        ("asset_type", {"skill.enabled": 1}, "invalid_request"),
        ("nothing", {"skill.enabled": "1"}, "unknown_module"),
    ],
)
async def test_what_cannot_be_set_changes_nothing(lin: Any, module: str, params: Any, code: str) -> None:
    refused = await lin.refused("config/user/set", user_id=lin.user_id, module=module, params=params)

    assert refused == (400, code)
    shown = await lin("config/user/get", user_id=lin.user_id, module="asset_type")
    assert {item["effective_value"] for item in shown["items"]} == {"1"}


async def test_what_is_not_there_is_not_shown(lin: Any) -> None:
    quota = await lin("config/user/get", user_id=lin.user_id, module="quota")
    assert {item["param_name"]: item["effective_value"] for item in quota["items"]} == {
        "max_users_per_instance": "500",
        "max_teams_per_instance": "100",
    }
    for body, code in (
        ({"module": "none"}, "unknown_module"),
        ({"module": "quota", "param_name": "x"}, "invalid_param_key"),
    ):
        assert await lin.refused("config/user/get", user_id=lin.user_id, **body) == (400, code)
