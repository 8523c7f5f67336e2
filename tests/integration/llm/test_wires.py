"""Both wire formats over a real connection: what is sent, and what is read from the answer."""

from collections.abc import Callable

import pytest

from memstrata.llm.protocol import ChatMessage, ChatRequest, ToolCall, ToolSpec, Usage
from memstrata.llm.provider import Provider
from memstrata.testing.llm import Reply, ScriptedLLM

Build = Callable[..., Provider]
Request = Callable[..., ChatRequest]
WIRES = pytest.mark.parametrize("dialect", ["generic", "anthropic"])
READ = ToolSpec("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
SCHEMA = {"type": "object", "properties": {"items": {"type": "array"}}, "required": ["items"]}


@WIRES
async def test_a_question_gets_its_answer(model: ScriptedLLM, provider: Build, ask_for: Request, dialect: str) -> None:
    model.script("extract", Reply("好的", usage=(100, 7, 60)))
    reply = await provider(dialect_name=dialect).complete(ask_for("你好", max_tokens=50, temperature=0.2))
    assert (reply.text, reply.finish_reason, reply.model) == ("好的", "stop", "scripted")
    assert reply.usage == Usage(100, 7, 60, calls=1)
    assert reply.elapsed_ms > 0
    (request,) = model.requests
    assert (request.role, request.system, request.last_user_text) == ("extract", "You keep notes.", "你好")
    assert (request.body["max_tokens"], request.body["temperature"]) == (50, 0.2)


async def test_the_key_goes_where_each_format_wants_it(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.always("extract", Reply("ok"))
    await provider().complete(ask_for())
    await provider(dialect_name="anthropic").complete(ask_for())
    await provider(api_key="").complete(ask_for())
    bearer, key, none = (request.headers for request in model.requests)
    assert bearer["authorization"] == "Bearer sk-secret-1"
    assert key["x-api-key"] == "sk-secret-1"
    assert "authorization" not in none


@WIRES
async def test_reasoning_that_comes_apart_is_never_the_answer(
    model: ScriptedLLM, provider: Build, ask_for: Request, dialect: str
) -> None:
    model.script("extract", Reply("", reasoning='[{"content": "not this"}]'))
    assert (await provider(dialect_name=dialect).complete(ask_for())).text == ""


@WIRES
async def test_tool_calls_go_there_and_back_with_what_the_endpoint_wants_back(
    model: ScriptedLLM, provider: Build, ask_for: Request, dialect: str
) -> None:
    call = ToolCall("call_1", "read", '{"path": "tea.md"}')
    model.script("extract", Reply("Looking.", (call,), reasoning="hm"), Reply("done"))
    asked = provider(dialect_name=dialect)
    request = ask_for(tools=(READ,))
    reply = await asked.complete(request)
    assert reply.finish_reason == "tool_calls"
    assert reply.tool_calls == (call,)
    result = ChatMessage("tool", "# Tea", tool_call_id="call_1")
    await asked.complete(ask_for(tools=(READ,), messages=(*request.messages, reply.as_message(), result)))
    said, answered = model.requests[1].messages[1:]
    if dialect == "anthropic":
        assert [block["type"] for block in said["content"]] == ["thinking", "text", "tool_use"]
        assert answered["content"][0]["tool_use_id"] == "call_1"
    else:
        assert said["reasoning_content"] == "hm"
        assert answered == {"role": "tool", "tool_call_id": "call_1", "content": "# Tea"}


async def test_results_of_one_step_are_one_turn_in_messages(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Reply("ok"))
    calls = (ToolCall("a", "read", "{}"), ToolCall("b", "read", "no json"))
    results = tuple(ChatMessage("tool", "x", tool_call_id=call.id) for call in calls)
    talk = (ChatMessage("user", "go"), ChatMessage("assistant", "", calls), *results)
    await provider(dialect_name="anthropic").complete(ask_for(messages=talk, tools=(READ,)))
    turns = model.requests[0].messages
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert [block["tool_use_id"] for block in turns[2]["content"]] == ["a", "b"]
    assert [block["input"] for block in turns[1]["content"]] == [{}, {}]


async def test_messages_gets_its_structure_from_a_forced_tool(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Reply('{"items": [1]}'), Reply("[1] in prose"))
    asked = provider(dialect_name="anthropic")
    assert (await asked.complete(ask_for(schema=SCHEMA))).text == '{"items": [1]}'
    assert (await asked.complete(ask_for(schema=SCHEMA))).text == "[1] in prose"
    assert model.requests[0].body["tool_choice"] == {"type": "tool", "name": "answer"}
    assert model.requests[0].tools[0]["input_schema"] == SCHEMA


@pytest.mark.parametrize("dialect", ["generic", "deepseek", "anthropic", "ollama"])
async def test_two_requests_of_a_role_are_the_same_bytes_up_to_what_differs(
    model: ScriptedLLM, provider: Build, ask_for: Request, dialect: str
) -> None:
    model.always("extract", Reply("[]"))
    asked = provider(dialect_name=dialect)
    rules = "长长的规则。" * 200
    await asked.complete(ask_for("first", system=rules, schema=SCHEMA, max_tokens=10))
    await asked.complete(ask_for("second", system=rules, schema=SCHEMA, max_tokens=99))
    one, other = (request.raw for request in model.requests)
    start = one.index(b"first")
    assert one[:start] == other[:start]
    assert rules.encode() in one[:start]
    assert model.requests[1].cached_tokens > 1_000
    assert model.requests[0].cached_tokens == 0


async def test_without_usage_tokens_are_estimated_and_said_to_be(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Reply("我住在里斯本", usage=None))
    usage = (await provider().complete(ask_for("你好"))).usage
    assert usage.estimated
    assert usage.completion_tokens == 6
    assert usage.prompt_tokens > 5


@WIRES
async def test_a_count_beyond_all_measure_can_still_be_booked(
    model: ScriptedLLM, provider: Build, ask_for: Request, dialect: str
) -> None:
    model.script("extract", Reply("ok", usage=(10**30, 10**30, 10**29)))
    usage = (await provider(dialect_name=dialect).complete(ask_for())).usage
    assert 10**6 < usage.completion_tokens < usage.total_tokens < 2**40


async def test_text_that_is_no_unicode_is_sent_all_the_same(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Reply("ok"))
    await provider().complete(ask_for("half \ud83d of an emoji"))
    assert model.requests[0].last_user_text == "half ? of an emoji"
