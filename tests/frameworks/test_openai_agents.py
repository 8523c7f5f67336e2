"""What the OpenAI Agents SDK does of its own: handoffs, agents as tools, guardrails, conversations that the provider keeps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    RunState,
    SessionABC,
    SQLiteSession,
    function_tool,
    input_guardrail,
    output_guardrail,
)
from agents.run_config import CallModelData, ModelInputData
from agents.testing import ScriptedModel, assistant_message, function_call

from memstrata.client import TurnIds
from memstrata.integrations.openai_agents import AgentsMemory

from .bench import MARK, Bench
from .driver import Thread

BLOCK = "<relevant-memories"
S1 = Thread("s1")


@pytest.fixture
async def memory(bench: Bench) -> AsyncIterator[AgentsMemory]:
    """Memory that knows from an earlier conversation where Lin lives."""
    await bench.remember("I moved to Lisbon.")
    async with bench.client() as client:
        made = AgentsMemory(client)
        yield made
        await made.aclose(0.0)


def model(*steps: Any) -> ScriptedModel:
    return ScriptedModel([[step if not isinstance(step, str) else assistant_message(step)] for step in steps])


async def test_a_handoff_is_part_of_the_turn_and_both_agents_have_memory(memory: AgentsMemory, bench: Bench) -> None:
    scripted = model(function_call("transfer_to_expert", {}, call_id="h1"), "You live in Lisbon.")
    expert = Agent(name="expert", model=scripted, instructions="EXPERT")
    triage = Agent(name="triage", model=scripted, instructions="TRIAGE", handoffs=[expert])

    await memory.run(triage, "Lisbon, is that where I live?", session=SQLiteSession("s1"))
    await memory.drain()

    assert memory.status.outcomes == {"captured": 1}
    assert await bench.said(S1) == [("user", "Lisbon, is that where I live?"), ("assistant", "You live in Lisbon.")]
    first, second = scripted.calls
    assert (first.system_instructions or "").startswith("TRIAGE\n\n<user-persona")
    assert (second.system_instructions or "").startswith("EXPERT\n\n<user-persona")
    assert [json.dumps(call.input).count(BLOCK) for call in (first, second)] == [1, 1]


async def test_a_handoff_that_rewrites_history_leaves_the_turn_as_it_was_said(
    memory: AgentsMemory, bench: Bench
) -> None:
    scripted = model(function_call("transfer_to_expert", {}, call_id="h1"), "In Lisbon.")
    expert = Agent(name="expert", model=scripted)
    triage = Agent(name="triage", model=scripted, handoffs=[expert])

    config = RunConfig(nest_handoff_history=True)
    await memory.run(triage, "Where do I live, Lisbon?", session=SQLiteSession("s1"), run_config=config)
    await memory.drain()

    assert await bench.said(S1) == [("user", "Where do I live, Lisbon?"), ("assistant", "In Lisbon.")]
    assert "CONVERSATION HISTORY" in json.dumps(scripted.calls[1].input)
    assert BLOCK in (scripted.calls[1].system_instructions or "")
    assert BLOCK not in json.dumps(scripted.calls[1].input)


async def test_an_agent_that_runs_as_a_tool_is_sent_no_memory_and_is_not_captured(
    memory: AgentsMemory, bench: Bench
) -> None:
    inner = model("a translation")
    outer = model(function_call("translate", {"input": "Lisbon"}, call_id="t1"), "Done.")
    translator = Agent(name="translator", model=inner, instructions="TRANSLATE")
    agent = Agent(name="helper", model=outer, tools=[translator.as_tool("translate", "Translates.")])

    await memory.run(agent, "Translate what I said of Lisbon", session=SQLiteSession("s1"))
    await memory.drain()

    assert await bench.said(S1) == [("user", "Translate what I said of Lisbon"), ("assistant", "Done.")]
    assert inner.calls[0].system_instructions == "TRANSLATE"
    assert MARK not in json.dumps(inner.calls[0].input)


async def test_a_run_inside_a_tool_of_another_run_is_not_captured(memory: AgentsMemory, bench: Bench) -> None:
    inner = Agent(name="inner", model=model("from inside"))

    @function_tool
    async def ask(text: str) -> str:
        """Ask somebody else."""
        return str((await memory.run(inner, text, ids=TurnIds(session="s1"))).final_output)

    agent = Agent(name="helper", model=model(function_call("ask", {"text": "hm?"}, call_id="t1"), "Done."), tools=[ask])
    await memory.run(agent, "Ask", ids=TurnIds(session="s1"))
    await memory.drain()

    assert memory.status.outcomes == {"nested": 1, "captured": 1}
    assert await bench.said(S1) == [("user", "Ask"), ("assistant", "Done.")]


async def test_a_conversation_that_the_provider_keeps_takes_in_nothing_of_memory(
    memory: AgentsMemory, bench: Bench
) -> None:
    scripted = model(
        "Yes, in Lisbon.", function_call("memory_search", {"query": "Lisbon"}, call_id="c1"), "Yes, in Lisbon."
    )
    agent = Agent(name="helper", model=scripted, instructions="BASE", tools=memory.tools())
    for _ in range(2):
        await memory.run(agent, "Lisbon?", conversation_id="conv-1", ids=TurnIds(session="s1"))
    await memory.drain()

    assert [json.dumps(call.input).count(MARK) for call in scripted.calls] == [0, 0, 0]
    for call in scripted.calls:
        assert (call.system_instructions or "").startswith("BASE\n\n<user-persona")
        assert BLOCK in (call.system_instructions or "")
    assert await bench.said(S1) == 2 * [("user", "Lisbon?"), ("assistant", "Yes, in Lisbon.")]


async def test_a_turn_that_a_guardrail_stops_is_not_stored(memory: AgentsMemory, bench: Bench) -> None:
    @input_guardrail(run_in_parallel=False)
    async def no_questions(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered="?" in given[-1]["content"])

    @output_guardrail
    async def no_answers(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    agent = Agent(
        name="helper",
        model=model("An answer.", "Another."),
        input_guardrails=[no_questions],
        output_guardrails=[no_answers],
    )
    session = SQLiteSession("s1")

    async def streamed(text: str) -> None:
        async with memory.run_streamed(agent, text, session=session) as result:
            async for _ in result.stream_events():
                pass

    with pytest.raises(InputGuardrailTripwireTriggered):
        await memory.run(agent, "A question?", session=session)
    with pytest.raises(OutputGuardrailTripwireTriggered):
        await memory.run(agent, "A wish.", session=session)
    with pytest.raises(OutputGuardrailTripwireTriggered):
        await streamed("A wish, streamed.")
    await memory.drain()

    assert memory.status.outcomes == {"not begun": 1, "blocked": 2}
    assert await bench.said(S1) == []


async def test_a_stream_that_is_left_early_is_carried_by_the_next_turn(memory: AgentsMemory, bench: Bench) -> None:
    session = SQLiteSession("s1")
    agent = Agent(name="helper", model=model("lost", "Both heard."))
    async with memory.run_streamed(agent, "first", session=session) as result:
        async for event in result.stream_events():
            if event.type == "raw_response_event":
                result.cancel()
    async with memory.run_streamed(agent, "second", session=session) as result:
        async for _ in result.stream_events():
            pass
    await memory.drain()

    assert [text for _, text in await bench.said(S1)] == ["first", "second", "Both heard."]


async def test_runs_at_the_same_time_share_neither_blocks_nor_calls(memory: AgentsMemory, bench: Bench) -> None:
    await bench.remember("I moved to Oslo.", user="maya")
    searches = [function_call("memory_search", {"query": "I moved to"}, call_id=f"c{at}") for at in range(4)]
    models = {user: model(*searches, f"Hello {user}.") for user in ("lin", "maya")}
    started = asyncio.Barrier(2)

    async def together(data: CallModelData[Any]) -> ModelInputData:
        await started.wait()
        return data.model_data

    async def run(user: str) -> None:
        agent = Agent(name="helper", model=models[user], tools=memory.tools())
        ids = TurnIds(session=user, user=user)
        await memory.run(agent, "Where have I moved?", ids=ids, run_config=RunConfig(call_model_input_filter=together))

    await asyncio.gather(run("lin"), run("maya"))
    await memory.drain()

    for user, own, others in (("lin", "Lisbon", "Oslo"), ("maya", "Oslo", "Lisbon")):
        sent = json.dumps(models[user].calls[-1].input)
        assert own in sent
        assert others not in sent
        outputs = [
            item["output"] for item in models[user].calls[-1].input if item.get("type") == "function_call_output"
        ]
        assert [own in output for output in outputs] == [True, True, True, False]
        assert await bench.said(Thread(user, user)) == [
            ("user", "Where have I moved?"),
            ("assistant", f"Hello {user}."),
        ]


async def test_a_resumed_run_of_a_kept_conversation_sends_it_nothing_of_memory(
    memory: AgentsMemory, bench: Bench
) -> None:
    @function_tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pay an amount."""
        return f"Paid {amount}."

    scripted = model(function_call("pay", {"amount": 5}, call_id="c1"), "Paid, in Lisbon.")
    agent = Agent(name="helper", model=scripted, tools=[pay])
    ids = TurnIds(session="s1")
    waiting = await memory.run(agent, "Pay in Lisbon.", conversation_id="conv-1", ids=ids)
    state = await RunState.from_json(agent, json.loads(json.dumps(waiting.to_state().to_json())))
    state.approve(state.get_interruptions()[0])
    state.add_input("Quickly, in Lisbon.")
    await memory.run(agent, state, ids=ids)
    await memory.drain()

    assert [json.dumps(call.input).count(MARK) for call in scripted.calls] == [0, 0]
    assert await bench.said(S1) == [
        ("user", "Pay in Lisbon."),
        ("user", "Quickly, in Lisbon."),
        ("assistant", "Paid, in Lisbon."),
    ]


