"""What a model can look up with a token, and all that it cannot."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from memstrata.memory import MessageInput
from memstrata.proxy.bridge import PREFIX
from memstrata.proxy.tokens import BridgeToken, sign_token
from memstrata.records import Scope

SCOPE = Scope("default", "home", "helper", "local")


async def opened(proxy: Any, session: str = "s1") -> str:
    """Bind a session and return the token that its snapshot shows the model."""
    body = {
        "model": "m",
        "max_tokens": 9,
        "tools": [{"name": "Bash"}],
        "messages": [{"role": "user", "content": "hello"}],
    }
    prepared = await proxy.send(body, session=session)
    found = re.search(r"Bearer ([\w.-]+)", json.loads(prepared.body)["system"][-1]["text"])
    assert found is not None
    return found[1]


async def ask(
    proxy: Any, path: str, token: str = "", method: str = "GET", query: str = "", body: Any = None
) -> tuple[int, Any]:
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = await proxy.bridge.answer(method, PREFIX + path, query.encode(), headers, raw)
    return answer.status, json.loads(answer.body)


async def test_memories_messages_and_scenes_are_found(proxy: Any) -> None:
    await proxy.memory.add(SCOPE, "earlier", [MessageInput("user", "deployments go to the Lisbon cluster")])
    await proxy.memory.flush(SCOPE)
    token = await opened(proxy)

    status, found = await ask(proxy, "atomic/search", token, query="q=Lisbon+deployments")
    assert (status, found["code"]) == (200, 0)
    assert found["data"]["items"][0]["content"] == "deployments go to the Lisbon cluster"
    _, said = await ask(proxy, "conversation/search", token, "POST", body={"query": "Lisbon cluster"})
    assert said["data"]["items"][0]["session_id"] == "earlier"
    _, scenes = await ask(proxy, "scenario/ls", token)
    path = scenes["data"]["items"][0]["path"]
    _, scene = await ask(proxy, "scenario/read", token, query=f"path={path}")
    assert "Lisbon" in scene["data"]["content"]
    _, none = await ask(proxy, "scenario/read", token, query="path=none.md")
    assert none["data"]["exists"] is False
    assert (await ask(proxy, "scenario/read", token, query="path=../../etc/passwd"))[1]["code"] == 40_001
    _, listed = await ask(proxy, "atomic/query", token, query="limit=1")
    assert len(listed["data"]["items"]) == 1
    _, messages = await ask(proxy, "conversation/query", token, "POST", body={"session_id": "earlier", "limit": 10_000})
    assert len(messages["data"]["items"]) == 1


async def test_three_searches_are_all_for_one_turn(proxy: Any) -> None:
    token = await opened(proxy)
    answers = [(await ask(proxy, "atomic/search", token, query="q=x"))[0] for _ in range(4)]
    listed, _ = await ask(proxy, "scenario/ls", token)
    await proxy.send(
        {
            "model": "m",
            "max_tokens": 9,
            "tools": [{"name": "Bash"}],
            "messages": [{"role": "user", "content": "another"}],
        }
    )
    after, _ = await ask(proxy, "atomic/search", token, query="q=x")

    assert answers == [200, 200, 200, 429]
    assert (listed, after) == (200, 200)


async def test_ids_in_a_request_change_nothing(proxy: Any) -> None:
    other = Scope("default", "home", "helper", "somebody")
    await proxy.memory.add(other, "theirs", [MessageInput("user", "the secret is hidden in Porto")])
    await proxy.memory.flush(other)
    token = await opened(proxy)
    forged = {
        "query": "secret Porto",
        "user_id": "somebody",
        "team_id": "home",
        "agent_id": "helper",
        "session_id": "theirs",
    }

    _, found = await ask(proxy, "atomic/search", token, "POST", body=forged)
    _, listed = await ask(proxy, "conversation/query", token, "POST", body=forged)

    assert found["data"]["items"] == listed["data"]["items"] == []


async def test_tokens_that_are_forged_foreign_over_or_of_no_session_look_alike(proxy: Any) -> None:
    token = await opened(proxy)
    secret = b"a secret of the tests"
    unbound = sign_token(BridgeToken("default", "local", "claude-code", "s9", 1 << 60), secret)
    foreign = sign_token(BridgeToken("other", "local", "claude-code", "s1", 1 << 60), secret)
    over = sign_token(BridgeToken("default", "local", "claude-code", "s1", 1), secret)
    answers = [await ask(proxy, "atomic/search", one, query="q=x") for one in ("", token[:-1], unbound, foreign, over)]

    assert all(answer == answers[0] for answer in answers)
    assert (answers[0][0], answers[0][1]["code"]) == (401, 40_101)


@pytest.mark.parametrize(
    ("path", "method", "body", "status", "code"),
    [
        ("atomic", "GET", None, 404, 40_401),
        ("atomic/search/more", "GET", None, 404, 40_401),
        ("../v3/atomic/delete", "POST", {}, 404, 40_401),
        ("atomic/delete", "POST", {"ids": ["m"]}, 403, 40_301),
        ("conversation/add", "POST", {}, 403, 40_301),
        ("core/write", "POST", {}, 403, 40_301),
        ("core/read", "POST", {}, 403, 40_301),
        ("atomic/search", "DELETE", None, 405, 40_501),
        ("atomic/search", "POST", [1], 400, 40_001),
        ("atomic/search", "POST", b"{no", 400, 40_001),
        ("atomic/search", "POST", {}, 400, 40_001),
        ("atomic/search", "POST", {"query": "x", "limit": "many"}, 400, 40_001),
        ("atomic/search", "POST", b"x" * 20_000, 413, 41_301),
    ],
)
async def test_what_is_no_reading_is_refused(
    proxy: Any, path: str, method: str, body: Any, status: int, code: int
) -> None:
    token = await opened(proxy)

    answer = await ask(proxy, path, token, method, body=body)

    assert (answer[0], answer[1]["code"]) == (status, code)


async def test_an_answer_stays_small_and_a_session_that_is_off_is_closed(proxy: Any) -> None:
    for at in range(30):
        await proxy.memory.add(SCOPE, f"s{at}", [MessageInput("user", f"fact {at} " + "words and more " * 100)])
    token = await opened(proxy)

    _, found = await ask(proxy, "conversation/query", token, query="limit=50")
    assert found["data"]["truncated"] is True
    assert len(json.dumps(found)) < 10_000

    proxy.transport.down = True
    status, failed = await ask(proxy, "scenario/ls", token)
    assert (status, failed["code"]) == (502, 50_301)
    proxy.transport.down = False
    await proxy.send(
        {
            "model": "m",
            "max_tokens": 9,
            "tools": [{"name": "Bash"}],
            "messages": [{"role": "user", "content": "mem:off"}],
        }
    )
    assert (await ask(proxy, "scenario/ls", token))[0] == 401
