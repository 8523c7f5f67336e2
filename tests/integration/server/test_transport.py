"""What arrives over a socket and should not have: too large, broken, hostile. Nothing of it may be a 5xx."""

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

HEADERS = {
    "authorization": "Bearer x",
    "x-tdai-service-id": "default",
    "x-tdai-team-id": "t",
    "x-tdai-agent-id": "a",
    "x-tdai-user-id": "u",
}
ADD = "/v3/conversation/add"
SMALL: dict[str, Any] = {"session_id": "s", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
async def api(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url, headers=HEADERS) as client:
        yield client


def large(size: int) -> bytes:
    return json.dumps({**SMALL, "padding": "x" * size}).encode()


async def pieces(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), 65_536):
        yield body[at : at + 65_536]


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_of_three_megabytes_is_answered_with_413_and_can_be_read(
    api: httpx.AsyncClient, chunked: bool
) -> None:
    body = large(3_000_000)

    response = await api.post(ADD, content=pieces(body) if chunked else body)

    assert (response.status_code, response.json()["code"]) == (413, 413)
    assert response.headers["connection"] == "close"
    assert (await api.post(ADD, json=SMALL)).status_code == 200


async def test_a_body_just_under_the_limit_is_accepted(api: httpx.AsyncClient) -> None:
    assert (await api.post(ADD, content=large(1_048_000))).status_code == 200


async def test_a_gzip_bomb_is_413(api: httpx.AsyncClient) -> None:
    bomb = gzip.compress(bytes(200_000_000), compresslevel=9)
    assert len(bomb) < 1_048_576

    response = await api.post(ADD, content=bomb, headers={"content-encoding": "gzip"})

    assert response.status_code == 413


@pytest.mark.parametrize(
    ("encoding", "encode", "status"),
    [
        ("gzip", gzip.compress, 200),
        ("x-gzip", gzip.compress, 200),
        ("deflate", zlib.compress, 200),
        ("identity", bytes, 200),
        ("br", bytes, 415),
        ("gzip, gzip", gzip.compress, 415),
        ("gzip", bytes, 400),
        ("deflate", bytes, 400),
    ],
)
async def test_encodings(api: httpx.AsyncClient, encoding: str, encode: Any, status: int) -> None:
    body = encode(json.dumps(SMALL).encode())

    response = await api.post(ADD, content=body, headers={"content-encoding": encoding})

    assert response.status_code == status, response.text


async def test_a_client_that_asks_first_is_refused_before_it_sends(url: str) -> None:
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = [f"POST {ADD} HTTP/1.1", "Host: x", "Content-Length: 3000000", "Expect: 100-continue"]
    head += [f"{name}: {value}" for name, value in HEADERS.items()]
    writer.write(("\r\n".join(head) + "\r\n\r\n").encode())

    async with asyncio.timeout(10):
        answer = await reader.read()

    assert answer.startswith(b"HTTP/1.1 413")
    writer.close()
    await writer.wait_closed()


async def test_a_client_that_hangs_up_in_the_middle_leaves_the_server_well(url: str, api: httpx.AsyncClient) -> None:
    address = urlsplit(url)
    _, writer = await asyncio.open_connection(address.hostname, address.port)
    head = [f"POST {ADD} HTTP/1.1", "Host: x", "Content-Length: 1000", *(f"{k}: {v}" for k, v in HEADERS.items())]
    writer.write(("\r\n".join(head) + '\r\n\r\n{"mess').encode())
    await writer.drain()
    writer.close()
    await writer.wait_closed()

    assert (await api.post(ADD, json=SMALL)).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\x00",
        b"\xff\xfe{}",
        b'{"session_id": NaN}',
        b'{"session_id": "s", "messages": [' + b"[" * 50_000,
        b'{"session_id": "s", "messages": {}}',
        b'{"session_id": "s", "messages": [{"role": "user", "content": "\xed\xa0\x80"}]}',
    ],
)
async def test_broken_json_is_400(api: httpx.AsyncClient, body: bytes) -> None:
    assert (await api.post(ADD, content=body)).status_code == 400


