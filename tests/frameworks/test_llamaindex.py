"""What LlamaIndex does of its own: memories that are flushed, stores of live messages, thoughts, handoffs, state prompts.

Annotations are not put off here: the framework looks among them for the context that a tool takes.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms import MockLLM
from llama_index.core.memory import BaseMemoryBlock, ChatMemoryBuffer, InsertMethod, Memory
from llama_index.core.tools import FunctionTool
from pydantic import Field
from sqlalchemy.ext.asyncio import create_async_engine

from memstrata.client import TurnIds
from memstrata.integrations.llamaindex import (
    LlamaMemory,
    RememberingFunctionAgent,
    RememberingReActAgent,
    view_chat,
)

from .bench import MARK, Bench
from .driver import Thread
from .llamaindex_driver import ScriptedModel

BLOCK = "<relevant-memories"
S1 = Thread("s1")
IDS = TurnIds(session="s1")


@pytest.fixture
async def memory(bench: Bench) -> AsyncIterator[LlamaMemory]:
    """Memory that knows from an earlier conversation where Lin lives."""
    await bench.remember("I moved to Lisbon.")
    async with bench.client() as client:
        made = LlamaMemory(client)
        yield made
        await made.aclose(0.0)


@pytest.fixture
def model() -> Callable[..., ScriptedModel]:
    """Return a builder of a model that gives these answers, in turn, and notes its requests in `seen`.

    An answer is a text, or the name and the arguments of a tool.
    """

    def build(seen: list[str], *answers: str | tuple[str, dict[str, Any]]) -> ScriptedModel:
        left = list(answers)

        async def respond(messages: Sequence[ChatMessage]) -> ChatMessage:
            seen.append("\n".join(f"{message.role.value}: {message.content}" for message in messages))
            answer = left.pop(0)
            if isinstance(answer, str):
                return ChatMessage(role="assistant", content=answer)
            call = ToolCallBlock(tool_call_id=f"call_{len(seen)}", tool_name=answer[0], tool_kwargs=answer[1])
            return ChatMessage(role="assistant", blocks=[call])

        return ScriptedModel(respond)

    return build


class Flushed(BaseMemoryBlock[str]):
    """A block of the framework's that counts what is flushed to it."""

    put: list[str] = Field(default_factory=list)

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        return "OTHER BLOCK"

    async def _aput(self, messages: list[ChatMessage]) -> None:
        self.put += [str(message.content) for message in messages]


async def test_a_memory_that_is_flushed_within_turns_gives_each_turn_once(
    memory: LlamaMemory, bench: Bench, model: Callable[..., ScriptedModel]
) -> None:
    block = Flushed(name="other")
    engine = create_async_engine(f"sqlite+aiosqlite:///{bench.folder / 'chat.db'}")
    chat = Memory.from_defaults(
        session_id="s1",
        token_limit=40,
        token_flush_size=10,
        memory_blocks=[block],
        insert_method=InsertMethod.USER,
        tokenizer_fn=str.split,
        async_engine=engine,
    )
    seen: list[str] = []
    answers = [f"The answer number {at} is a rather long one." for at in range(4)]
    agent = RememberingFunctionAgent(llm=model(seen, *answers), streaming=False)
    for at in range(4):
        async with memory.run(agent, f"Question number {at}: is it in Lisbon?", memory=chat) as handler:
            await handler
    await memory.drain()
    await engine.dispose()

    assert block.put
    assert "OTHER BLOCK" in seen[-1]
    assert BLOCK in seen[-1]
    assert memory.status.outcomes == {"captured": 4}
    expected = [(f"Question number {at}: is it in Lisbon?", answers[at]) for at in range(4)]
    assert [text for _, text in await bench.said(S1)] == [text for pair in expected for text in pair]


async def test_what_a_state_prompt_makes_of_a_stored_message_is_not_what_the_user_said(
    memory: LlamaMemory, bench: Bench, model: Callable[..., ScriptedModel]
) -> None:
    chat = ChatMemoryBuffer.from_defaults()
    agent = RememberingFunctionAgent(llm=model([], "In Lisbon."), streaming=False, initial_state={"mood": "calm"})
    question = ChatMessage(role="user", content="Where do I live?")
    async with memory.run(agent, question, memory=chat, ids=IDS) as handler:
        await handler
    await memory.drain()

    stored = "".join(str(message.content) for message in chat.get_all())
    assert "calm" in stored
    assert MARK not in stored
    assert await bench.said(S1) == [("user", "Where do I live?"), ("assistant", "In Lisbon.")]


async def test_the_thoughts_of_a_react_agent_are_not_its_answer(memory: LlamaMemory, bench: Bench) -> None:
    thoughts = "Thought: I can answer without using any more tools.\nAnswer: In Lisbon."
    seen: list[str] = []

    class Thinking(MockLLM):
        async def achat(self, messages: Sequence[ChatMessage], **_: Any) -> Any:
            seen.append("\n".join(str(message.content) for message in messages))
            return await super().achat([ChatMessage(role="user", content=thoughts)])

        def complete(self, prompt: str, formatted: bool = False, **given: Any) -> Any:
            return super().complete(thoughts, formatted, **given)

    chat = ChatMemoryBuffer.from_defaults()
    agent = RememberingReActAgent(llm=Thinking(), tools=memory.tools(), system_prompt="BASE", streaming=False)
    async with memory.run(agent, "Where do I live, Lisbon?", memory=chat, ids=IDS) as handler:
        await handler
    await memory.drain()

    assert BLOCK in seen[0]
    assert seen[0].count("<user-persona") == 1
    assert seen[0].count("BASE") == 1
    assert "memory_search" in seen[0]
    assert "Thought:" in str(chat.get_all()[-1].content)
    assert await bench.said(S1) == [("user", "Where do I live, Lisbon?"), ("assistant", "In Lisbon.")]


