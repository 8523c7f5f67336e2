"""Who may come in, what of them goes on, and what memory may do to a request."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
import pytest

from memstrata.proxy.exchange import Incoming, Prepared
from memstrata.proxy.limits import RateLimits
from memstrata.proxy.verification import CoreSilent
from memstrata.testing.upstream import FakeUpstream, Says

Serve = Callable[..., AbstractAsyncContextManager[Any]]
MESSAGES = "/claude-code/m/v1/messages"
CHAT = "/cursor/m/v1/chat/completions"
BODY = b'{"model":"m","messages":[]}'
KEY = "sk-mem-lins-own-key-0123456789"


async def lins(instance: str, user_key: str) -> str:
    """Return whose a key is: lin has one, in the instance m."""
    return "lin" if (instance, user_key) == ("m", KEY) else ""


async def test_a_users_key_opens_the_proxy_and_never_leaves_it(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, watched: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    forms = [
        {"x-tdai-user-key": KEY, "authorization": "Bearer sk-real"},
        {"authorization": f"Bearer {KEY}", "x-api-key": "sk-real"},
        {"x-api-key": KEY, "authorization": "Bearer sk-real"},
    ]
    who = {"x-team-id": "t", "x-agent-id": "a", "x-task-id": "k", "x-tdai-service-id": "m"}
    async with serve(keyless_user="", user_of=lins) as proxy:
        for headers in forms:
            async with http.post(
                f"{proxy.url}{MESSAGES}?key={KEY}&beta=1", data=BODY, headers={**headers, **who}
            ) as answer:
                assert answer.status == 200
    for seen in upstream.requests:
        assert KEY not in repr(seen)
        assert "sk-real" in repr(seen.headers)
        assert seen.target == "/v1/messages?beta=1"
        assert not {name for name, _ in seen.headers if name in who or name.startswith("x-tdai")}
    assert KEY not in caplog.text
    assert {(one.user, one.user_key, one.instance) for one in watched.seen} == {("lin", KEY, "m")}
    assert KEY not in repr(watched.seen)


@pytest.mark.parametrize("headers", [{}, {"x-api-key": "sk-real"}, {"x-api-key": "sk-mem-somebody-elses-key"}])
async def test_without_a_key_that_opens_something_nothing_goes_on(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, headers: dict[str, str]
) -> None:
    async with serve(keyless_user="", user_of=lins) as proxy:
        async with http.post(proxy.url + MESSAGES, data=BODY, headers=headers) as answer:
            assert answer.status == 401
            assert (await answer.json())["error"]["type"] == "authentication_error"
        async with http.post(proxy.url + CHAT, data=BODY, headers=headers) as answer:
            assert answer.status == 401
            assert (await answer.json())["error"]["message"]
    assert upstream.requests == []


async def test_a_key_of_one_instance_opens_no_other(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream
) -> None:
    async with (
        serve(keyless_user="", user_of=lins) as proxy,
        http.post(f"{proxy.url}/claude-code/other/v1/messages", data=BODY, headers={"x-tdai-user-key": KEY}) as answer,
    ):
        assert answer.status == 401
    assert upstream.requests == []


async def test_a_core_that_is_silent_is_no_bad_key_and_who_was_let_in_stays(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, clock: Any
) -> None:
    up = True

    async def user_of(instance: str, user_key: str) -> str:
        if not up:
            raise CoreSilent("Unreachable")
        return "lin"

    async with serve(keyless_user="", user_of=user_of) as proxy:
        async with http.post(proxy.url + MESSAGES, data=BODY, headers={"x-tdai-user-key": KEY}) as answer:
            assert answer.status == 200
        up = False
        clock.advance(400)
        async with http.post(proxy.url + MESSAGES, data=BODY, headers={"x-tdai-user-key": KEY}) as answer:
            assert answer.status == 200
        async with http.post(proxy.url + MESSAGES, data=BODY, headers={"x-tdai-user-key": "new"}) as answer:
            assert answer.status == 503
            assert answer.headers["retry-after"]
            assert (await answer.json())["error"]["type"] == "overloaded_error"


async def test_the_servers_own_key_guards_its_own_paths_and_not_the_proxys(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream
) -> None:
    async with serve(keyless_user="", user_of=lins, api_key="gateway", gateway_key="gateway") as proxy:
        async with http.post(f"{proxy.url}/v3/conversation/add", json={}) as answer:
            assert answer.status == 401
        headers = {"x-tdai-user-key": KEY, "authorization": "Bearer gateway"}
        async with http.post(proxy.url + MESSAGES, data=BODY, headers=headers) as answer:
            assert answer.status == 200
    assert "authorization" not in upstream.requests[0].named


async def test_an_operators_key_takes_the_place_of_the_clients(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream
) -> None:
    own = {"authorization": "Bearer sk-own"}
    async with (
        serve(upstream_keys=["anthropic=sk-operator"]) as proxy,
        http.post(proxy.url + MESSAGES, data=BODY, headers=own) as answer,
    ):
        assert answer.status == 200
    assert upstream.requests[0].named["x-api-key"] == "sk-operator"
    assert "authorization" not in upstream.requests[0].named


async def test_a_page_in_a_browser_does_not_spend_an_operators_key(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream
) -> None:
    page = {"origin": "https://elsewhere.example", "content-type": "text/plain"}
    async with (
        serve(upstream_keys=["anthropic=sk-operator"]) as proxy,
        http.post(proxy.url + MESSAGES, data=BODY, headers=page) as answer,
    ):
        assert answer.status == 403
    assert upstream.requests == []


async def test_no_header_of_a_request_chooses_where_it_goes(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream
) -> None:
    headers = {"host": "elsewhere.example", "x-forwarded-host": "elsewhere.example", "x-upstream": "http://elsewhere"}
    async with serve() as proxy, http.post(proxy.url + MESSAGES, data=BODY, headers=headers) as answer:
        assert answer.status == 200
    assert upstream.requests[0].named["host"] == f"127.0.0.1:{upstream.port}"


async def test_a_body_past_the_limit_is_refused_and_goes_nowhere(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream
) -> None:
    async with serve(max_body_bytes=1_000) as proxy:
        async with http.post(proxy.url + MESSAGES, data=b" " * 1_001) as answer:
            assert answer.status == 413
            assert answer.headers["x-memstrata-refused"] == "the body is longer than 1000 bytes"
            assert (await answer.json())["error"]["type"] == "request_too_large"
        async with http.post(proxy.url + MESSAGES, data=b" " * 1_000) as answer:
            assert answer.status == 200
            assert "x-memstrata-refused" not in answer.headers
    assert [len(one.body) for one in upstream.requests] == [1_000]


async def test_what_memory_makes_of_a_request_goes_on_and_why_not_is_said(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, watched: Any
) -> None:
    watched.become = lambda incoming: Prepared(b'{"changed":true}', "side", "因为: nothing\r\nx-evil: 1")
    async with serve() as proxy, http.post(proxy.url + MESSAGES, data=BODY) as answer:
        assert answer.headers["x-memstrata-bypass"] == "??: nothing??x-evil: 1"
        assert "x-evil" not in answer.headers
    assert upstream.requests[0].body == b'{"changed":true}'
    assert upstream.requests[0].named["content-length"] == "16"


async def test_an_answer_of_memorys_own_goes_out_and_nothing_upstream(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, watched: Any
) -> None:
    def said(incoming: Incoming) -> Prepared:
        answer = incoming.wire.answer("it is on", stream=True, model="m", ident="1")
        return Prepared(incoming.body, "main", "a command is answered here", answer)

    watched.become = said
    async with serve() as proxy, http.post(proxy.url + MESSAGES, data=BODY) as answer:
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/event-stream"
        assert b"it is on" in await answer.read()
    assert upstream.requests == []


async def test_memory_that_fails_or_hangs_leaves_the_request_as_it_came(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    class Bad:
        hangs = False

        async def prepare(self, incoming: Incoming) -> Prepared:
            if self.hangs:
                await asyncio.Event().wait()
            raise RuntimeError("a bug")

    bad = Bad()
    async with serve(rewriter=bad, memory_seconds=0.1) as proxy:
        async with http.post(proxy.url + MESSAGES, data=BODY) as answer:
            assert answer.headers["x-memstrata-bypass"] == "memory failed (RuntimeError)"
        bad.hangs = True
        async with http.post(proxy.url + MESSAGES, data=BODY) as answer:
            assert answer.headers["x-memstrata-bypass"] == "memory took too long"
        assert proxy.counts["went on without memory"] == 2
    assert [one.body for one in upstream.requests] == [BODY, BODY]
    assert "memory failed" in caplog.text


async def test_a_system_user_is_metered_and_has_no_memory(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, watched: Any
) -> None:
    class Forbidden:
        async def prepare(self, incoming: Incoming) -> Prepared:
            raise AssertionError("memory was asked for a system user")

    async with (
        serve(rewriter=Forbidden(), system_users=frozenset({"lin"})) as proxy,
        http.post(proxy.url + MESSAGES, data=BODY) as answer,
    ):
        assert answer.status == 200
        assert "x-memstrata-bypass" not in answer.headers
    assert [one.user for one in watched.seen] == ["lin"]


@pytest.mark.parametrize(
    ("limits", "second"),
    [(RateLimits(requests=1), 429), (RateLimits(input_tokens=14), 429), (RateLimits(requests=9), 200)],
)
async def test_over_a_limit_the_client_is_told_when_to_come_back(
    serve: Serve,
    http: aiohttp.ClientSession,
    upstream: FakeUpstream,
    clock: Any,
    eventually: Callable[[Callable[[], bool]], Awaitable[None]],
    limits: RateLimits,
    second: int,
) -> None:
    upstream.always(Says("counted"))
    async with serve(limits=limits) as proxy:
        async with http.post(proxy.url + MESSAGES, data=BODY) as answer:
            assert answer.status == 200
            await answer.read()
        await eventually(lambda: proxy.counts["whole"] == 1)
        async with http.post(proxy.url + MESSAGES, data=BODY) as answer:
            assert answer.status == second
            if second == 429:
                assert json.loads(await answer.read())["error"]["type"] == "rate_limit_error"
                assert 1 <= int(answer.headers["retry-after"]) <= 60
        clock.advance(61)
        async with http.post(proxy.url + MESSAGES, data=BODY) as answer:
            assert answer.status == 200


async def test_who_am_i_shows_the_beginning_of_a_digest_and_no_key(serve: Serve, http: aiohttp.ClientSession) -> None:
    async with serve() as proxy:
        async with http.get(f"{proxy.url}/whoami", headers={"x-tdai-user-key": KEY}) as answer:
            shown = await answer.text()
            assert len(shown) == 8
            assert int(shown, 16) >= 0
        async with http.get(f"{proxy.url}/whoami") as answer:
            assert answer.status == 400
