"""How an `add` of any size becomes requests that a server takes, and is completed by repeating it."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from memstrata.client import AsyncMemoryClient, InvalidRequest, MemoryClient, MessageLike, Unavailable
from memstrata.client._additions import parts_of


class Keeping:
    """Keeps messages by idempotency key as the server does, and fails where it is told to."""

    def __init__(self) -> None:
        self.kept: dict[str, list[dict[str, Any]]] = {}
        self.failing: set[int] = set()
        self.requests = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        number, self.requests = self.requests, self.requests + 1
        if number in self.failing:
            return httpx.Response(400, json={"code": 400, "message": "not now"})
        body = json.loads(request.content)
        assert len(body["messages"]) <= 100
        assert len(request.content) < 1_048_576
        key, messages = body["idempotency_key"], body["messages"]
        replayed = key in self.kept
        assert self.kept.setdefault(key, messages) == messages
        ids = [f"{key}-{at}" for at in range(len(messages))]
        return httpx.Response(200, json={"code": 0, "data": {"accepted_ids": ids, "replayed": replayed, "redacted": 1}})

    @property
    def contents(self) -> list[str]:
        return [message["content"] for messages in self.kept.values() for message in messages]


@pytest.fixture
def server() -> Keeping:
    return Keeping()


def client(server: Keeping) -> MemoryClient:
    return MemoryClient(team="t", agent="a", user="u", session="s", transport=httpx.MockTransport(server))


def test_what_fits_into_one_request_goes_under_the_key_as_it_is(server: Keeping) -> None:
    client(server).add([("user", "x" * 8_192)] * 10, idempotency_key="mine")

    assert (server.requests, list(server.kept)) == (1, ["mine"])


async def test_many_messages_are_one_write_in_their_order(server: Keeping) -> None:
    said: list[MessageLike] = [("user", f"message {number}") for number in range(250)]
    twin = AsyncMemoryClient(team="t", agent="a", user="u", session="s", transport=httpx.MockTransport(server))

    receipt = await twin.add(said)

    assert server.requests == 3
    assert server.contents == [f"message {number}" for number in range(250)]
    assert (len(receipt.message_ids), receipt.replayed, receipt.redacted) == (250, False, 3)


def test_a_write_that_failed_half_way_is_completed_by_repeating_it_under_its_key(server: Keeping) -> None:
    said: list[MessageLike] = [("user", f"message {number}") for number in range(250)]
    server.failing = {1}

    with pytest.raises(InvalidRequest, match="not now") as caught:
        client(server).add(said)
    assert len(server.contents) == 100

    receipt = client(server).add(said, idempotency_key=caught.value.idempotency_key)

    assert server.contents == [f"message {number}" for number in range(250)]
    assert (len(receipt.message_ids), receipt.replayed) == (250, False)
    assert client(server).add(said, idempotency_key=caught.value.idempotency_key).replayed


def test_a_long_message_is_cut_between_characters_and_nothing_of_it_is_lost(server: Keeping) -> None:
    family = "👨‍👩‍👧‍👦"
    text = family * 3_000

    client(server).add([{"role": "user", "content": text, "id": "m1", "timestamp": "2026-01-02T03:04:05Z"}])

    (messages,) = server.kept.values()
    assert "".join(message["content"] for message in messages) == text
    assert all(len(message["content"]) <= 8_192 and message["content"].startswith("👨") for message in messages)
    assert [message["id"] for message in messages] == ["m1", "m1~1", "m1~2"]
    assert {message["timestamp"] for message in messages} == {"2026-01-02T03:04:05Z"}


def test_a_write_that_could_not_be_completed_is_not_begun(server: Keeping) -> None:
    said: list[MessageLike] = [("user", "hi")] * 150

    with pytest.raises(InvalidRequest, match=r"messages\.150\.role"):
        client(server).add([*said, ("system", "hi")])
    with pytest.raises(InvalidRequest, match=r"messages\.150\.content"):
        client(server).add([*said, {"role": "user", "content": ""}])

    assert server.requests == 0


def test_the_same_messages_under_the_same_key_are_cut_the_same_way() -> None:
    said = [{"role": "user", "content": "字" * 9_000, "id": "x" * 256} for _ in range(99)]

    first, second = parts_of(said, "k" * 300), parts_of(said, "k" * 300)

    assert first == second
    assert len({part.key for part in first}) == len(first) > 1
    assert all(len(part.key) <= 256 and len(message["id"]) <= 256 for part in first for message in part.messages)
    assert {part.key for part in parts_of(said, "other")}.isdisjoint(part.key for part in first)


async def test_a_deadline_is_for_all_requests_of_a_write(server: Keeping) -> None:
    said: list[MessageLike] = [("user", "hi")] * 150

    def busy(_: httpx.Request) -> httpx.Response:
        server.requests += 1
        return httpx.Response(503, json={"code": 503, "message": "busy"}, headers={"retry-after": "4"})

    twin = AsyncMemoryClient(team="t", agent="a", user="u", session="s", transport=httpx.MockTransport(busy))
    with pytest.raises(Unavailable, match="busy"):
        await twin.add(said, timeout=3.0)
    assert server.requests == 1
