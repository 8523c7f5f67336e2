"""What is particular to the Claude Agent SDK: a transcript that hooks write into, stops that come twice, sub-agents."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher

from memstrata.client import TurnIds

from .bench import MARK, Bench
from .claude_agent_driver import ClaudeDriver
from .claude_cli import ScriptedCli, system_prompt
from .driver import FAIL, MONDAY, Answer, Call


@asynccontextmanager
async def _connected(
    driver: ClaudeDriver, bench: Bench, options: ClaudeAgentOptions
) -> AsyncIterator[tuple[ClaudeSDKClient, ScriptedCli]]:
    cli = ScriptedCli(options, bench.folder / "monday.jsonl", driver.answers)
    async with ClaudeSDKClient(options, transport=cli) as claude:
        yield claude, cli


async def _ask(driver: ClaudeDriver, claude: ClaudeSDKClient, words: str, *answers: Answer) -> None:
    with driver.answers.given(words, answers):
        await claude.query(words)
        async for _ in claude.receive_response():
            pass


async def test_what_a_user_said_comes_from_the_hook_and_not_from_the_transcript(
    driver: ClaudeDriver, bench: Bench
) -> None:
    await bench.remember("I am allergic to walnuts.")
    await driver.say("Any walnuts?", "No.")
    await driver.say("And walnuts with honey?", "No.")
    await driver.drain()

    assert driver.transcript().count(MARK) == 2
    assert [text for _, text in await bench.said()] == ["Any walnuts?", "No.", "And walnuts with honey?", "No."]


async def test_one_client_has_many_turns_with_three_memory_calls_each(driver: ClaudeDriver, bench: Bench) -> None:
    await bench.remember("I am allergic to walnuts.")
    search = Call("memory_search", {"query": "walnuts"})
    async with _connected(driver, bench, await driver.options()) as (claude, _):
        await _ask(driver, claude, "First.", search, search, search, search, "One.")
        await _ask(driver, claude, "Second.", search, "Two.")
    await driver.drain()

    results = driver.transcript(MONDAY, "tool")
    assert results.count("allergic to walnuts") == 4
    assert [text for _, text in await bench.said()] == ["First.", "One.", "Second.", "Two."]
    assert bench.captures() == 2


async def test_a_second_stop_of_the_same_turn_is_not_captured(driver: ClaudeDriver, bench: Bench) -> None:
    async with _connected(driver, bench, await driver.options()) as (claude, cli):
        await _ask(driver, claude, "Hello?", "Here I am.")
        await cli.fire("Stop", stop_hook_active=True, last_assistant_message="Here I am, still.")
    await driver.drain()

    assert await bench.said() == [("user", "Hello?"), ("assistant", "Here I am.")]


async def test_sub_agents_leave_nothing(driver: ClaudeDriver, bench: Bench) -> None:
    async with _connected(driver, bench, await driver.options()) as (claude, cli):
        await _ask(driver, claude, "Hello?", "Here I am.")
        answers = await cli.fire("UserPromptSubmit", prompt="Search the house.", agent_id="agent-1")
        await cli.fire("Stop", last_assistant_message="Nothing found.", agent_id="agent-1")
        assert await cli.fire("SubagentStop", last_assistant_message="Nothing found.", agent_id="agent-1") == []
    await driver.drain()

    assert answers == [{}]
    assert await bench.said() == [("user", "Hello?"), ("assistant", "Here I am.")]


@pytest.mark.parametrize("given", [{}, {"prompt": 7, "session_id": "monday"}, {"prompt": "Hi.", "session_id": None}])
async def test_a_hook_input_that_makes_no_sense_adds_nothing(
    driver: ClaudeDriver, bench: Bench, given: dict[str, Any]
) -> None:
    hooks = (await driver.options()).hooks
    assert hooks is not None
    prompted, stopped = hooks["UserPromptSubmit"][0].hooks[0], hooks["Stop"][0].hooks[0]
    context: Any = {"signal": None}
    hook_input: Any = given
    assert await prompted(hook_input, None, context) == {}
    assert await stopped(hook_input, None, context) == {}
    assert bench.captures() == 0


async def test_a_prompt_that_failed_is_captured_by_the_next_process(driver: ClaudeDriver, bench: Bench) -> None:
    with pytest.raises(RuntimeError, match="refuses"):
        await driver.say("Are you there?", FAIL)
    await driver.drain()
    await driver.aclose()
    await driver.restart()
    await driver.say("Hello?", "Here I am.")
    await driver.drain()

    assert await bench.said() == [("user", "Are you there?"), ("user", "Hello?"), ("assistant", "Here I am.")]


async def test_a_reply_that_the_program_does_not_name_leaves_the_question(driver: ClaudeDriver, bench: Bench) -> None:
    async with _connected(driver, bench, await driver.options()) as (_, cli):
        await cli.fire("UserPromptSubmit", prompt="Hello?")
        await cli.fire("Stop", stop_hook_active=False)
    await driver.drain()
    assert await bench.said() == [("user", "Hello?")]


async def test_options_of_ones_own_stay_and_are_not_changed(driver: ClaudeDriver, bench: Bench) -> None:
    async def nothing(*_: object) -> Any:
        return {}

    own = ClaudeAgentOptions(
        system_prompt="Be kind.",
        hooks={"Stop": [HookMatcher(hooks=[nothing])]},
        mcp_servers={"mine": {"command": "mine"}},
        allowed_tools=["Read"],
    )
    made = await driver.memory.options(own, ids=TurnIds(session="monday"))

    assert made.hooks is not None
    assert [len(matchers) for matchers in made.hooks.values()] == [2, 1]
    assert made.hooks["Stop"][0].hooks == [nothing]
    assert list(made.mcp_servers) == ["mine", "memstrata"]
    assert made.allowed_tools[0] == "Read"
    assert own.hooks == {"Stop": [HookMatcher(hooks=[nothing])]}
    assert own.mcp_servers == {"mine": {"command": "mine"}}
    assert own.allowed_tools == ["Read"]

    plain = await driver.memory.options(own, tools=False)
    assert plain.mcp_servers == own.mcp_servers
    with pytest.raises(ValueError, match="tools=False"):
        await driver.memory.options(ClaudeAgentOptions(mcp_servers="servers.json"))


@pytest.mark.parametrize(
    "prompt",
    [
        None,
        "Be kind.",
        {"type": "preset", "preset": "claude_code"},
        {"type": "preset", "preset": "claude_code", "append": "Be kind."},
        {"type": "custom", "prompt": "Be kind."},
    ],
)
async def test_persona_and_scenes_stand_at_the_end_of_a_system_prompt_of_any_form(
    driver: ClaudeDriver, bench: Bench, prompt: Any
) -> None:
    await bench.remember("I am allergic to walnuts.")
    made = system_prompt(await driver.memory.options(ClaudeAgentOptions(system_prompt=prompt)))

    assert MARK in made
    assert made.startswith(system_prompt(ClaudeAgentOptions(system_prompt=prompt)))


async def test_a_system_prompt_in_a_file_stays_as_it_is(driver: ClaudeDriver, bench: Bench) -> None:
    await bench.remember("I am allergic to walnuts.")
    prompt: Any = {"type": "file", "path": "prompt.md"}
    assert (await driver.memory.options(ClaudeAgentOptions(system_prompt=prompt))).system_prompt == prompt
