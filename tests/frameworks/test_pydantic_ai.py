"""What Pydantic AI does of its own: instructions that are written into the history, streams, agents inside tools, media."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    RunContext,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.messages import CompactionPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memstrata.client import TurnIds
from memstrata.integrations.pydantic_ai import MemoryCapability, view_messages

from .bench import MARK, Bench
from .driver import Thread

BLOCK = "<relevant-memories"
S1 = Thread("s1")


@pytest.fixture
async def memory(bench: Bench) -> AsyncIterator[MemoryCapability]:
    """Memory that knows from an earlier conversation where Lin lives."""
    await bench.remember("I moved to Lisbon.")
    async with bench.client() as client:
        made = MemoryCapability(client)
        yield made
        await made.memory.aclose(0.0)


@pytest.fixture
def model() -> Callable[..., FunctionModel]:
    """Return a builder of a model that gives these answers, in turn, and notes its requests in `seen`."""

    def build(seen: list[str], *answers: TextPart | ToolCallPart) -> FunctionModel:
        left = list(answers)

        def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            seen.append(f"{info.instructions}\n{as_text(messages)}")
            return ModelResponse([left.pop(0)])

        async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
            answer = respond(messages, info).parts[0]
            assert isinstance(answer, TextPart)
            for word in answer.content.split(" "):
                yield f"{word} "

        return FunctionModel(respond, stream_function=stream)

    return build


def as_text(messages: list[ModelMessage]) -> str:
    return ModelMessagesTypeAdapter.dump_json(messages).decode()


async def test_neither_messages_nor_instructions_of_the_history_hold_what_memory_added(
    memory: MemoryCapability, model: Callable[..., FunctionModel]
) -> None:
    seen: list[str] = []
    agent = Agent(model(seen, TextPart("Yes.")), instructions="BASE", capabilities=[memory])
    result = await agent.run("Do I live in Lisbon?", conversation_id="s1")

    assert seen[0].startswith("BASE\n\n<user-persona")
    assert BLOCK in seen[0]
    assert MARK not in as_text(result.all_messages())
    assert [getattr(message, "instructions", "BASE") for message in result.all_messages()] == ["BASE", "BASE"]


async def test_the_conversation_is_the_session_and_goes_on_with_its_history(
    memory: MemoryCapability, bench: Bench, model: Callable[..., FunctionModel]
) -> None:
    agent = Agent(model([], TextPart("One."), TextPart("Two.")), capabilities=[memory])
    first = await agent.run("Count.")
    await agent.run("Go on.", message_history=first.all_messages())
    await memory.memory.drain()

    said = await bench.said(Thread(first.all_messages()[0].conversation_id or ""))
    assert [text for _, text in said] == ["Count.", "One.", "Go on.", "Two."]


async def test_a_stream_is_captured_when_it_was_read_and_not_when_it_was_left(
    memory: MemoryCapability, bench: Bench, model: Callable[..., FunctionModel]
) -> None:
    agent = Agent(model([], TextPart("All of it."), TextPart("Left early.")), capabilities=[memory])
    async with agent.run_stream("Read this.", conversation_id="s1") as stream:
        assert await stream.get_output() == "All of it. "
    await memory.memory.drain()
    assert await bench.said(S1) == [("user", "Read this."), ("assistant", "All of it.")]

    with pytest.raises(RuntimeError, match="gone"):
        async with agent.run_stream("Leave this.", conversation_id="s1", message_history=stream.all_messages()):
            raise RuntimeError("gone")
    await memory.memory.drain()
    assert len(await bench.said(S1)) == 2


async def test_steps_that_an_application_drives_itself_are_captured_at_the_end(
    memory: MemoryCapability, bench: Bench, model: Callable[..., FunctionModel]
) -> None:
    seen: list[str] = []
    agent = Agent(model(seen, TextPart("Lisbon.")), capabilities=[memory])
    async with agent.iter("Where, Lisbon?", conversation_id="s1") as run:
        async for _ in run:
            pass
    await memory.memory.drain()

    assert BLOCK in seen[0]
    assert await bench.said(S1) == [("user", "Where, Lisbon?"), ("assistant", "Lisbon.")]


async def test_an_agent_inside_a_tool_recalls_but_is_not_captured(
    memory: MemoryCapability, bench: Bench, model: Callable[..., FunctionModel]
) -> None:
    seen: list[str] = []
    inner = Agent(model(seen, TextPart("from inside")), capabilities=[memory])
    outer = Agent(model([], ToolCallPart("ask", {"text": "Lisbon?"}), TextPart("Done.")), capabilities=[memory])

    @outer.tool
    async def ask(context: RunContext[None], text: str) -> str:
        return (await inner.run(text, conversation_id=context.conversation_id)).output

    await outer.run("Ask somebody.", conversation_id="s1")
    await memory.memory.drain()

    assert BLOCK in seen[0]
    assert memory.memory.status.outcomes == {"nested": 1, "captured": 1}
    assert await bench.said(S1) == [("user", "Ask somebody."), ("assistant", "Done.")]


async def test_runs_at_the_same_time_share_neither_blocks_nor_calls(
    bench: Bench, model: Callable[..., FunctionModel]
) -> None:
    await bench.remember("I moved to Lisbon.")
    await bench.remember("I moved to Oslo.", user="maya")
    search = ToolCallPart("memory_search", {"query": "I moved to"})
    started = asyncio.Barrier(2)
    seen: dict[str, list[str]] = {"lin": [], "maya": []}
    async with bench.client() as client:
        memory = MemoryCapability(client, ids=lambda context: TurnIds(user=context.deps, session=context.deps))

        async def run(user: str) -> None:
            answers = (search, search, search, search, TextPart(f"Hello {user}."))
            agent: Agent[str, str] = Agent(model(seen[user], *answers), deps_type=str, capabilities=[memory])

            @agent.instructions
            async def together() -> str:
                await started.wait()
                return "BASE"

            await agent.run("Where have I moved?", deps=user)

        await asyncio.gather(run("lin"), run("maya"))
        await memory.memory.drain()
        await memory.memory.aclose(0.0)

    for user, own, other in (("lin", "Lisbon", "Oslo"), ("maya", "Oslo", "Lisbon")):
        found = [request.count(f"I moved to {own}.") for request in seen[user]]
        assert found[0] < found[1] < found[2] < found[3] == found[4]
        assert not any(other in request for request in seen[user])
        assert [text for _, text in await bench.said(Thread(user, user))] == ["Where have I moved?", f"Hello {user}."]


async def test_media_in_a_prompt_stay_where_they_are_and_are_captured_as_what_they_are(
    memory: MemoryCapability, bench: Bench, model: Callable[..., FunctionModel]
) -> None:
    seen: list[str] = []
    agent = Agent(model(seen, TextPart("A tram.")), capabilities=[memory])
    picture = BinaryContent(b"\x89PNG", media_type="image/png")
    await agent.run(["Is this Lisbon, where I live?", picture], conversation_id="s1")
    await memory.memory.drain()

    assert BLOCK in seen[0]
    assert '"media_type":"image/png"' in seen[0]
    assert await bench.said(S1) == [("user", "Is this Lisbon, where I live?\n[image]"), ("assistant", "A tram.")]


async def test_an_answer_that_is_data_leaves_the_question_in_memory(
    memory: MemoryCapability, bench: Bench, model: Callable[..., FunctionModel]
) -> None:
    class City(BaseModel):
        name: str

    agent = Agent(model([], ToolCallPart("final_result", {"name": "Lisbon"})), output_type=City, capabilities=[memory])
    await agent.run("Where do I live?", conversation_id="s1")
    await memory.memory.drain()
    assert await bench.said(S1) == [("user", "Where do I live?")]


def test_a_summary_that_stands_for_history_is_nobodys_words() -> None:
    history: list[Any] = [ModelResponse([CompactionPart("what was said before")]), "not a message", None]
    assert [(seen.role, seen.text, seen.is_synthetic) for seen in view_messages(history)] == [("assistant", "", True)]
