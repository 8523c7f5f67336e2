"""What is particular to Google ADK: runners inside tools, answers that come later, whole sessions, requests for a schema."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.events import Event, EventActions
from google.adk.events.event_actions import EventCompaction
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import LongRunningFunctionTool
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from pydantic import BaseModel

from memstrata.client import TurnIds
from memstrata.integrations.google_adk import AdkMemory, view_events

from .bench import ADD, MARK, Bench
from .driver import MONDAY, Answer, Call
from .google_adk_driver import AdkDriver, ScriptedModel, message


class Place(BaseModel):
    city: str


class Talk:
    """One agent with the plugin, in one session that the test can look into."""

    def __init__(self, memory: AdkMemory, model: ScriptedModel, sessions: InMemorySessionService, **agent: Any) -> None:
        self.memory = memory
        self.model = model
        self.sessions = sessions
        root = LlmAgent(name="helper", model=model, instruction="Be kind.", **agent)
        self.runner = Runner(app=App(name="app", root_agent=root, plugins=[memory]), session_service=sessions)

    async def say(self, content: types.Content, words: str, *answers: Answer) -> list[Event]:
        if await self.sessions.get_session(app_name="app", user_id="lin", session_id=MONDAY.session) is None:
            await self.sessions.create_session(app_name="app", user_id="lin", session_id=MONDAY.session)
        with self.model._answers.given(words, answers):
            run = self.runner.run_async(user_id="lin", session_id=MONDAY.session, new_message=content)
            events = [event async for event in run]
        await self.memory.memory.drain()
        return events


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


async def test_an_agent_that_runs_as_a_tool_gets_and_leaves_nothing(bench: Bench, model: ScriptedModel) -> None:
    await bench.remember("I am allergic to walnuts.")
    cook = LlmAgent(name="cook", model=model, instruction="You cook.")
    talk = Talk(AdkMemory(bench.client()), model, InMemorySessionService(), tools=[AgentTool(cook)])
    with model._answers.given("Find a cake.", ("Walnut cake.",)):
        await talk.say(
            message("Any walnuts?"), "Any walnuts?", Call("cook", {"request": "Find a cake."}), "No walnut cake."
        )

    asked = [MARK in request for request in model._answers.requests]
    assert asked == [True, False, True]
    assert await bench.said() == [("user", "Any walnuts?"), ("assistant", "No walnut cake.")]
    assert len(bench.link.bodies(ADD)) == 1
    await talk.runner.close()


async def test_a_turn_sends_its_own_messages_and_never_the_session_again(driver: AdkDriver, bench: Bench) -> None:
    for number in range(3):
        await driver.say(f"Question {number}.", f"Answer {number}.")
    await driver.drain()

    sent = [[one["content"] for one in body["messages"]] for body in bench.link.bodies(ADD)]  # type: ignore[attr-defined]
    assert sent == [[f"Question {number}.", f"Answer {number}."] for number in range(3)]


async def test_a_paused_run_is_finished_by_a_process_that_has_the_session_alone(
    bench: Bench, model: ScriptedModel
) -> None:
    def ask_boss() -> None:
        """Ask the boss, who answers later."""

    sessions = InMemorySessionService()
    first = Talk(AdkMemory(bench.client()), model, sessions, tools=[LongRunningFunctionTool(ask_boss)])
    events = await first.say(message("May I go?"), "May I go?", Call("ask_boss"))
    assert await bench.said() == []

    later = Talk(AdkMemory(bench.client()), model, sessions, tools=[LongRunningFunctionTool(ask_boss)])
    await later.say(_answer(events, "ask_boss", {"boss": "yes"}), "May I go?", "You may.")
    assert await bench.said() == [("user", "May I go?"), ("assistant", "You may.")]
    await first.runner.close()
    await later.runner.close()


async def test_what_comes_after_an_answered_turn_is_added_to_it_and_nothing_is_doubled(
    bench: Bench, model: ScriptedModel
) -> None:
    def order() -> dict[str, str]:
        """Order, which takes its time."""
        return {"state": "ordered"}

    talk = Talk(AdkMemory(bench.client()), model, InMemorySessionService(), tools=[LongRunningFunctionTool(order)])
    events = await talk.say(message("Order tea."), "Order tea.", Call("order"), "It is on its way.")
    assert await bench.said() == [("user", "Order tea."), ("assistant", "It is on its way.")]

    await talk.say(_answer(events, "order", {"state": "here"}), "Order tea.", "It is here.")
    assert await bench.said() == [
        ("user", "Order tea."),
        ("assistant", "It is on its way."),
        ("assistant", "It is here."),
    ]
    await talk.runner.close()


async def test_the_stable_block_stands_once_in_each_request_of_a_loop(driver: AdkDriver, bench: Bench) -> None:
    await bench.remember("I am allergic to walnuts.")
    await driver.say("Any walnuts?", Call("look_up", {"city": "Porto"}), Call("look_up", {"city": "Faro"}), "No.")

    blocks = [request.count(MARK) for request in driver.requests]
    assert len(blocks) == 3
    assert blocks[0] == blocks[1] == blocks[2] > 1


async def test_an_agent_that_must_fill_a_schema_gets_memories_and_no_tools(bench: Bench, model: ScriptedModel) -> None:
    await bench.remember("I am allergic to walnuts.")
    seen: list[tuple[bool, bool]] = []

    def look(callback_context: Any, llm_request: Any) -> None:
        seen.append((bool(llm_request.config.tools), MARK in str(llm_request.contents)))

    talk = Talk(
        AdkMemory(bench.client()), model, InMemorySessionService(), output_schema=Place, before_model_callback=look
    )
    await talk.say(message("Walnuts from where?"), "Walnuts from where?", '{"city": "Porto"}')
    assert seen == [(False, True)]
    await talk.runner.close()


async def test_an_agent_answers_although_nobody_knows_whose_memory_it_is(bench: Bench, model: ScriptedModel) -> None:
    def nobody(session: object) -> TurnIds:
        raise LookupError("no such user")

    talk = Talk(AdkMemory(bench.client(), ids=nobody), model, InMemorySessionService())
    events = await talk.say(message("Hello?"), "Hello?", "Here I am.")
    assert events[-1].content.parts[0].text == "Here I am."
    assert bench.captures() == 0
    await talk.runner.close()


async def test_a_caller_that_stops_reading_leaves_a_turn_that_is_captured_once(driver: AdkDriver, bench: Bench) -> None:
    await driver.say("Hello?", "Here I am.")
    with driver._model._answers.given("Tell me all.", (Call("look_up", {"city": "Porto"}), "All.")):
        run = driver._runner.run_async(
            user_id=MONDAY.user, session_id=MONDAY.session, new_message=message("Tell me all.")
        )
        await anext(run)
        await run.aclose()
    await driver.say("Still there?", "Yes.")
    await driver.drain()

    assert [text for _, text in await bench.said()] == ["Hello?", "Here I am.", "Tell me all.", "Still there?", "Yes."]


def test_events_are_read_as_what_they_are() -> None:
    picture = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"1"))
    thought = types.Part(text="Hm.", thought=True)
    call = types.Part(function_call=types.FunctionCall(name="look_up", args={}))
    result = types.Part(function_response=types.FunctionResponse(name="look_up", response={"result": "rain"}))
    summary = EventCompaction(
        start_timestamp=1.0, end_timestamp=2.0, compacted_content=types.Content(parts=[types.Part(text="Before.")])
    )
    events = [
        _event("user", types.Part(text="Look."), picture),
        _event("helper", thought, call),
        _event("helper", result),
        _event("helper", thought, types.Part(text="It rains.")),
        _event("user", actions=EventActions(compaction=summary)),
    ]
    seen = view_events(events)
    assert [(one.role, one.text, one.calls_tools) for one in seen] == [
        ("user", "Look.\n[image]", False),
        ("assistant", "", True),
        ("tool", "", False),
        ("assistant", "It rains.", False),
        ("other", "", False),
    ]
    assert [one.id for one in seen] == [event.id for event in events]
    assert seen[4].is_synthetic


def _event(author: str, *parts: types.Part, **given: Any) -> Event:
    return Event(author=author, content=types.Content(role="user", parts=list(parts)) if parts else None, **given)


def _answer(events: list[Event], name: str, response: dict[str, str]) -> types.Content:
    call = next(call for event in events for call in event.get_function_calls() if call.name == name)
    return types.Content(
        role="user",
        parts=[types.Part(function_response=types.FunctionResponse(id=call.id, name=name, response=response))],
    )
