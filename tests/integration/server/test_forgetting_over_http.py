"""Forgetting and policies through client, server and store: what is asked, what is refused, what others keep."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from memstrata.client import AsyncMemoryClient, InvalidRequest, NotFound

Eventually = Callable[..., Awaitable[None]]
HEADERS = {"authorization": "Bearer x", "x-tdai-service-id": "default"}


@pytest.fixture
async def maya(url: str) -> AsyncIterator[AsyncMemoryClient]:
    async with AsyncMemoryClient(url, team="acme", agent="helper", user="maya") as client:
        yield client


async def say(client: AsyncMemoryClient, session: str, text: str, **given: Any) -> str:
    receipt = await client.add([{"role": "user", "content": text, **given}], session=session)
    return receipt.message_ids[0]


async def test_a_dry_run_names_what_then_goes_with_a_receipt(maya: AsyncMemoryClient, eventually: Eventually) -> None:
    one = await say(maya, "s1", "Remember: I live in Lisbon.")
    await say(maya, "s1", "Remember: I love oolong tea.")
    await maya.flush()

    foreseen = await maya.forgettable(message_ids=[one])
    assert (foreseen.message_ids, foreseen.session_ids, foreseen.counts["memories"]) == ((one,), (), 1)
    assert await maya.count_messages() == 2

    receipt = await maya.forget(message_ids=[one])
    assert receipt.counts == foreseen.counts
    assert (await maya.forgetting_receipt(receipt.id)).counts == foreseen.counts

    async def complete() -> bool:
        return (await maya.forgetting_receipt(receipt.id)).complete

    await eventually(complete)
    assert "Lisbon" not in str((await maya.memories()).items)
    assert await maya.count_messages() == 1


@pytest.mark.parametrize(
    ("part", "left"),
    [
        ({"user": True}, {"acme/helper/max"}),
        ({"user": True, "team_only": True}, {"acme/helper/max", "other/helper/maya"}),
        ({"agent": True}, {"acme/coder/maya", "other/helper/maya"}),
        ({"user": True, "agent": True}, {"acme/coder/maya", "acme/helper/max", "other/helper/maya"}),
        ({"since": "2026-01-01T00:00:00Z"}, {"acme/coder/maya", "acme/helper/max", "other/helper/maya"}),
    ],
)
async def test_who_is_forgotten_is_what_was_said_and_nobody_else(
    maya: AsyncMemoryClient, part: dict[str, Any], left: set[str]
) -> None:
    scopes = {
        "acme/helper/maya": maya,
        "acme/coder/maya": maya.with_scope(agent="coder"),
        "acme/helper/max": maya.with_scope(user="max"),
        "other/helper/maya": maya.with_scope(team="other"),
    }
    for client in scopes.values():
        await say(client, "s1", "I live in Lisbon", timestamp="2026-01-02T00:00:00Z")

    with pytest.raises(InvalidRequest, match="confirm"):
        await maya.forget(**part)
    assert [await client.count_messages() for client in scopes.values()] == [1, 1, 1, 1]
    assert (await maya.forget(**part, confirm=True)).counts["messages"] == 4 - len(left)
    assert {name for name, client in scopes.items() if await client.count_messages()} == left


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"confirm": True},
        {"user": True, "message_ids": ["m"], "confirm": True},
        {"team_only": True, "message_ids": ["m"]},
        {"user": True, "agent": True, "team_only": True, "confirm": True},
        {"message_ids": []},
        {"message_ids": [" "]},
        {"memory_ids": ["m"], "time_start": "2026-01-01T00:00:00Z", "confirm": True},
        {"time_start": "2026-01-02T00:00:00Z", "time_end": "2026-01-01T00:00:00Z", "confirm": True},
        {"time_start": "yesterday", "confirm": True},
        {"user": "maya", "confirm": True},
    ],
)
async def test_a_request_that_says_nothing_or_two_things_takes_nothing(
    url: str, maya: AsyncMemoryClient, body: dict[str, Any]
) -> None:
    await say(maya, "s1", "I live in Lisbon")
    async with httpx.AsyncClient(headers=HEADERS) as http:
        scope = {"team_id": "acme", "agent_id": "helper", "user_id": "maya"}
        answer = await http.post(f"{url}/v3/forget", json={**scope, **body})

    assert answer.status_code == 400
    assert await maya.count_messages() == 1


async def test_ids_of_others_reach_nothing(maya: AsyncMemoryClient) -> None:
    theirs = await say(maya.with_scope(user="max"), "s1", "I live in Porto")

    receipt = await maya.forget(message_ids=[theirs], session_ids=["s1"])

    assert set(receipt.counts.values()) == {0}
    assert await maya.with_scope(user="max").count_messages() == 1


async def test_a_receipt_of_another_instance_is_not_there(url: str, maya: AsyncMemoryClient) -> None:
    receipt = await maya.forget(message_ids=["none"])
    async with AsyncMemoryClient(url, instance="other", team="acme", agent="helper", user="maya") as other:
        with pytest.raises(NotFound):
            await other.forgetting_receipt(receipt.id)
    async with httpx.AsyncClient(headers=HEADERS) as http:
        by_query = await http.get(f"{url}/v3/forget/receipt", params={"forgetting_id": receipt.id})
    assert by_query.json()["data"]["forgetting_id"] == receipt.id


async def test_the_narrowest_policy_holds_rule_by_rule(url: str, maya: AsyncMemoryClient) -> None:
    usual = await maya.policy()
    assert (usual.policy, usual.retention_days) == (None, 0)

    await maya.set_policy(retention_days=365)
    await maya.set_policy(team="acme", redact_secrets=False)
    await maya.set_policy(agent="helper", retention_days=90)
    await maya.set_policy(user="maya", retention_days=0)

    async def days(*, team: str, agent: str, user: str) -> int:
        return (await maya.policy(team=team, agent=agent, user=user)).retention_days

    assert await days(team="acme", agent="helper", user="maya") == 0
    assert await days(team="acme", agent="helper", user="max") == 90
    assert await days(team="acme", agent="coder", user="max") == 365
    assert (await maya.policy(team="acme", agent="helper", user="maya")).redact_secrets is False
    assert (await maya.policy(team="other", agent="helper", user="maya")).redact_secrets is True
    found = await maya.policies(limit=2)
    assert (found.total, [item.retention_days for item in found.items]) == (4, [365, 0])
    async with AsyncMemoryClient(url, instance="other", team="acme", agent="helper", user="maya") as other:
        assert (await other.policies()).total == 0
        assert (await other.policy(user="maya")).policy is None

    assert (await maya.set_policy(user="maya")).policy is None
    assert await days(team="acme", agent="helper", user="maya") == 90
    with pytest.raises(InvalidRequest):
        await maya.set_policy(retention_days=-1)
