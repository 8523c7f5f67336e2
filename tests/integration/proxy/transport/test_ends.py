"""How requests end that do not end well: a client that leaves, a provider that falls silent, breaks off or is not there."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
import pytest

from memstrata.proxy.upstream import Waits
from memstrata.testing.upstream import FakeUpstream, Manner, Says

Serve = Callable[..., AbstractAsyncContextManager[Any]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
STREAM = b'{"model":"m","stream":true}'
MESSAGES = "/claude-code/m/v1/messages"
CHAT = "/cursor/m/v1/chat/completions"
ABORT_SECONDS = 1.0


async def test_a_client_that_leaves_within_an_answer_takes_the_providers_work_with_it(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, watched: Any, eventually: Eventually
) -> None:
    upstream.always((Says("a long story", pieces=6), Manner(stalls_after=900)))
    async with serve() as proxy:
        async with http.post(proxy.url + MESSAGES, data=STREAM) as answer:
            await answer.content.readany()
            answer.close()
            async with asyncio.timeout(ABORT_SECONDS):
                await upstream.hung_up(1)
        await eventually(lambda: proxy.counts["hung up"] == 1)
        await eventually(lambda: len(watched.ends) == 1)
        assert proxy.forwarding.open == 0
    status, reply = watched.ends[0]
    assert status == 200
    assert not reply.complete


async def test_a_client_that_leaves_before_the_answer_begins_does_so_too(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, watched: Any, eventually: Eventually
) -> None:
    upstream.always((Says(), Manner(waits=True)))
    async with serve() as proxy:
        asking = asyncio.create_task(http.post(proxy.url + MESSAGES, data=STREAM).__aenter__())
        await upstream.received(1)
        asking.cancel()
        async with asyncio.timeout(ABORT_SECONDS):
            await upstream.hung_up(1)
        await eventually(lambda: watched.ends == [(0, None)])


async def test_a_client_that_does_not_read_holds_the_provider_back(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, eventually: Eventually
) -> None:
    size = 64 << 20
    upstream.always((Says("x" * size, pieces=1_000), Manner()))
    async with serve() as proxy:
        async with http.post(proxy.url + MESSAGES, data=STREAM) as answer:
            await upstream.received(1)
            seen = -1

            def stands_still() -> bool:
                nonlocal seen
                before, seen = seen, upstream.sent_bytes
                return before == seen > 0

            for _ in range(20):
                await eventually(stands_still)
            assert upstream.sent_bytes < size // 2
            answer.close()
        await eventually(lambda: proxy.forwarding.open == 0)


@pytest.mark.parametrize(
    ("path", "ending"),
    [
        (MESSAGES, b"event: error\n"),
        (CHAT, b'data: {"error":'),
        ("/codex/m/v1/responses", b"event: error\n"),
    ],
)
async def test_a_stream_that_its_provider_breaks_off_ends_with_an_error_of_its_protocol(
    serve: Serve,
    http: aiohttp.ClientSession,
    upstream: FakeUpstream,
    watched: Any,
    eventually: Eventually,
    path: str,
    ending: bytes,
) -> None:
    upstream.always((Says("cut in the middle", pieces=5), Manner(dies_after=400)))
    async with serve() as proxy:
        async with http.post(proxy.url + path, data=STREAM) as answer:
            whole = await answer.read()
        last = whole.rstrip().split(b"\n\n")[-1]
        assert (last + b"\n").startswith(ending)
        data = next(line for line in last.splitlines() if line.startswith(b"data: "))
        assert b"broke off" in data
        json.loads(data.removeprefix(b"data: "))
        await eventually(lambda: proxy.counts["broken"] == 1)
    assert not watched.ends[0][1].complete


async def test_an_error_of_ours_is_never_part_of_an_event_that_was_under_way(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream
) -> None:
    upstream.always((Says("cut in the middle", pieces=5), Manner(piece_bytes=10, dies_after=400)))
    async with serve() as proxy, http.post(proxy.url + MESSAGES, data=STREAM) as answer:
        events = (await answer.read()).split(b"\n\n")
    assert next(one for one in events if b"event: error" in one).startswith(b"event: error\n")


async def test_a_whole_answer_that_breaks_off_is_not_taken_for_a_whole_one(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream
) -> None:
    upstream.always((Says("a" * 2_000), Manner(piece_bytes=100, dies_after=500)))
    async with serve() as proxy, http.post(proxy.url + MESSAGES, data=b'{"model":"m"}') as answer:
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()


async def test_a_provider_that_falls_silent_within_an_answer_is_waited_for_until_the_idle_time(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, eventually: Eventually
) -> None:
    upstream.always((Says("and then nothing", pieces=5), Manner(stalls_after=700)))
    async with serve(waits=Waits(idle_seconds=0.2)) as proxy:
        async with http.post(proxy.url + MESSAGES, data=STREAM) as answer:
            assert b"said nothing for too long" in await answer.read()
        await upstream.hung_up(1)
        await eventually(lambda: proxy.counts["silent"] == 1)


@pytest.mark.parametrize(("path", "kind"), [(MESSAGES, "timeout_error"), (CHAT, None)])
async def test_a_provider_that_never_begins_is_a_timeout_in_the_clients_protocol(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, watched: Any, path: str, kind: str | None
) -> None:
    upstream.always((Says(), Manner(waits=True)))
    async with serve(waits=Waits(first_byte_seconds=0.2)) as proxy:
        async with http.post(proxy.url + path, data=STREAM) as answer:
            assert answer.status == 504
            error = (await answer.json())["error"]
        assert kind is None or error["type"] == kind
        await upstream.hung_up(1)
    assert watched.ends == [(0, None)]


async def test_no_time_limit_at_all_is_what_zero_means(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream
) -> None:
    upstream.always(Says("in its own time"))
    async with serve(waits=Waits(0, 0, 0)) as proxy, http.post(proxy.url + MESSAGES, data=STREAM) as answer:
        assert answer.status == 200
        assert b"message_stop" in await answer.read()


async def test_a_provider_that_is_not_there_is_a_bad_gateway_in_the_clients_protocol(
    serve: Serve, http: aiohttp.ClientSession, watched: Any, eventually: Eventually
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{taken.getsockname()[1]}"
        async with serve(upstreams=[f"anthropic={nowhere}", f"openai={nowhere}/v1"]) as proxy:
            async with http.post(proxy.url + MESSAGES, data=STREAM) as answer:
                assert answer.status == 502
                assert (await answer.json())["type"] == "error"
            async with http.post(proxy.url + CHAT, data=STREAM) as answer:
                assert answer.status == 502
                assert isinstance((await answer.json())["error"], dict)
            await eventually(lambda: proxy.counts["not answered"] == 2)
    assert watched.ends == [(0, None), (0, None)]
