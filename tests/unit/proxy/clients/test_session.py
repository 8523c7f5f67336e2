import json
from typing import Any

import pytest

from memstrata.proxy.clients.session import session_of
from memstrata.proxy.clients.table import CLIENTS, client_named
from memstrata.proxy.wire.request import Block, ProxyRequest, Said, Span

NOWHERE = Span(0, 0)
UUID = "2f0b6c1e-7a55-4a7e-9f56-3b1d2c4e5f60"


def request(*texts: str, metadata: dict[str, object] | None = None) -> ProxyRequest:
    said = tuple(Said("user", (Block("text", text, "", NOWHERE),), NOWHERE, NOWHERE, plain=True) for text in texts)
    system = (Block("text", "You are helpful", "", NOWHERE),)
    return ProxyRequest(
        "anthropic", b"", "m", False, 100, system, NOWHERE, True, said, (), "", "", metadata or {}, 0, False, ""
    )


@pytest.mark.parametrize(
    ("client", "headers", "metadata", "source"),
    [
        ("claude-code", {"x-claude-code-session-id": UUID}, {}, "header"),
        ("claude-code", {}, {"user_id": f"user_abc_account_{UUID[::-1]}_session_{UUID}"}, "body"),
        ("claude-code", {}, {"user_id": json.dumps({"device_id": "d", "session_id": UUID})}, "body"),
        ("codebuddy", {"x-conversation-id": UUID}, {}, "header"),
        ("dsh", {"x-deepseek-harness-session-id": UUID}, {}, "header"),
        ("codex", {"session-id": UUID}, {}, "header"),
        ("codex", {"session_id": UUID}, {}, "header"),
        ("codex", {}, {"session_id": UUID}, "body"),
        ("workbuddy", {}, {"session_id": UUID}, "body"),
        ("hermes", {"x-session-id": UUID}, {}, "header"),
        ("my-agent", {"x-thread-id": UUID}, {}, "header"),
    ],
)
def test_each_client_names_its_session(
    client: str, headers: dict[str, str], metadata: dict[str, object], source: str
) -> None:
    found = session_of(client_named(client), headers, request("hello", metadata=metadata))

    assert found is not None
    assert (found.value, found.source) == (UUID, source)


@pytest.mark.parametrize("given", ["../../etc/passwd", "x" * 500, "a b", "名字", "-rf", "a\nb"])
def test_an_id_that_is_no_name_becomes_one(given: str) -> None:
    found = session_of(CLIENTS["codebuddy"], {"x-conversation-id": given}, request("hello"))
    again = session_of(CLIENTS["codebuddy"], {"x-conversation-id": given}, request("other"))

    assert found is not None
    assert found == again
    assert found.value.startswith("hashed-")
    assert found.value.removeprefix("hashed-").isalnum()


def test_without_an_id_the_beginning_of_the_conversation_is_one() -> None:
    client = client_named("my-agent")
    first = session_of(client, {}, request("I am Lin", "and then"))
    later = session_of(client, {}, request("I am Lin", "and then", "and more"))
    other = session_of(client, {}, request("I am Ana"))

    assert first is not None
    assert first.source == "derived"
    assert first == later
    assert first != other
    assert session_of(client, {}, request()) is None


@pytest.mark.parametrize("user_id", ["{", "{}", '{"session_id": 4}', "[]", "user_x", "user__account__session_"])
def test_a_broken_user_id_names_no_session(user_id: Any) -> None:
    found = session_of(CLIENTS["claude-code"], {}, request("hello", metadata={"user_id": user_id}))

    assert found is not None
    assert found.source == "derived"
