"""The providers' own client libraries talk through the proxy and notice nothing: whole and streamed, thinking, with tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import APIStatusError as AnthropicRefused
from anthropic import AsyncAnthropic
from openai import APIStatusError as OpenAIRefused
from openai import AsyncOpenAI

from memstrata.cli.proxying import proxy_beside
from memstrata.client import AsyncMemoryClient
from memstrata.memory import Memory
from memstrata.server import bind, serve_until
from memstrata.settings import ProxySettings, ServerSettings, Settings
from memstrata.testing.upstream import Call, Fails, FakeUpstream, Says

pytestmark = pytest.mark.xdist_group("model_clients")

QUESTION = "When do deployments run?"
ANSWER = "部署在每周五 🚀."
SESSION = {"x-conversation-id": "session-1"}
LOOK = Says("I look.", (Call("look", {"day": "Friday"}, "call_look"),), thinking="hm")
DEADLINE_SECONDS = 20.0


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    async with FakeUpstream() as running:
        yield running


@pytest.fixture
async def url(upstream: FakeUpstream, tmp_path: Path) -> AsyncIterator[str]:
    """What `memstrata serve` runs, in front of the scripted provider."""
    proxy = ProxySettings(upstreams=(f"anthropic={upstream.base_url}", f"openai={upstream.base_url}/v1"))
    settings = Settings(data_dir=tmp_path, server=ServerSettings(port=0, shutdown_seconds=1.0), proxy=proxy)
    stop = asyncio.Event()
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        serve_until(
            stop,
            bind(settings.server),
            lambda: Memory.open(settings=settings),
            settings.server,
            ready.set_result,
            proxy_beside(settings),
        )
    )
    waiting: list[asyncio.Future[Any]] = [serving, ready]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        serving.result()
    yield ready.result()
    stop.set()
    await serving


async def kept(url: str) -> list[tuple[str, str]]:
    """Return the turn of the session once it is there, as role and text."""
    async with (
        AsyncMemoryClient(url, team="personal", agent="assistant", user="me") as memory,
        asyncio.timeout(DEADLINE_SECONDS),
    ):
        while len(found := (await memory.messages(session="session-1")).items) < 2:
            await asyncio.sleep(0.01)
    return sorted((one.role, one.content) for one in found)


def assert_remembered(upstream: FakeUpstream, said: list[tuple[str, str]]) -> None:
    """Both requests carried memory, the second went on from the first, and the turn is one."""
    first, second = upstream.requests
    assert b"memory-tools-guide" in first.body
    for name in ("system", "instructions"):
        assert first.json.get(name) == second.json.get(name)
    member = "input" if "input" in first.json else "messages"
    assert second.json[member][: len(first.json[member])] == first.json[member]
    assert said == [("assistant", ANSWER), ("user", QUESTION)]


@pytest.mark.parametrize("streams", [False, True])
async def test_anthropics_client(url: str, upstream: FakeUpstream, streams: bool) -> None:
    upstream.script(LOOK, Says(ANSWER, thinking="yes"))
    client = AsyncAnthropic(api_key="sk-real", base_url=f"{url}/claude-code/default", default_headers=SESSION)
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    tools: Any = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}]
    asked: dict[str, Any] = {
        "model": "model-1",
        "max_tokens": 4_000,
        "system": "You deploy.",
        "tools": tools,
        "thinking": {"type": "enabled", "budget_tokens": 1_024},
    }

    async def answer() -> Any:
        if not streams:
            return await client.messages.create(messages=messages, **asked)
        async with client.messages.stream(messages=messages, **asked) as stream:
            return await stream.get_final_message()

    first = await answer()
    assert [block.type for block in first.content] == ["thinking", "text", "tool_use"]
    assert (first.stop_reason, first.content[2].input) == ("tool_use", {"day": "Friday"})
    assert first.usage.cache_read_input_tokens == 3
    messages += [
        {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": first.content[2].id, "content": "yes"}]},
    ]
    second = await answer()
    assert second.content[-1].text == ANSWER
    assert_remembered(upstream, await kept(url))
    await client.close()


@pytest.mark.parametrize("streams", [False, True])
async def test_openais_client_over_chat_completions(url: str, upstream: FakeUpstream, streams: bool) -> None:
    upstream.script(LOOK, Says(ANSWER))
    client = AsyncOpenAI(api_key="sk-real", base_url=f"{url}/hermes/default/v1", default_headers=SESSION)
    function = {"name": "look", "parameters": {"type": "object", "properties": {}}}
    messages: list[Any] = [{"role": "system", "content": "You deploy."}, {"role": "user", "content": QUESTION}]
    asked: dict[str, Any] = {"model": "model-1", "tools": [{"type": "function", "function": function}]}

    async def answer() -> tuple[str, list[tuple[str, str, str]]]:
        if not streams:
            said = (await client.chat.completions.create(messages=messages, **asked)).choices[0].message
            return said.content or "", [(c.id, c.function.name, c.function.arguments) for c in said.tool_calls or ()]
        text, calls = "", list[tuple[str, str, str]]()
        async for chunk in await client.chat.completions.create(messages=messages, stream=True, **asked):
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for call in choice.delta.tool_calls or ():
                    if call.id:
                        calls.append((call.id, call.function.name, ""))
                    calls[-1] = (*calls[-1][:2], calls[-1][2] + (call.function.arguments or ""))
        return text, calls

    text, calls = await answer()
    ((ident, name, arguments),) = calls
    assert (text, name, json.loads(arguments)) == ("I look.", "look", {"day": "Friday"})
    call = {"id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}
    messages += [
        {"role": "assistant", "content": text, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": ident, "content": "yes"},
    ]
    assert await answer() == (ANSWER, [])
    assert_remembered(upstream, await kept(url))
    await client.close()


@pytest.mark.parametrize("streams", [False, True])
async def test_openais_client_over_responses(url: str, upstream: FakeUpstream, streams: bool) -> None:
    upstream.script(LOOK, Says(ANSWER, thinking="yes"))
    client = AsyncOpenAI(
        api_key="sk-real", base_url=f"{url}/codex/default/v1", default_headers={"session-id": "session-1"}
    )
    items: list[Any] = [{"type": "message", "role": "user", "content": QUESTION}]
    tools = [{"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}]
    asked: dict[str, Any] = {"model": "model-1", "instructions": "You deploy.", "tools": tools, "store": False}

    async def answer() -> Any:
        if not streams:
            return await client.responses.create(input=items, **asked)
        completed = None
        async for event in await client.responses.create(input=items, stream=True, **asked):
            completed = event.response if event.type == "response.completed" else completed
        return completed

    first = await answer()
    assert [item.type for item in first.output] == ["reasoning", "message", "function_call"]
    assert json.loads(first.output[2].arguments) == {"day": "Friday"}
    items += [item.model_dump(exclude_none=True) for item in first.output]
    items.append({"type": "function_call_output", "call_id": first.output[2].call_id, "output": "yes"})
    assert (await answer()).output_text == ANSWER
    assert_remembered(upstream, await kept(url))
    await client.close()


async def test_a_command_is_answered_in_words_that_each_client_understands(url: str, upstream: FakeUpstream) -> None:
    text = "mem:status"
    async with AsyncAnthropic(api_key="k", base_url=f"{url}/claude-code/default", default_headers=SESSION) as client:
        tools: Any = [{"name": "look", "input_schema": {"type": "object"}}]
        asked: dict[str, Any] = {"model": "m", "max_tokens": 10, "tools": tools}
        said = await client.messages.create(messages=[{"role": "user", "content": text}], **asked)
        async with client.messages.stream(messages=[{"role": "user", "content": text}], **asked) as stream:
            streamed = await stream.get_final_text()
    async with AsyncOpenAI(api_key="k", base_url=f"{url}/hermes/default/v1", default_headers=SESSION) as openai:
        chat = await openai.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
        response = await openai.responses.create(model="m", input=text)
        events = [event async for event in await openai.responses.create(model="m", input=text, stream=True)]
    assert upstream.requests == []
    for one in (said.content[0].text, streamed, chat.choices[0].message.content, response.output_text):
        assert "assistant" in one
    assert events[-1].type == "response.completed"
    assert "assistant" in events[-1].response.output_text


async def test_a_refusal_is_the_clients_own_error(url: str, upstream: FakeUpstream) -> None:
    upstream.always(Fails(429, b'{"error":{"type":"rate_limit_error","message":"slow down"}}', {"retry-after": "0"}))
    async with AsyncAnthropic(api_key="k", base_url=f"{url}/claude-code/default", max_retries=0) as client:
        with pytest.raises(AnthropicRefused) as refused:
            await client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "hi"}])
    assert refused.value.status_code == 429
    async with AsyncOpenAI(api_key="k", base_url=f"{url}/hermes/default/v1", max_retries=0) as openai:
        with pytest.raises(OpenAIRefused, match="slow down"):
            await openai.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])


async def test_models_and_tokens_can_be_asked_for(url: str) -> None:
    async with AsyncAnthropic(api_key="k", base_url=f"{url}/claude-code/default", default_headers=SESSION) as client:
        assert [one.id async for one in client.models.list()] == ["model-1"]
        messages: Any = [{"role": "user", "content": QUESTION}]
        assert (await client.messages.count_tokens(model="m", messages=messages)).input_tokens > 0
    async with AsyncOpenAI(api_key="k", base_url=f"{url}/hermes/default/v1") as openai:
        assert [one.id async for one in openai.models.list()] == ["model-1"]
