"""Whether a model thinks although it was asked not to: seen on both wires, shown or only billed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from memstrata.llm.protocol import ChatRequest
from memstrata.llm.provider import Provider
from memstrata.testing.llm import Garbage, RecordedRequest, Reply, ScriptedLLM, Status

Build = Callable[..., Provider]
Request = Callable[..., ChatRequest]


@pytest.mark.parametrize("dialect", ["generic", "anthropic"])
@pytest.mark.parametrize("reasoning", ["", "Hm."])
async def test_reasoning_beside_the_text_is_noticed(
    model: ScriptedLLM, provider: Build, ask_for: Request, dialect: Any, reasoning: str
) -> None:
    model.always("extract", Reply("[]", reasoning=reasoning))
    reply = await provider(dialect_name=dialect).complete(ask_for())
    assert (reply.text, reply.reasoned) == ("[]", bool(reasoning))


@pytest.mark.parametrize(("tokens", "noticed"), [(0, False), (7, True), ("many", False)])
async def test_reasoning_that_is_only_billed_is_noticed(
    model: ScriptedLLM, provider: Build, ask_for: Request, tokens: object, noticed: bool
) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": tokens}}
    body = {"choices": [{"message": {"content": "[]"}, "finish_reason": "stop"}], "usage": usage}
    model.always("extract", Garbage(json.dumps(body).encode(), "application/json"))
    assert (await provider().complete(ask_for())).reasoned is noticed


async def test_what_an_endpoint_refused_can_be_read(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    def answer(request: RecordedRequest) -> Reply | Status:
        form = request.body.get("response_format", {}).get("type")
        return Status(400, "json_schema is not supported") if form == "json_schema" else Reply("[]")

    model.always("extract", answer)
    asked = provider()
    before = asked.terms
    await asked.complete(ask_for(schema={"type": "object"}))
    assert (before.best_form, asked.terms.best_form) == ("json_schema", "json_object")
