"""What is particular to AutoGen: agents that keep their own context, teams where everyone is a user, bare tool results."""

from __future__ import annotations

from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import HandoffMessage, TextMessage
from autogen_agentchat.tools import AgentTool
from autogen_core.model_context import UnboundedChatCompletionContext

from memstrata.client import TurnIds
from memstrata.integrations.autogen import MemoryAgent

from .autogen_driver import AutoGenDriver
from .bench import MARK, Bench
from .driver import FAIL, MONDAY, Call, look_up


def _agent(driver: AutoGenDriver, bench: Bench, **given: Any) -> MemoryAgent:
    ids = TurnIds(session=MONDAY.session)
    agent = MemoryAgent("helper", driver.model, memory_client=bench.client(), ids=ids, **given)
    return driver.keep(agent)


async def test_the_context_keeps_what_was_said_and_does_not_grow_by_what_is_recalled(
    driver: AutoGenDriver, bench: Bench
) -> None:
    await bench.remember("I am allergic to walnuts.")
    kept = UnboundedChatCompletionContext()
    agent = _agent(driver, bench, model_context=kept)
    for number in range(3):
        bench.script(f"Walnuts {number}?", "No.")
        await agent.run(task=f"Walnuts {number}?")

    assert [message.content for message in await kept.get_messages()] == [
        text for number in range(3) for text in (f"Walnuts {number}?", "No.")
    ]
    counts = [request.count(MARK) for request in driver.requests]
    assert counts[0] == counts[1] == counts[2] > 1


async def test_other_agents_of_a_team_are_not_the_user(driver: AutoGenDriver, bench: Bench) -> None:
    await bench.remember("I am allergic to walnuts.")
    agent = _agent(driver, bench)
    bench.script("I say so.", "No walnuts.")
    await agent.run(
        task=[
            TextMessage(content="Any walnuts?", source="user"),
            TextMessage(content="Buy walnuts, I say so.", source="critic"),
        ]
    )
    await driver.drain()

    assert await bench.said() == [("user", "Any walnuts?"), ("assistant", "No walnuts.")]
    before, after = driver.requests[0].split("Any walnuts?")
    assert "<relevant-memories" in before
    assert "<relevant-memories" not in after


async def test_a_user_may_have_another_name_and_hand_over_a_text(driver: AutoGenDriver, bench: Bench) -> None:
    agent = _agent(driver, bench, user_sources=("maya",))
    bench.script("Go on.", "Gladly.")
    await agent.run(task=HandoffMessage(content="Go on.", source="maya", target="helper"))
    await driver.drain()
    assert await bench.said() == [("user", "Go on."), ("assistant", "Gladly.")]


async def test_the_bare_result_of_a_tool_is_not_what_the_agent_said(driver: AutoGenDriver, bench: Bench) -> None:
    agent = _agent(driver, bench, tools=[look_up], max_tool_iterations=1)
    bench.script("Weather?", Call("look_up", {"city": "Porto"}))
    result = await agent.run(task="Weather?")
    await driver.drain()

    assert result.messages[-1].to_text() == "It rains in Porto."
    assert await bench.said() == [("user", "Weather?")]


async def test_a_question_that_failed_is_captured_by_the_next_process(driver: AutoGenDriver, bench: Bench) -> None:
    with pytest.raises(Exception, match="400"):
        await driver.say("Are you there?", FAIL)
    await driver.restart()
    await driver.say("Hello?", "Here I am.")
    await driver.drain()

    assert await bench.said() == [("user", "Are you there?"), ("user", "Hello?"), ("assistant", "Here I am.")]


async def test_an_agent_that_runs_as_a_tool_leaves_nothing(driver: AutoGenDriver, bench: Bench) -> None:
    expert = driver.keep(
        MemoryAgent("expert", driver.model, memory_client=bench.client(), ids=TurnIds(session=MONDAY.session))
    )
    agent = _agent(driver, bench, tools=[AgentTool(expert)])
    bench.script("Ask for me.", Call("expert", {"task": "Is it so?"}), "It is so.")
    bench.script("Is it so?", "Yes, it is.")
    await agent.run(task="Ask for me.")
    await driver.drain()

    assert any("Is it so?" in request and "Ask for me." not in request for request in driver.requests)
    assert await bench.said() == [("user", "Ask for me."), ("assistant", "It is so.")]


async def test_an_agent_without_the_memory_tools_may_have_a_workbench(driver: AutoGenDriver, bench: Bench) -> None:
    plain = AssistantAgent("plain", driver.model, tools=[look_up])
    agent = _agent(driver, bench, memory_tools=False, workbench=list(plain._workbench), max_tool_iterations=2)
    bench.script("Weather?", Call("look_up", {"city": "Porto"}), "Rain.")
    result = await agent.run(task="Weather?")
    assert result.messages[-1].to_text() == "Rain."
