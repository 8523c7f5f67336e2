"""What the client sends and what the provider answers go through as they are; keys stay where they belong."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from memstrata.testing.upstream import Fails, FakeUpstream, Manner, Says, Sends

from .clients import SHAPES, Talk, bare
from .world import GATEWAY_KEY, OTHER_KEY, USER_KEY, LogLines, People, World

STRANGE = (
    '{ "model" : "m-1" ,"max_tokens":1e3, "unknown":{"b":1.0,"a":[1,2,{"\\u00e9":"\\ud83d\\ude00"}]},\n'
    '  "temperature":0.70,"stream":%s,"messages":[{"role":"user","content":"hello\\u4f60","x":null}], "z":12345678901234567890,\n'
    ' "tools":[{"name":"Bash" ,"input_schema":{"type":"object"}}]}'
)
PATHS = {
    "anthropic": "/claude-code/default/v1/messages",
    "chat": "/codebuddy/default/v1/chat/completions",
    "responses": "/codex/default/v1/responses",
}
SESSION = {"x-conversation-id": "session-1"}


@pytest.fixture
def logged() -> Iterator[LogLines]:
    """Every line that is logged while the test runs, however fine."""
    lines, root = LogLines(), logging.getLogger()
    level = root.level
    root.addHandler(lines)
    root.setLevel(logging.DEBUG)
    yield lines
    root.setLevel(level)
    root.removeHandler(lines)


def apart(sent: bytes, received: bytes) -> list[bytes]:
    """Return what stands in `received` and not in `sent`, if the latter is the former with insertions; else fail."""
    added, at, rest = bytearray(), 0, 0
    found: list[bytes] = []
    while rest < len(received):
        if at < len(sent) and sent[at] == received[rest] and not added:
            at, rest = at + 1, rest + 1
            continue
        tail = sent[at : at + 40]
        end = received.find(tail, rest) if tail else len(received)
        assert end >= 0, "something of the client's is gone"
        found.append(received[rest:end])
        rest, added = end, bytearray()
        if not tail:
            break
        at, rest = at + len(tail), rest + len(tail)
    assert at == len(sent)
    return found


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_a_main_request_differs_only_where_something_was_inserted(world: World, stream: str) -> None:
    sent = (STRANGE % stream).encode()
    async with world.proxies() as proxies:
        reply = await proxies.post(
            f"{PATHS['anthropic']}?beta=true&x=%20a+b",
            sent,
            {**SESSION, "x-api-key": "sk-real", "anthropic-beta": "a,b", "x-own": "1"},
        )
    (seen,) = world.upstream.requests

    assert reply.bypass == ""
    assert seen.target == "/v1/messages?beta=true&x=%20a+b"
    assert (seen.named["anthropic-beta"], seen.named["x-own"], seen.named["x-api-key"]) == ("a,b", "1", "sk-real")
    assert "x-conversation-id" in seen.named
    inserted = apart(sent, seen.body)
    assert inserted
    assert all(b"memstrata" in one for one in inserted)
    assert bare(json.loads(seen.body)) | {"system": None} == json.loads(sent) | {"system": None}


@pytest.mark.parametrize(
    "path",
    [
        "/claude-code/default/v1/models?limit=1",
        "/hermes/default/v1/embeddings",
        "/dsh/default/completions?x=1",
        "/codex/default/v1/files/1?purpose=x",
    ],
)
async def test_what_is_no_conversation_goes_byte_by_byte(world: World, path: str) -> None:
    sent = b'{"input": "\xe4\xbd\xa0", "n":1.00 ,"n2":[]}'
    world.upstream.script(Sends(b"\x00\x01 anything \xff", "application/octet-stream"))
    async with world.proxies() as proxies:
        method, body = ("GET", None) if "models" in path else ("POST", sent)
        headers = {"authorization": "Bearer sk-real"}
        async with proxies.http.request(method, proxies.urls[0] + path, headers=headers, data=body) as answer:
            got = await answer.read()
    (seen,) = world.upstream.requests

    assert seen.target.endswith(path.partition("default")[2].removeprefix("/v1"))
    assert seen.body == (b"" if "models" in path else sent)
    assert got == b"\x00\x01 anything \xff"


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize("status", [400, 429, 529])
async def test_a_refusal_of_the_provider_comes_as_it_is(world: World, wire: str, status: int) -> None:
    refusal = b'{ "type":"error", "odd" : 1.0, "message":"\xc3\xa9"}\n'
    headers = {"retry-after": "7", "request-id": "req_1", "x-should-retry": "true"}
    world.upstream.script(Fails(status, refusal, headers))
    async with world.proxies() as proxies:
        reply = await proxies.post(PATHS[wire], (STRANGE % "true").encode(), {**SESSION, "x-api-key": "k"})

    assert (reply.status, reply.body) == (status, refusal)
    assert {name: reply.headers[name] for name in headers} == headers


@pytest.mark.parametrize("wire", PATHS)
async def test_nobody_without_a_key_gets_through_and_is_told_in_the_clients_protocol(
    world: World, people: People, wire: str
) -> None:
    body = (STRANGE % "true").encode()
    async with world.proxies() as proxies:
        for given in (
            {},
            {"x-tdai-user-key": "sk-mem-nobody-000000"},
            {"authorization": "Bearer sk-mem-nobody-000000"},
        ):
            reply = await proxies.post(PATHS[wire], body, {**SESSION, **given})
            said = json.loads(reply.body)
            assert reply.status == 401
            assert said["error"]["message"]
            if wire == "anthropic":
                assert (said["type"], said["error"]["type"]) == ("error", "authentication_error")
            else:
                assert {"message", "type", "code"} <= said["error"].keys()
    assert world.upstream.requests == []


async def test_a_core_that_is_gone_serves_who_it_knows_and_refuses_nobody_new_for_good(
    world: World, people: People
) -> None:
    body = (STRANGE % "true").encode()
    known, new = {**SESSION, "x-tdai-user-key": USER_KEY}, {**SESSION, "x-tdai-user-key": OTHER_KEY}
    async with world.proxies() as proxies:
        await proxies.post(PATHS["chat"], body, known)
        world.link.down = True
        world.clock.advance(3600)
        assert (await proxies.post(PATHS["chat"], body, known)).status == 200
        refused = await proxies.post(PATHS["chat"], body, new)
        world.link.down = False
        world.clock.advance(60)
        welcome = await proxies.post(PATHS["chat"], body, new)

    assert (refused.status, welcome.status) == (503, 200)
    assert refused.headers["retry-after"]


@pytest.mark.parametrize(
    "manner", [Manner(piece_bytes=1), Manner(line_end="\r\n"), Manner(piece_bytes=1, line_end="\r\n")]
)
@pytest.mark.parametrize("name", ["claude-code", "codebuddy", "codex"])
async def test_a_stream_in_any_pieces_comes_whole_and_is_understood(world: World, manner: Manner, name: str) -> None:
    answer = Says("部署在每周五 🚀.", thinking="hm", pieces=4)
    async with FakeUpstream() as direct:
        direct.script((answer, manner))
        talk = Talk(SHAPES[name])
        talk.ask("什么时候部署？")
        world.upstream.script((answer, manner))
        async with world.proxies() as proxies:
            reply = await talk.send(proxies)
            path = talk.shape.path.replace(f"/{name}/default", "")
            async with proxies.http.post(direct.base_url + path, data=talk.bodies[0]) as whole:
                assert reply.body == await whole.read()
            await world.settled(proxies)

    assert await world.said(talk.session) == [("user", "什么时候部署？"), ("assistant", "部署在每周五 🚀.")]


async def test_a_client_that_leaves_ends_the_providers_work_within_a_second(world: World) -> None:
    world.upstream.script((Says("a long answer", pieces=9), Manner(stalls_after=400)))
    async with world.proxies(idle_timeout_seconds=0.0, first_byte_timeout_seconds=0.0) as proxies:
        sent = (STRANGE % "true").encode()
        answer = await proxies.http.post(proxies.urls[0] + PATHS["anthropic"], data=sent, headers=SESSION)
        await answer.content.readany()
        answer.close()
        async with asyncio.timeout(1.0):
            await world.upstream.hung_up(1)


async def test_a_timeout_of_zero_is_none(world: World) -> None:
    async with world.proxies(
        connect_timeout_seconds=0.0, first_byte_timeout_seconds=0.0, idle_timeout_seconds=0.0
    ) as proxies:
        reply = await proxies.post(PATHS["anthropic"], (STRANGE % "true").encode(), SESSION)
    assert reply.status == 200
    assert b"message_stop" in reply.body


@pytest.mark.parametrize("carrier", ["x-tdai-user-key", "authorization", "x-api-key"])
async def test_a_users_key_reaches_no_provider_no_log_and_no_prompt(
    world: World, people: People, logged: LogLines, carrier: str
) -> None:
    given = {
        "x-tdai-user-key": {"x-tdai-user-key": USER_KEY, "x-api-key": "sk-real"},
        "authorization": {"authorization": f"Bearer {USER_KEY}", "x-api-key": "sk-real"},
        "x-api-key": {"x-api-key": USER_KEY, "authorization": "Bearer sk-real"},
    }[carrier]
    bound = {"x-team-id": people.blue, "x-agent-id": people.blue_agent}
    talk = Talk(SHAPES["claude-code"], credentials={**given, **bound})
    async with world.proxies() as proxies:
        for text in ("hello", "mem:status", "and now?"):
            talk.ask(text)
            await talk.send(proxies)
        world.link.down = True
        talk.ask("once more")
        await talk.send(proxies)
        world.link.down = False
        await proxies.post(f"/hermes/default/v1/embeddings?key={USER_KEY}", b"{}", talk.named())
        await world.settled(proxies)
    seen = [repr((one.target, one.headers)).encode() + one.body for one in world.upstream.requests]
    everything: list[Any] = [*seen, *(line.encode() for line in logged.lines)]

    assert len(seen) >= 4
    assert logged.lines
    for secret in (USER_KEY, GATEWAY_KEY, USER_KEY.removeprefix("sk-mem-")):
        assert [one for one in everything if secret.encode() in one] == []
    for one in world.upstream.requests:
        assert "sk-real" in (one.named.get("x-api-key"), one.named.get("authorization", "").removeprefix("Bearer "))
        assert not any(name.startswith("x-tdai-") or name in ("x-team-id", "x-agent-id") for name in one.named)
    stored = b"".join(file.read_bytes() for file in world.folder.rglob("*") if file.is_file())
    assert USER_KEY.encode() not in stored
