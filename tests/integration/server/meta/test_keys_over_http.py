"""User keys over HTTP: shown once, renamed, expired, revoked, and only one's own."""

from __future__ import annotations

import re
from typing import Any

import pytest

FUTURE = "2999-01-02T03:04:05.678Z"
PAST = "2020-01-01T00:00:00Z"


async def test_a_key_is_shown_once_and_opens_the_door(lin: Any) -> None:
    made = await lin("user-key/create", name="laptop", expires_at=FUTURE)

    text = made.pop("key_value")
    assert re.fullmatch(r"sk-mem-[A-Za-z0-9_-]{32}", text)
    assert re.fullmatch(r"uky-[a-z0-9]{10}", made["key_id"])
    assert made["key_prefix"] == f"sk-mem-****{text[-4:]}"
    assert made["expires_at"] == FUTURE
    assert (made["name"], made["status"], made["is_default"], made["revoked_at"]) == ("laptop", "active", False, None)
    assert await lin("user-key/get", key_id=made["key_id"]) == made
    assert (await lin("auth/verify", user_key=text))["valid"]
    listed = await lin("user-key/list")
    assert listed["total"] == 2
    assert text not in str(listed)


async def test_the_use_of_a_key_is_noted(lin: Any) -> None:
    await lin("user-key/list")

    key = (await lin("user-key/list"))["items"][0]

    assert key["last_used_at"] is not None
    assert key["is_default"]


async def test_a_revoked_key_opens_nothing_and_another_one_becomes_the_default(lin: Any) -> None:
    second = await lin("user-key/create")
    first = next(one for one in (await lin("user-key/list"))["items"] if one["is_default"])

    assert await lin("user-key/revoke", key_id=first["key_id"]) == {"ok": True}

    assert await lin.refused("user-key/list") == (401, "unauthorized")
    assert not (await lin("auth/verify", user_key=lin.key))["valid"]
    headers = {"x-tdai-user-key": second["key_value"], "x-tdai-service-id": "default"}
    left = (await lin.http.post("/v3/meta/user-key/list", json={}, headers=headers)).json()["data"]["items"]
    assert [(one["key_id"], one["is_default"]) for one in left] == [(second["key_id"], True)]


async def test_the_last_key_stays(lin: Any) -> None:
    key = (await lin("user-key/list"))["items"][0]

    assert await lin.refused("user-key/revoke", key_id=key["key_id"]) == (409, "last_key_cannot_revoke")


async def test_twenty_keys_are_enough(lin: Any) -> None:
    for _ in range(19):
        await lin("user-key/create")

    assert await lin.refused("user-key/create") == (409, "key_limit_exceeded")


async def test_a_key_is_renamed_and_its_end_is_moved_and_taken_away(lin: Any) -> None:
    key_id = (await lin("user-key/create", name="laptop", expires_at=FUTURE))["key_id"]

    renamed = await lin("user-key/update", key_id=key_id, name="desk")
    assert (renamed["name"], renamed["expires_at"]) == ("desk", FUTURE)
    endless = await lin("user-key/update", key_id=key_id, expires_at=None)
    assert (endless["name"], endless["expires_at"]) == ("desk", None)


@pytest.mark.parametrize("expires_at", [PAST, "tomorrow", "2999-01-01T00:00:00+08:00", 5])
async def test_a_time_that_is_over_or_is_none_is_refused(lin: Any, expires_at: Any) -> None:
    assert await lin.refused("user-key/create", expires_at=expires_at) == (400, "invalid_request")
    key = (await lin("user-key/list"))["items"][0]
    assert await lin.refused("user-key/update", key_id=key["key_id"], expires_at=expires_at) == (400, "invalid_request")


async def test_a_name_has_1_to_128_characters(lin: Any) -> None:
    assert (await lin("user-key/create", name="密" * 128))["name"] == "密" * 128
    for name in ("", "n" * 129):
        assert await lin.refused("user-key/create", name=name) == (400, "invalid_request")


async def test_the_keys_of_others_do_not_exist_but_for_the_administrator(admin: Any, lin: Any, new_user: Any) -> None:
    rex = await new_user("rex")
    key_id = (await rex("user-key/create", name="phone"))["key_id"]

    for verb in ("get", "revoke", "update"):
        assert await lin.refused(f"user-key/{verb}", key_id=key_id) == (404, "user_key_not_found")
    assert await lin.refused("user-key/create", user_id=rex.user_id) == (403, "permission_denied")
    assert await lin.refused("user-key/list", user_id=rex.user_id) == (403, "permission_denied")
    assert (await admin("user-key/get", key_id=key_id))["name"] == "phone"
    assert (await admin("user-key/list", user_id=rex.user_id))["total"] == 2
    assert (await admin("user-key/create", user_id=rex.user_id))["user_id"] == rex.user_id
    assert await admin.refused("user-key/create", user_id="usr-none") == (404, "user_not_found")
    assert await admin("user-key/revoke", key_id=key_id) == {"ok": True}
