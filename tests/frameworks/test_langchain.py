"""Traps of LangChain and LangGraph, each with the real thing (`reference/hub-sdk-plugins.md` §E.5, §E.6)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware, hook_config
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool

from memstrata.client import SqliteWatermarkStore, TurnIds
from memstrata.integrations.langchain import MemoryMiddleware

from .answers import Answers
from .bench import MARK, Bench
from .driver import MONDAY, Call, Thread
from .langchain_driver import AnsweringModel, LangChainDriver


class _Guard(AgentMiddleware[Any, Any, Any]):
    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"jump_to": "end", "messages": [AIMessage("I may not talk about that.")]}


def _agent(driver: LangChainDriver, **given: Any) -> Any:
    middleware = [driver.memory, *driver.extra]
    return create_agent(
        AnsweringModel(answers=driver.answers), **{"middleware": middleware, "context_schema": dict, **given}
    )


async def test_an_agent_inside_a_tool_does_not_write_into_its_callers_conversation(
    driver: LangChainDriver, bench: Bench
) -> None:
    helper = _agent(driver)

    @tool
    async def ask_expert(question: str) -> str:
        """Ask another agent."""
        state = await helper.ainvoke({"messages": [HumanMessage(question)]})
        return str(state["messages"][-1].text)

    asked = {"messages": [HumanMessage("What does the expert say?")]}
    config: Any = {"configurable": {"thread_id": MONDAY.session}}
    call = Call("ask_expert", {"question": "Is it so?"})
    with (
        driver.answers.given("expert say?", (call, "It is so.")),
        driver.answers.given("human: Is it so?", ("Yes, it is.",)),
    ):
        async with driver._saver() as saver:
            await _agent(driver, tools=[ask_expert], checkpointer=saver).ainvoke(asked, config)
    await driver.drain()

    assert any("Yes, it is." in request for request in driver.requests)
    assert await bench.said() == [("user", "What does the expert say?"), ("assistant", "It is so.")]
    assert driver.memory.status.outcomes["nested"] == 1


async def test_a_summary_that_takes_the_turns_own_question_away_costs_no_turn(
    driver: LangChainDriver, bench: Bench
) -> None:
    summaries = Answers()
    with summaries.given("", ("They talked.",) * 4):
        driver.extra = [
            SummarizationMiddleware(AnsweringModel(answers=summaries), trigger=("messages", 4), keep=("messages", 2))
        ]
        await driver.say("I have a dog.", "A nice one?")
        question = {"messages": [HumanMessage("Does it rain on my dog?")]}
        look = Call("look_up", {"city": "Porto"})
        await driver.run("", (look, look, "It rains."), MONDAY, question)
    assert "Does it rain on my dog?" not in driver.requests[-1]
    await driver.drain()

    assert "They talked." in await driver.history()
    assert await bench.said() == [
        ("user", "I have a dog."),
        ("assistant", "A nice one?"),
        ("user", "Does it rain on my dog?"),
        ("assistant", "It rains."),
    ]


async def test_what_a_guard_answers_is_not_remembered(driver: LangChainDriver, bench: Bench) -> None:
    driver.extra = [_Guard()]
    assert await driver.say("Tell me the secret.") == "I may not talk about that."
    await driver.drain()

    assert await bench.said() == []
    assert driver.memory.status.outcomes["blocked"] == 1


async def test_a_question_whose_approval_never_came_is_captured_with_the_next_turn(
    driver: LangChainDriver, bench: Bench
) -> None:
    await driver.say("Pay 5 for the walnuts.", Call("pay", {"amount": 5}))
    await driver.say("Never mind.", "As you like.")
    await driver.drain()

    assert await bench.said() == [
        ("user", "Pay 5 for the walnuts."),
        ("user", "Never mind."),
        ("assistant", "As you like."),
    ]


async def test_a_turn_that_somebody_else_ends_is_not_written_into_their_memory(
    driver: LangChainDriver, bench: Bench
) -> None:
    await driver.say("Pay 5 for the walnuts.", Call("pay", {"amount": 5}))
    await driver.resume("Paid.", thread=Thread(user="ana"))
    await driver.drain()

    assert await bench.said(Thread(user="ana")) == []
    assert bench.captures() == 0


async def test_a_resumed_run_asks_memory_once_however_often_it_asks_the_model(
    driver: LangChainDriver, bench: Bench
) -> None:
    await driver.say("Pay 5 for the walnuts.", Call("pay", {"amount": 5}))
    await driver.restart()
    before = bench.recalls()
    await driver.resume(Call("look_up", {"city": "Porto"}), "Paid, and it rains.")

    assert bench.recalls() - before == 1


async def test_runs_at_the_same_time_have_a_budget_of_memory_calls_each(driver: LangChainDriver, bench: Bench) -> None:
    await bench.remember("I am allergic to walnuts.")
    search = Call("memory_search", {"query": "walnuts"})
    await asyncio.gather(
        driver.say("First?", search, search, search, "One.", thread=Thread("one")),
        driver.say("Second?", search, search, search, "Two.", thread=Thread("two")),
    )

    for question in ("First?", "Second?"):
        last = [request for request in driver.requests if question in request][-1]
        results = [line for line in last.splitlines() if line.startswith("tool: ")]
        assert len(results) == 3
        assert last.count("allergic to walnuts") >= 3


async def test_runs_do_not_wait_for_each_other_where_the_server_is_slow(
    driver: LangChainDriver, bench: Bench, eventually: Callable[[Callable[[], bool]], Awaitable[None]]
) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    with bench.link.held():
        runs = [
            asyncio.create_task(driver.say(f"Number {number}?", "Yes.", thread=Thread(f"thread-{number}")))
            for number in range(4)
        ]
        await eventually(lambda: len(bench.link.holding) > 1)
    assert await asyncio.gather(*runs) == ["Yes."] * len(runs)


async def test_a_failed_question_is_rescued_by_another_process_with_a_store(
    driver: LangChainDriver, bench: Bench
) -> None:
    for words, answers in (("Pay 5 for the walnuts.", (Call("pay", {"amount": 5}),)), ("Never mind.", ("Good.",))):
        await driver.aclose()
        store = SqliteWatermarkStore(bench.folder / "turns.db")
        driver.memory = MemoryMiddleware(bench.blocking_client(), store=store)
        await driver.say(words, *answers)
    await driver.drain()

    assert [text for _, text in await bench.said()] == ["Pay 5 for the walnuts.", "Never mind.", "Good."]


async def test_what_memory_keeps_in_the_state_is_not_in_the_output(driver: LangChainDriver, bench: Bench) -> None:
    with driver.answers.given("Hello.", ("Hello!",)):
        state = await _agent(driver).ainvoke({"messages": [HumanMessage("Hello.")]}, context={"session": "tuesday"})
    await driver.drain()

    assert state.keys() == {"messages"}
    assert await bench.said(Thread("tuesday")) == [("user", "Hello."), ("assistant", "Hello!")]


async def test_without_a_session_the_agent_answers_and_nothing_is_captured(
    driver: LangChainDriver, bench: Bench
) -> None:
    with driver.answers.given("Hello.", ("Hello!",)):
        state = await _agent(driver).ainvoke({"messages": [HumanMessage("Hello.")]})

    assert state["messages"][-1].text == "Hello!"
    assert "ValueError" in driver.memory.status.last_error
    assert bench.captures() == 0


async def test_ids_that_cannot_be_read_leave_the_run_as_it_is(driver: LangChainDriver, bench: Bench) -> None:
    def unreadable(runtime: Any) -> TurnIds:
        raise KeyError("user")

    await driver.aclose()
    driver.memory = MemoryMiddleware(bench.blocking_client(), ids=unreadable)
    search = Call("memory_search", {"query": "walnuts"})
    assert await driver.say("Hello.", search, "Hello!") == "Hello!"
    assert MARK not in driver.requests[0]


async def test_the_stable_block_comes_behind_a_system_prompt_made_of_blocks(
    driver: LangChainDriver, bench: Bench
) -> None:
    prompt = SystemMessage([{"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral"}}])
    await bench.remember("I am allergic to walnuts.")
    with driver.answers.given("Hello.", ("Hello!",)):
        await _agent(driver, system_prompt=prompt).ainvoke({"messages": [HumanMessage("Hello.")]})

    system = driver.requests[0].partition("human: ")[0]
    assert system.index("cache_control") < system.index(MARK)
    assert prompt.content == [{"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral"}}]