async def test_nul_and_half_surrogates_are_stored_and_come_back_as_text(api: httpx.AsyncClient) -> None:
    body = rb'{"session_id": "odd", "messages": [{"role": "user", "content": "a\u0000b cut \ud83d"}]}'

    assert (await api.post(ADD, content=body)).status_code == 200
    page = (await api.post("/v3/conversation/query", json={"session_id": "odd"})).json()["data"]

    assert [message["content"] for message in page["messages"]] == ["a\x00b cut \ufffd"]


@pytest.mark.parametrize(
    "session", ["s\x00t", "../../etc", "会话-🧠", "a|b", "%00", "'; DROP TABLE message; --", "s" * 512]
)
async def test_any_session_id_up_to_512_characters_is_just_an_id(api: httpx.AsyncClient, session: str) -> None:
    written = await api.post(ADD, json={**SMALL, "session_id": session})
    counted = await api.post("/v3/conversation/count", json={"session_id": session})

    assert written.status_code == 200, written.text
    assert counted.json()["data"] == {"total": 1}


@pytest.mark.parametrize("name", ["team_id", "agent_id", "user_id", "session_id", "task_id"])
async def test_huge_ids_are_400_by_name(api: httpx.AsyncClient, name: str) -> None:
    response = await api.post(ADD, json={**SMALL, name: "i" * 100_000})

    assert response.status_code == 400
    assert name in response.json()["message"]


@pytest.mark.parametrize("route", ["/v3/conversation/search", "/v3/atomic/search", "/v3/recall"])
async def test_no_query_is_syntax(api: httpx.AsyncClient, route: str) -> None:
    await api.post(ADD, json=SMALL)
    for query in (
        "' OR 1=1 --",
        'hello" OR NEAR(* AND :col',
        "NOT",
        "AND OR NOT",
        "hello*",
        "^hello",
        "{content}: hello",
        "-",
        "(((((",
        '"' * 99,
        "\x00",
        "\u202e\u0301",
        "   ",
        "?!...",
        "😀" * 2_048,
        "hello " * 341,
    ):
        response = await api.post(route, json={"query": query})
        assert response.status_code == 200, (query, response.text)


async def test_numbers_beyond_any_column_are_400(api: httpx.AsyncClient) -> None:
    for offset in (-1, 2**63, 1e300):
        assert (await api.post("/v3/conversation/query", json={"offset": offset})).status_code == 400
    assert (await api.post("/v3/conversation/query", json={"offset": 2**53 - 1})).status_code == 200


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "1969-12-31T23:59:59Z"])
async def test_times_at_the_ends_of_the_calendar_are_times(api: httpx.AsyncClient, time: str) -> None:
    message = {"role": "user", "content": "then", "timestamp": time}
    assert (await api.post(ADD, json={"session_id": "ends", "messages": [message]})).status_code == 200

    page = (await api.post("/v3/conversation/query", json={"time_start": time, "time_end": time})).json()["data"]

    assert page["total"] == 1


async def test_one_connection_serves_many_requests_good_and_bad(url: str) -> None:
    limits = httpx.Limits(max_connections=1)
    async with httpx.AsyncClient(base_url=url, headers=HEADERS, limits=limits) as api:
        statuses = [
            (await api.post(ADD, json=SMALL)).status_code,
            (await api.post(ADD, content=b"{")).status_code,
            (await api.post(ADD, json=SMALL, headers={"authorization": ""})).status_code,
            (await api.post(ADD, json=SMALL, headers={"content-encoding": "br"})).status_code,
            (await api.get("/nope")).status_code,
            (await api.get("/health")).status_code,
        ]

    assert statuses == [200, 400, 401, 415, 404, 200]