async def test_a_filter_of_the_application_still_has_its_say(memory: AgentsMemory) -> None:
    def shorten(data: CallModelData[Any]) -> ModelInputData:
        return ModelInputData(data.model_data.input[-1:], "SHORT")

    scripted = model("Yes.")
    given = [{"role": "user", "content": "Hello."}, {"role": "user", "content": "Do I live in Lisbon?"}]
    await memory.run(
        Agent(name="helper", model=scripted),
        given,
        ids=TurnIds(session="s1"),
        run_config=RunConfig(call_model_input_filter=shorten),
    )

    [call] = scripted.calls
    assert (call.system_instructions or "").startswith("SHORT\n\n<user-persona")
    assert len(call.input) == 1
    assert call.input[0]["content"].startswith(BLOCK)
    assert call.input[0]["content"].endswith("\n\nDo I live in Lisbon?")


async def test_a_session_that_gets_its_id_when_it_is_used_is_the_session_in_memory(
    memory: AgentsMemory, bench: Bench
) -> None:
    class Late(SessionABC):
        """A session as one that a provider names at the first request."""

        def __init__(self) -> None:
            self._items: list[Any] = []
            self._name = ""

        @property
        def session_id(self) -> str:
            if not self._name:
                raise ValueError("not yet")
            return self._name

        async def get_items(self, limit: int | None = None) -> list[Any]:
            self._name = "s1"
            return list(self._items)

        async def add_items(self, items: list[Any]) -> None:
            self._items += items

        async def pop_item(self) -> Any:
            return self._items.pop()

        async def clear_session(self) -> None:
            self._items.clear()

    await memory.run(Agent(name="helper", model=model("Here.")), "Hello?", session=Late())
    await memory.drain()
    assert await bench.said(S1) == [("user", "Hello?"), ("assistant", "Here.")]


@pytest.mark.parametrize("ids", [TurnIds(user=" "), TurnIds(team="\ud800"), TurnIds(session="a\r\nb", agent="")])
async def test_ids_that_no_server_takes_stop_nothing_and_reach_nobody_elses_memory(
    memory: AgentsMemory, ids: TurnIds
) -> None:
    scripted = model(function_call("memory_search", {"query": "Lisbon"}, call_id="c1"), "Here.")
    agent = Agent(name="helper", model=scripted, tools=memory.tools())
    result = await memory.run(agent, "Lisbon?", ids=ids)
    await memory.drain(0.2)

    assert result.final_output == "Here."
    assert "I moved to Lisbon" not in json.dumps([call.input for call in scripted.calls])
    assert MARK not in json.dumps([call.input for call in scripted.calls])
