"""The bridge under attack, over HTTP: whatever a model or another session sends, it reads its own memory or nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from yarl import URL

from memstrata.records.proxy import DefaultBinding
from memstrata.testing.upstream import Call, Says

from .clients import SHAPES, Talk
from .world import OTHER_KEY, USER_KEY, People, Proxies, World

SECRET = "the deployments of Lisbon run on Fridays"
OTHERS = "Kai keeps the plans in Porto"
SEARCH = "/memory-bridge/v3/atomic/search"


async def token_of(world: World, proxies: Proxies, key: str, session: str) -> str:
    """Return the token in a session's system block."""
    talk = Talk(SHAPES["hermes"], session, credentials={"x-tdai-user-key": key})
    talk.ask("hello")
    assert (await talk.send(proxies)).bypass == ""
    found = re.search(r"Bearer ([^']+)'", world.upstream.requests[-1].body.decode())
    assert found is not None
    return found[1]


async def ask(
    proxies: Proxies, token: str, path: str = SEARCH, *, method: str = "POST", headers: Any = None, body: Any = None
) -> tuple[int, dict[str, Any]]:
    given = {"authorization": f"Bearer {token}"} if token else {}
    url = proxies.urls[0] + path
    async with proxies.http.request(method, url, headers={**given, **(headers or {})}, json=body) as answer:
        return answer.status, json.loads(await answer.read())


async def bind_lin(proxies: Proxies, people: People) -> None:
    """Let every session of lin belong to the agent of her blue team."""
    place = DefaultBinding(people.blue, people.blue_agent)
    await proxies.store.write(lambda r: r.proxy.bindings.put_default("default", people.lin, place))


async def test_forged_ids_change_nothing_and_foreign_tokens_open_nothing(world: World, people: People) -> None:
    await world.remember(SECRET, team=people.blue, agent=people.blue_agent, user=people.lin)
    async with world.proxies() as proxies:
        await bind_lin(proxies, people)
        lin = await token_of(world, proxies, USER_KEY, "session-1")
        kai = await token_of(world, proxies, OTHER_KEY, "session-1")
        forged = {
            "query": "deployments of Lisbon",
            "user_id": people.lin,
            "agent_id": people.blue_agent,
            "team_id": people.blue,
            "session_id": "session-1",
            "limit": 10**9,
        }
        headers = {
            "x-tdai-service-id": "default",
            "x-tdai-user-id": people.lin,
            "x-tdai-agent-id": people.blue_agent,
            "x-tdai-team-id": people.blue,
            "x-conversation-id": "session-1",
        }
        status, own = await ask(proxies, lin, body={"query": "deployments of Lisbon"})
        assert status == 200
        assert SECRET in json.dumps(own)
        status, others = await ask(proxies, kai, headers=headers, body=forged)
        assert status == 200
        assert others["data"]["items"] == []

        (hers, _, mark), (his, _, _) = lin.rpartition("."), kai.rpartition(".")
        wrong = [
            "",
            "x",
            hers,
            f"{hers}.{mark[::-1]}",
            f"{his}.{mark}",
            lin[:-4],
            f"{lin}.{mark}",
            f"{hers[:-1]}.{mark}",
        ]
        answers = [await ask(proxies, one, headers=headers, body=forged) for one in wrong]
        assert {status for status, _ in answers} == {401}
        assert len({json.dumps(said) for _, said in answers}) == 1


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/memory-bridge/v3/conversation/add", 403),
        ("POST", "/memory-bridge/v3/atomic/delete", 403),
        ("POST", "/memory-bridge/v3/core/read", 403),
        ("POST", "/memory-bridge/v3/core/write", 403),
        ("POST", "/memory-bridge/v3/scenario/write", 403),
        ("POST", "/memory-bridge/v3/atomic/search/../../../v3/forget", 404),
        ("POST", "/memory-bridge/v3/..%2Fforget", 404),
        ("DELETE", SEARCH, 405),
        ("PUT", SEARCH, 405),
    ],
)
async def test_nothing_can_be_written_through_the_bridge(world: World, method: str, path: str, status: int) -> None:
    async with world.proxies() as proxies:
        token = await token_of(world, proxies, "", "session-1")
        before = world.link.asked.copy()
        url = URL(proxies.urls[0] + path, encoded=True)
        async with proxies.http.request(method, url, headers={"authorization": f"Bearer {token}"}, json={}) as answer:
            assert answer.status in (status, 403, 404)
        assert world.link.asked == before


async def test_three_searches_a_turn_and_a_short_answer_whatever_limit_is_asked_for(world: World) -> None:
    async with world.core(session="earlier") as core:
        for at in range(20):
            await core.add([("user", f"note {at} on Lisbon: " + f"part {at} " * 200), ("assistant", "Noted.")])
    async with world.proxies() as proxies:
        token = await token_of(world, proxies, "", "session-1")
        talk = Talk(SHAPES["hermes"])
        talk.ask("which notes are there?")
        world.upstream.script(Says("I look.", (Call("Bash", {}),)))
        await talk.send(proxies)
        path = "/memory-bridge/v3/conversation/search?q=note+on+Lisbon&limit=1000000"
        answers = [await ask(proxies, token, path, method="GET") for _ in range(4)]
        assert [status for status, _ in answers] == [200, 200, 200, 429]
        assert answers[0][1]["data"]["truncated"] is True
        assert 1 < len(answers[0][1]["data"]["items"]) <= 50
        assert len(json.dumps(answers[0][1], ensure_ascii=False)) < 10_000
        talk.run_tools()
        await talk.send(proxies)
        talk.ask("another question")
        await talk.send(proxies)
        assert (await ask(proxies, token, path, method="GET"))[0] == 200


async def test_a_token_is_of_one_instance(world: World) -> None:
    async with world.core(instance="other", session="earlier") as core:
        await core.add([("user", OTHERS), ("assistant", "Noted.")])
    async with world.proxies() as proxies:
        token = await token_of(world, proxies, "", "session-1")
        path = "/memory-bridge/v3/conversation/search?q=Porto&instance=other"
        status, said = await ask(proxies, token, path, method="GET", headers={"x-tdai-service-id": "other"})
    assert status == 200
    assert OTHERS not in json.dumps(said)
