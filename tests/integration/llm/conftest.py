"""A scripted model behind a real socket, and providers that talk to it under a clock that is moved."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from memstrata.endpoint.http import Http
from memstrata.llm.protocol import ChatMessage, ChatRequest
from memstrata.llm.provider import Provider
from memstrata.llm.roles import ModelChoice
from memstrata.testing.clock import FakeClock
from memstrata.testing.llm import ScriptedLLM


@pytest.fixture
async def model() -> AsyncIterator[ScriptedLLM]:
    async with ScriptedLLM() as server:
        yield server


@pytest.fixture
async def provider(model: ScriptedLLM, clock: FakeClock) -> AsyncIterator[Callable[..., Provider]]:
    """Return a builder: `provider(dialect_name="deepseek")`; keywords are fields of the choice, and `breaker`."""
    http = Http(max_reply_bytes=100_000)

    def build(**given: Any) -> Provider:
        own = {"breaker": given.pop("breaker")} if "breaker" in given else {}
        usual = {"base_url": model.base_url, "model": "scripted", "api_key": "sk-secret-1", "dialect_name": "generic"}
        return Provider(ModelChoice(**{**usual, **given}), http, clock, **own)

    yield build
    await http.close()


@pytest.fixture
def ask_for() -> Callable[..., ChatRequest]:
    """Return a builder of requests: `ask_for("hello", max_tokens=10)`."""

    def build(text: str = "hello", **given: Any) -> ChatRequest:
        usual: dict[str, Any] = {"role": "extract", "system": "You keep notes.", "timeout_seconds": 20.0}
        return ChatRequest(**{**usual, "messages": (ChatMessage("user", text),), **given})

    return build
