"""What goes through is what was sent, in both directions, whatever its shape and however its bytes come."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
import pytest
from yarl import URL

from memstrata.testing.upstream import Call, Fails, FakeUpstream, Manner, Says, Sends

Serve = Callable[..., AbstractAsyncContextManager[Any]]
PATHS = ("/claude-code/m/v1/messages", "/cursor/m/v1/chat/completions", "/codex/m/v1/responses")
ODD = '{"model" : "m",\n "stream":true, "unknown": {"a":[1.0, 1e2, 10000000000000000000001]}, "文": "\\u6587/\\/", "messages":[]}'


async def test_a_request_arrives_byte_by_byte_with_its_query_and_its_own_headers(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream
) -> None:
    headers = {"anthropic-version": "2023-06-01", "x-api-key": "sk-ant-real", "Content-Type": "application/json; x=y"}
    async with serve() as proxy:
        url = URL(f"{proxy.url}{PATHS[0]}?beta=true&empty=&q=%2Fa%20b", encoded=True)
        async with http.post(url, data=ODD.encode(), headers=headers) as answer:
            assert answer.status == 200
            await answer.read()
    seen = upstream.requests[0]
    assert seen.body == ODD.encode()
    assert seen.target == "/v1/messages?beta=true&empty=&q=%2Fa%20b"
    assert seen.named["anthropic-version"] == "2023-06-01"
    assert seen.named["x-api-key"] == "sk-ant-real"
    assert seen.named["content-type"] == "application/json; x=y"
    assert seen.named["content-length"] == str(len(ODD.encode()))


async def test_headers_that_a_client_did_not_send_are_not_made_up(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream
) -> None:
    bare = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
    async with serve() as proxy, http.post(proxy.url + PATHS[0], data=b"{}", skip_auto_headers=bare) as answer:
        await answer.read()
    assert {name for name, _ in upstream.requests[0].headers} == {"host", "content-length"}


MANNERS = [
    Manner(),
    Manner(piece_bytes=1),
    Manner(line_end="\r\n", piece_bytes=1),
    Manner(line_end="\r"),
    Manner(piece_bytes=7),
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("manner", MANNERS)
async def test_a_stream_comes_out_as_it_came_in_and_its_copy_is_understood(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, watched: Any, path: str, manner: Manner
) -> None:
    said = Says("你好，世界 — hello", (Call("Bash", {"command": "ls"}),), thinking="let me see", pieces=9)
    body = json.dumps({"model": "m", "stream": True})
    upstream.always((said, manner))
    async with http.post(f"{upstream.base_url}/v1/{path.partition('/v1/')[2]}", data=body) as direct:
        expected = await direct.read()
    async with serve() as proxy, http.post(proxy.url + path, data=body) as answer:
        assert await answer.read() == expected
        assert answer.headers["content-type"] == direct.headers["content-type"]
    (status, reply) = watched.ends[0]
    assert status == 200
    assert reply.text == said.text
    assert [call.name for call in reply.tool_calls] == ["Bash"]
    assert (reply.usage.output, reply.usage.cache_read, reply.complete) == (5, 3, True)


@pytest.mark.parametrize("path", PATHS)
async def test_an_answer_in_one_piece_keeps_its_length_and_its_bytes(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, watched: Any, path: str
) -> None:
    upstream.always(Says("whole", (Call("Bash", {}),)))
    async with http.post(f"{upstream.base_url}/v1/{path.partition('/v1/')[2]}", data=b'{"model":"m"}') as direct:
        expected = await direct.read()
    async with serve() as proxy, http.post(proxy.url + path, data=b'{"model":"m"}') as answer:
        assert await answer.read() == expected
        assert answer.headers["content-length"] == str(len(expected))
    assert watched.ends[0][1].text == "whole"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize("piece_bytes", [0, 1])
async def test_a_compressed_answer_stays_compressed_for_the_client_and_is_read_all_the_same(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, watched: Any, encoding: Any, piece_bytes: int
) -> None:
    upstream.always((Says("in a small space"), Manner(encoding=encoding, piece_bytes=piece_bytes)))
    async with serve() as proxy:
        body = b'{"model":"m","stream":true}'
        async with http.post(proxy.url + PATHS[0], data=body, headers={"accept-encoding": encoding}) as answer:
            raw = await answer.read()
            assert answer.headers["content-encoding"] == encoding
    plain = gzip.decompress(raw) if encoding == "gzip" else zlib.decompress(raw)
    assert plain.startswith(b"event: message_start")
    assert watched.ends[0][1].text == "in a small space"


@pytest.mark.parametrize("encoding", ["br", "gzip"])
async def test_an_encoding_that_cannot_be_read_reaches_the_client_untouched(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, watched: Any, encoding: str
) -> None:
    upstream.always((Sends(b"\x8b\x02\x80not what it says\x03"), Manner(headers={"content-encoding": encoding})))
    async with serve() as proxy, http.post(proxy.url + PATHS[0], data=b"{}") as answer:
        assert await answer.read() == b"\x8b\x02\x80not what it says\x03"
    assert watched.ends == [(200, None)]


@pytest.mark.parametrize(
    "failure",
    [
        Fails(400, b'{"odd":"<html>"}', {"request-id": "req_1", "x-should-retry": "false"}),
        Fails(401, b""),
        Fails(429, b"slow down", {"retry-after": "7"}),
        Fails(529),
        Fails(307, b"", {"location": "https://elsewhere.example/"}),
    ],
)
async def test_a_providers_refusal_reaches_the_client_as_it_is(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, watched: Any, failure: Fails
) -> None:
    upstream.always(failure)
    async with serve() as proxy, http.post(proxy.url + PATHS[0], data=b"{}", allow_redirects=False) as answer:
        assert answer.status == failure.status
        assert await answer.read() == failure.body
        assert {name: answer.headers.get(name) for name in failure.headers} == failure.headers
        assert len(answer.headers.getall("date")) == 1
    assert watched.ends[0][0] == failure.status


async def test_counting_models_probes_and_unknown_paths_each_go_their_way(
    serve: Serve, http: aiohttp.ClientSession, upstream: FakeUpstream, watched: Any
) -> None:
    async with serve() as proxy:
        async with http.post(f"{proxy.url}/claude-code/m/v1/messages/count_tokens?beta=true", data=b"{}") as answer:
            assert await answer.json() == {"input_tokens": 0}
        assert [one.counting for one in watched.seen] == [True]
        async with http.get(f"{proxy.url}/claude-code/m/v1/models?limit=5") as answer:
            assert (await answer.json())["data"][0]["display_name"] == "Model 1"
        async with http.delete(URL(f"{proxy.url}/openai/m/v1/files/file%2D1", encoded=True)) as answer:
            assert answer.status == 200
        async with http.head(f"{proxy.url}/claude-code/m") as answer:
            assert answer.status == 200
        targets = [(one.method, one.target) for one in upstream.requests]
        async with http.post(f"{proxy.url}/claude-code/m/analyse/v1/messages", data=b"{}") as answer:
            assert answer.status == 404
        async with http.get(f"{proxy.url}/health") as answer:
            assert (await answer.json())["status"] in ("ok", "degraded")
    assert targets == [
        ("POST", "/v1/messages/count_tokens?beta=true"),
        ("GET", "/v1/models?limit=5"),
        ("DELETE", "/v1/files/file%2D1"),
    ]
    assert len(upstream.requests) == 3
    assert len(watched.seen) == 1, "memory is shown nothing but questions to a model"
