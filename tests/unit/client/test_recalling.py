"""What recall asks for, what a request carries of the answer, and that it never stands in an agent's way."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from memstrata.client import (
    AsyncMemoryClient,
    AsyncRecaller,
    MemoryClient,
    Recalled,
    Recaller,
    TurnIds,
    view_anthropic,
    view_langchain,
)

BLOCK = '<relevant-memories source="memstrata">\n- [persona] likes tea\n</relevant-memories>'
STABLE = '<user-persona source="memstrata">\n# Lin\n</user-persona>'


class Answering:
    """Answers recalls with what the test set, and keeps the bodies."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.data: dict[str, Any] = {"prepend_context": BLOCK, "append_system_context": STABLE}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        return httpx.Response(200, json={"code": 0, "data": self.data})

    def client(self) -> MemoryClient:
        return MemoryClient(team="t", agent="a", user="u", session="s", transport=httpx.MockTransport(self))


@pytest.fixture
def server() -> Answering:
    return Answering()


def test_the_newest_text_of_a_user_is_the_question(server: Answering) -> None:
    messages = [
        {"role": "user", "content": "I like tea"},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": f"{BLOCK}\n\n喝什么好？"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]},
        {"role": "tool", "content": "water"},
    ]

    recalled = Recaller(server.client()).recall(messages)

    (body,) = server.bodies
    assert (body["query"], body["limit"], body["include"]) == ("喝什么好？", 8, ["memories", "persona", "scenes"])
    assert 1_000 <= body["budget_ms"] < 1_500
    assert (recalled.prepend_context, recalled.append_system_context, recalled.reason) == (BLOCK, STABLE, "")


def test_a_long_question_is_cut_between_characters(server: Answering) -> None:
    family = "👨‍👩‍👧‍👦"  # seven code points, one character
    Recaller(server.client()).recall([("user", "x" * 1_997 + family * 3)])

    assert server.bodies[0]["query"] == "x" * 1_997


def test_only_the_request_carries_memory_and_only_in_its_newest_user_message() -> None:
    recalled = Recalled(BLOCK, STABLE)
    history: list[Any] = [
        {"role": "user", "content": "I like tea"},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": [{"type": "text", "text": "What now?"}], "id": "m3"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]},
    ]
    before = json.dumps(history)

    request = recalled.in_messages(history, view=view_anthropic)

    assert json.dumps(history) == before
    assert request[2] == {
        "role": "user",
        "content": [{"type": "text", "text": BLOCK}, {"type": "text", "text": "What now?"}],
        "id": "m3",
    }
    assert [*request[:2], *request[3:]] == [*history[:2], *history[3:]]
    assert recalled.in_messages([("user", "hi")]) == [("user", f"{BLOCK}\n\nhi")]
    assert recalled.in_system("Be kind.") == f"Be kind.\n\n{STABLE}"
    assert Recalled().in_messages(history) == history
    assert Recalled().in_system("Be kind.") == "Be kind."


def test_a_snapshot_keeps_the_stable_block_of_its_session_alone(server: Answering) -> None:
    recaller = Recaller(server.client(), snapshot=True)
    recaller.recall([("user", "hi")])
    server.data = {"prepend_context": "", "append_system_context": "changed"}

    assert recaller.recall([("user", "hi again")]).append_system_context == STABLE
    assert server.bodies[1]["include"] == ["memories"]
    assert recaller.recall([("user", "hi")], TurnIds(session="other")).append_system_context == "changed"


def test_a_block_that_did_not_arrive_is_not_kept_for_the_session(server: Answering) -> None:
    recaller = Recaller(server.client(), snapshot=True)
    server.data = {"append_system_context": "", "degraded": ["persona: did not arrive within 1.2 s"]}
    assert recaller.recall([("user", "hi")]).reason == "persona: did not arrive within 1.2 s"

    server.data = {"append_system_context": STABLE}
    assert recaller.recall([("user", "hi")]).append_system_context == STABLE


def test_a_turn_without_text_asks_for_the_stable_block_alone(server: Answering) -> None:
    server.data = {"append_system_context": STABLE}
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]

    recalled = Recaller(server.client()).recall(image)

    assert server.bodies[0]["include"] == ["persona", "scenes"]
    assert (recalled.append_system_context, recalled.reason) == (STABLE, "no user text to ask with")


async def test_a_server_that_is_away_costs_the_memory_and_nothing_else(server: Answering) -> None:
    down = False

    def flaky(request: httpx.Request) -> httpx.Response:
        if down:
            raise httpx.ReadTimeout("slow", request=request)
        return server(request)

    memory = AsyncMemoryClient(team="t", agent="a", user="u", session="s", transport=httpx.MockTransport(flaky))
    recaller = AsyncRecaller(memory, snapshot=True)
    assert (await recaller.recall([("user", "hi")])).append_system_context == STABLE
    down = True

    recalled = await recaller.recall([("user", "hi")])

    assert recalled == Recalled(append_system_context=STABLE, reason="recall failed: Unreachable")
    assert (await recaller.recall([("user", "hi")], TurnIds(session="new"))).append_system_context == ""


def test_messages_that_cannot_be_read_do_not_raise(server: Answering) -> None:
    recalled = Recaller(server.client()).recall(None)  # type: ignore[arg-type]

    assert recalled.reason == "recall failed: TypeError"


class Model:
    """A message as Pydantic models are."""

    type = "human"

    def __init__(self, content: object) -> None:
        self.content = content

    def model_copy(self, *, update: dict[str, Any]) -> Model:
        return Model(update["content"])


def test_messages_that_are_models_are_copied() -> None:
    said = Model("hi")

    (request,) = Recalled(BLOCK).in_messages([said], view=view_langchain)

    assert (request.content, said.content) == (f"{BLOCK}\n\nhi", "hi")


def test_a_message_that_cannot_be_copied_goes_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    class Frozen:
        role, content = "user", "hi"

    said = Frozen()

    assert Recalled(BLOCK).in_messages([said]) == [said]
    assert "Frozen" in caplog.text
