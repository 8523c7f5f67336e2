"""Structured output and the switches for thinking: what an endpoint refuses is left out, and remembered."""

from collections.abc import Callable

import pytest

from memstrata.llm import errors
from memstrata.llm.protocol import ChatRequest
from memstrata.llm.provider import Provider
from memstrata.testing.llm import Answer, RecordedRequest, Reply, ScriptedLLM, Status

Build = Callable[..., Provider]
Request = Callable[..., ChatRequest]
SCHEMA = {"type": "object", "properties": {"items": {"type": "array"}}, "required": ["items"]}


def refusing(*fields: str) -> Callable[[RecordedRequest], Answer]:
    """Return an endpoint that knows none of these fields, or values of `response_format.type`."""

    def answer(request: RecordedRequest) -> Answer:
        form = request.body.get("response_format", {}).get("type")
        for field in fields:
            if field in request.body or field == form:
                return Status(400, f"Unsupported parameter: {field}")
        return Reply("[]")

    return answer


def forms(model: ScriptedLLM) -> list[str]:
    return [request.body.get("response_format", {}).get("type", "plain") for request in model.requests]


async def test_the_form_steps_down_once_and_stays_there(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.always("extract", refusing("json_schema"))
    asked = provider()
    for _ in range(3):
        await asked.complete(ask_for(schema=SCHEMA))
    assert forms(model) == ["json_schema", "json_object", "json_object", "json_object"]


async def test_an_endpoint_without_any_form_is_told_the_schema_in_words(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.always("extract", refusing("json_schema", "json_object"))
    asked = provider()
    await asked.complete(ask_for(schema=SCHEMA))
    assert forms(model) == ["json_schema", "json_object", "plain"]
    assert '"required":["items"]' in model.requests[-1].system
    assert model.requests[-1].system.startswith("You keep notes.")
    assert "required" not in model.requests[0].system


async def test_a_refusal_for_another_reason_costs_nothing_for_the_next_call(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", *[Status(400, "bad weather")] * 3)
    asked = provider()
    with pytest.raises(errors.RequestRefused):
        await asked.complete(ask_for(schema=SCHEMA))
    model.always("extract", Reply("[]"))
    await asked.complete(ask_for(schema=SCHEMA))
    assert forms(model)[-1] == "json_schema"


async def test_a_model_that_was_not_found_is_not_asked_for_less(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.always("extract", Status(404, "model not found"))
    with pytest.raises(errors.RequestRefused, match="model not found"):
        await provider(dialect_name="openai").complete(ask_for(schema=SCHEMA, temperature=0.0))
    assert len(model.requests) == 1


async def test_each_refused_field_is_left_out_and_the_rest_stays(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.always("extract", refusing("temperature", "reasoning_effort", "max_completion_tokens"))
    await provider(dialect_name="openai").complete(ask_for(schema=SCHEMA, temperature=0.0, max_tokens=77))
    body = model.requests[-1].body
    assert body["max_tokens"] == 77
    assert "temperature" not in body
    assert "reasoning_effort" not in body
    assert body["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("dialect", "field", "value"),
    [
        ("openai", "reasoning_effort", "none"),
        ("deepseek", "thinking", {"type": "disabled"}),
        ("qwen", "enable_thinking", False),
        ("vllm", "chat_template_kwargs", {"enable_thinking": False}),
        ("ollama", "think", False),
        ("anthropic", "thinking", {"type": "disabled"}),
    ],
)
async def test_thinking_is_switched_off_unless_it_is_wanted(
    model: ScriptedLLM, provider: Build, ask_for: Request, dialect: str, field: str, value: object
) -> None:
    model.always("extract", Reply("ok"))
    await provider(dialect_name=dialect).complete(ask_for())
    await provider(dialect_name=dialect, disable_thinking=False).complete(ask_for())
    assert model.requests[0].body[field] == value
    assert field not in model.requests[1].body