async def test_a_handoff_is_part_of_the_turn_and_both_agents_have_memory(
    memory: LlamaMemory, bench: Bench, model: Callable[..., ScriptedModel]
) -> None:
    seen: list[str] = []
    scripted = model(seen, ("handoff", {"to_agent": "expert", "reason": "knows"}), "You live in Lisbon.")
    triage = RememberingFunctionAgent(
        name="triage", description="sorts", system_prompt="TRIAGE", llm=scripted, streaming=False
    )
    expert = RememberingFunctionAgent(
        name="expert", description="knows", system_prompt="EXPERT", llm=scripted, streaming=False
    )
    workflow = AgentWorkflow(agents=[triage, expert], root_agent="triage")
    async with memory.run(workflow, "Lisbon, is that where I live?", ids=IDS) as handler:
        await handler
    await memory.drain()

    assert [request.count(BLOCK) for request in seen] == [1, 1]
    assert "system: TRIAGE\n\n<user-persona" in seen[0]
    assert "system: EXPERT\n\n<user-persona" in seen[1]
    assert await bench.said(S1) == [
        ("user", "Lisbon, is that where I live?"),
        ("assistant", "You live in Lisbon."),
    ]


async def test_an_agent_inside_a_tool_is_sent_no_memory_of_the_run_around_it(
    memory: LlamaMemory, bench: Bench, model: Callable[..., ScriptedModel]
) -> None:
    seen: list[str] = []
    inner = RememberingFunctionAgent(llm=model(seen, "from inside", "from a run inside"), streaming=False)

    async def ask(text: str) -> str:
        """Ask somebody else, twice."""
        first = str(await inner.run(text))
        async with memory.run(inner, text, ids=IDS) as handler:
            return first + str(await handler)

    outer = RememberingFunctionAgent(
        llm=model([], ("ask", {"text": "Lisbon?"}), "Done."),
        tools=[FunctionTool.from_defaults(ask)],
        streaming=False,
    )
    async with memory.run(outer, "Ask of Lisbon.", ids=IDS) as handler:
        await handler
    await memory.drain()

    assert [request.count(BLOCK) for request in seen] == [0, 1]
    assert memory.status.outcomes == {"nested": 1, "captured": 1}
    assert await bench.said(S1) == [("user", "Ask of Lisbon."), ("assistant", "Done.")]


async def test_runs_at_the_same_time_share_neither_blocks_nor_calls(
    memory: LlamaMemory, bench: Bench, model: Callable[..., ScriptedModel]
) -> None:
    await bench.remember("I moved to Oslo.", user="maya")
    search = ("memory_search", {"query": "I moved to"})
    seen: dict[str, list[str]] = {"lin": [], "maya": []}
    started = asyncio.Barrier(2)

    async def run(user: str) -> None:
        scripted = model(seen[user], search, search, search, search, f"Hello {user}.")
        agent = RememberingFunctionAgent(llm=scripted, tools=memory.tools(), streaming=False)
        ids = TurnIds(session=user, user=user)
        async with memory.run(agent, "Where have I moved?", ids=ids) as handler:
            await started.wait()
            await handler

    await asyncio.gather(run("lin"), run("maya"))
    await memory.drain()

    for user, own, other in (("lin", "Lisbon", "Oslo"), ("maya", "Oslo", "Lisbon")):
        found = [request.count(f"I moved to {own}.") for request in seen[user]]
        assert found[0] < found[1] < found[2] < found[3] == found[4]
        assert not any(other in request for request in seen[user])
        assert [text for _, text in await bench.said(Thread(user, user))] == ["Where have I moved?", f"Hello {user}."]


async def test_an_agent_without_memory_of_its_own_is_captured_and_sent_as_it_is(
    memory: LlamaMemory, bench: Bench, model: Callable[..., ScriptedModel]
) -> None:
    seen: list[str] = []
    agent = FunctionAgent(llm=model(seen, "Yes."), streaming=False)
    history = [ChatMessage(role="user", content="Hello."), ChatMessage(role="assistant", content="Hello, Lin.")]
    async with memory.run(agent, "Lisbon?", chat_history=history, ids=IDS) as handler:
        await handler
    await memory.drain()

    assert seen == ["user: Hello.\nassistant: Hello, Lin.\nuser: Lisbon?"]
    assert await bench.said(S1) == [("user", "Lisbon?"), ("assistant", "Yes.")]


def test_what_is_no_chat_message_has_no_words() -> None:
    assert [(seen.role, seen.text) for seen in view_chat(["a text", None, object()])] == 3 * [("other", "")]
