"""A server that keeps what the real one would, and a conversation as a framework holds it, with runs over it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import httpx
import pytest

from memstrata.client import AsyncMemoryClient, MemoryClient
from memstrata.client.turn import AsyncTurnRecorder, MemoryWatermarkStore, Outcome, Turn, TurnIds
from memstrata.testing import FakeClock

State = Literal["up", "down", "stores but never answers", "refuses"]


class Away(MemoryWatermarkStore):
    """A store that can be taken away."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = False

    def check(self) -> None:
        if self.is_away:
            raise ConnectionError

    async def get(self, key: str) -> str | None:
        self.check()
        return await super().get(key)

    async def put(self, key: str, value: str, ttl_seconds: int | None) -> None:
        self.check()
        await super().put(key, value, ttl_seconds)

    async def delete(self, key: str) -> None:
        self.check()
        await super().delete(key)


@dataclass
class Kept:
    """The server's side of the contract: a key is taken once, an id is stored once, another text under it is a conflict."""

    state: State = "up"
    sessions: dict[tuple[str, str], dict[str, tuple[str, str]]] = field(default_factory=dict)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)

    def texts(self, session: str = "s1", user: str = "lin") -> list[tuple[str, str]]:
        return list(self.sessions.get((user, session), {}).values())

    def answer(self, request: httpx.Request) -> httpx.Response:
        if self.state == "down":
            raise httpx.ConnectError("refused", request=request)
        if self.state == "refuses":
            return httpx.Response(422, json={"code": 422, "message": "no"})
        body = json.loads(request.content)
        self.requests.append(body)
        said = json.dumps(body["messages"])
        assert self.keys.setdefault(body["idempotency_key"], said) == said
        assert 1 <= len(body["messages"]) <= 100
        assert len(request.content) < 1_048_576
        session = self.sessions.setdefault((body["user_id"], body["session_id"]), {})
        for message in body["messages"]:
            assert 1 <= len(message["content"]) <= 8_192
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", message["timestamp"])
            pair = (message["role"], message["content"])
            assert session.setdefault(message["id"], pair) == pair
        if self.state == "stores but never answers":
            raise httpx.ReadTimeout("too slow", request=request)
        return httpx.Response(200, json={"code": 0, "data": {"accepted_ids": [m["id"] for m in body["messages"]]}})


@dataclass
class Conversation:
    """A message list with ids, and the runs of an agent over it. A new `recorder` stands for a new process."""

    recorder: AsyncTurnRecorder
    clock: FakeClock
    messages: list[dict[str, Any]] = field(default_factory=list)
    ids: TurnIds = field(default_factory=TurnIds)
    made: int = 0

    def say(self, role: str, content: str, **more: Any) -> dict[str, Any]:
        self.made += 1
        self.clock.advance(1)
        message = {"id": f"m{self.made}", "role": role, "content": content, **more}
        self.messages.append(message)
        return message

    async def begin(self) -> Turn | None:
        return await self.recorder.begin(self.messages, self.ids)

    async def capture(self, turn: Turn | None = None, **more: Any) -> Outcome:
        return await self.recorder.capture(self.messages, self.ids, turn, **more)

    async def exchange(self, question: str, reply: str) -> Outcome:
        """A run that goes well."""
        self.say("user", question)
        turn = await self.begin()
        self.say("assistant", reply)
        return await self.capture(turn)


@pytest.fixture
def server() -> Kept:
    return Kept()


@pytest.fixture
def store() -> Away:
    return Away()


@pytest.fixture
async def client(server: Kept) -> AsyncIterator[AsyncMemoryClient]:
    async def pause(_: float) -> None:
        return

    made = AsyncMemoryClient(
        team="home", agent="helper", user="lin", session="s1", transport=httpx.MockTransport(server.answer)
    )
    made._pause = pause
    yield made
    await made.aclose()


@pytest.fixture
def blocking_client(server: Kept) -> MemoryClient:
    made = MemoryClient(
        team="home", agent="helper", user="lin", session="s1", transport=httpx.MockTransport(server.answer)
    )
    made._pause = lambda _: None
    return made


@pytest.fixture
async def recorder_of(
    client: AsyncMemoryClient, store: Away, clock: FakeClock
) -> AsyncIterator[Callable[..., AsyncTurnRecorder]]:
    """Return a maker of recorders over the test's server and store, each like a process of its own."""
    made: list[AsyncTurnRecorder] = []

    def build(**given: Any) -> AsyncTurnRecorder:
        usual: dict[str, Any] = {"store": store, "now": lambda: datetime.fromtimestamp(clock.now() / 1000, UTC)}
        made.append(AsyncTurnRecorder(client, **{**usual, **given}))
        return made[-1]

    yield build
    for one in made:
        await one.aclose(0.0)


@pytest.fixture
def chat(recorder_of: Callable[..., AsyncTurnRecorder], clock: FakeClock) -> Conversation:
    return Conversation(recorder_of(), clock)
