"""What is particular to CrewAI: messages that hooks would change, cached tools, runs in threads, crews inside tools."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from crewai import Agent, Crew, Task
from crewai.hooks import InterceptionPoint, get_hooks
from crewai.tools import tool

from memstrata.client import TurnIds

from .bench import MARK, Bench
from .crewai_driver import CrewDriver
from .driver import FAIL, MONDAY, Call, Thread


def _kickoff(driver: CrewDriver, words: str, thread: Thread = MONDAY, crew: Crew | None = None) -> str:
    ids = TurnIds(session=thread.session, user=thread.user)
    inputs = {"history": "", "question": words}
    return str(driver.memory.kickoff(crew or driver.crew(), words, inputs=inputs, ids=ids).raw)


async def test_neither_the_agents_messages_nor_hooks_of_the_process_are_touched(
    driver: CrewDriver, bench: Bench
) -> None:
    await bench.remember("I am allergic to walnuts.")
    crew = driver.crew()
    bench.script("Any walnuts?", Call("look_up", {"city": "Porto"}), "No.")
    await asyncio.to_thread(_kickoff, driver, "Any walnuts?", crew=crew)

    assert len(driver.requests) == 2
    assert all(request.count(MARK) == driver.requests[0].count(MARK) > 1 for request in driver.requests)
    kept = str(crew.tasks[0].output.messages)
    assert "Any walnuts?" in kept
    assert MARK not in kept
    assert [hook for point in InterceptionPoint for hook in get_hooks(point)] == []


async def test_what_one_user_found_is_not_given_to_another(driver: CrewDriver, bench: Bench) -> None:
    await bench.remember("I keep bees near the walnuts.", user="ana")
    await bench.remember("I sail under the walnuts.", user="ben")
    crew = driver.crew(cache=True)
    search = Call("memory_search", {"query": "walnuts"})
    bench.script("Ana asks.", search, "Bees.")
    bench.script("Ben asks.", search, "Sails.")
    await asyncio.to_thread(_kickoff, driver, "Ana asks.", Thread("ana-1", "ana"), crew)
    await asyncio.to_thread(_kickoff, driver, "Ben asks.", Thread("ben-1", "ben"), crew)

    ana, ben = driver.requests[1], driver.requests[3]
    assert "keep bees" in ana
    assert "sail" in ben
    assert "keep bees" not in ben


async def test_blocking_runs_in_two_threads_share_nothing(driver: CrewDriver, bench: Bench) -> None:
    await bench.remember("I keep bees near the walnuts.", user="ana")
    await bench.remember("I sail under the walnuts.", user="ben")
    together = threading.Barrier(2)

    def run(words: str, thread: Thread) -> None:
        together.wait()
        _kickoff(driver, words, thread)

    ana, ben = Thread("ana-1", "ana"), Thread("ben-1", "ben")
    bench.script("Walnuts, asks Ana?", "For Ana.")
    bench.script("Walnuts, asks Ben?", "For Ben.")
    await asyncio.gather(
        asyncio.to_thread(run, "Walnuts, asks Ana?", ana), asyncio.to_thread(run, "Walnuts, asks Ben?", ben)
    )
    await driver.drain()

    for thread, own, other in ((ana, "keep bees", "sail"), (ben, "sail", "keep bees")):
        request = next(one for one in driver.requests if f"asks {thread.user.title()}?" in one)
        assert own in request
        assert other not in request
        assert [text for _, text in await bench.said(thread)] == [
            f"Walnuts, asks {thread.user.title()}?",
            f"For {thread.user.title()}.",
        ]


async def test_a_crew_inside_a_tool_of_another_leaves_nothing(driver: CrewDriver, bench: Bench) -> None:
    def ask_expert(question: str) -> str:
        """Ask another crew."""
        return _kickoff(driver, question)

    agent = Agent(
        role="Helper",
        goal="Help.",
        backstory="You are kind.",
        llm=driver.model(),
        tools=[tool("ask_expert")(ask_expert)],
    )
    task = Task(description="{question}", expected_output="An answer.", agent=agent)
    bench.script("Ask for me.", Call("ask_expert", {"question": "Is it so?"}), "It is so.")
    bench.script("Is it so?", "Yes, it is.")
    words = await asyncio.to_thread(_kickoff, driver, "Ask for me.", crew=Crew(agents=[agent], tasks=[task]))
    await driver.drain()

    assert words == "It is so."
    assert any("Yes, it is." in request for request in driver.requests)
    assert await bench.said() == [("user", "Ask for me."), ("assistant", "It is so.")]


async def test_a_question_that_failed_is_captured_by_the_next_process(driver: CrewDriver, bench: Bench) -> None:
    with pytest.raises(Exception, match="400"):
        await driver.say("Are you there?", FAIL)
    await driver.aclose()
    await driver.restart()
    await driver.say("Hello?", "Here I am.")
    await driver.drain()

    assert await bench.said() == [("user", "Are you there?"), ("user", "Hello?"), ("assistant", "Here I am.")]


async def test_a_crew_that_streams_is_refused_before_it_runs(driver: CrewDriver, bench: Bench) -> None:
    crew = driver.crew()
    crew.stream = True
    with pytest.raises(ValueError, match="stream=False"):
        driver.memory.kickoff(crew, "Hello?")
    assert driver.requests == []


async def test_outside_of_a_run_the_model_and_the_tools_work_as_they_are(driver: CrewDriver, bench: Bench) -> None:
    await bench.remember("I am allergic to walnuts.")
    bench.script("Any walnuts?", "No.")
    said: Any = await asyncio.to_thread(driver.model().call, [{"role": "user", "content": "Any walnuts?"}])
    search = next(one for one in driver.memory.tools() if one.name == "memory_search")

    assert said == "No."
    assert MARK not in driver.requests[0]
    for _ in range(5):
        assert "allergic to walnuts" in await asyncio.to_thread(search.run, query="walnuts")
