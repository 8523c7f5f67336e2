"""What the READMEs show for each framework works as it stands there, with the real framework and a real server."""

from __future__ import annotations

import asyncio
import re
import textwrap
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from .answers import Answers
from .bench import MARK, Bench
from .conftest import FRAMEWORKS, INSTALLED

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh-CN.md")
ADAPTERS = [name for name in FRAMEWORKS if name != "langchain_blocking"]
BLOCKING = ("langchain", "crewai")
QUESTION = "May I eat walnut cake?"
FACT = "I am allergic to walnuts."
ANSWER = "No, better not."


def snippets(readme: str) -> dict[str, str]:
    """Return the program of each adapter."""
    programs = re.findall(r"```python\n(.*?)```", (ROOT / readme).read_text(encoding="utf-8"), re.DOTALL)
    named = [(re.search(r"from memstrata\.integrations\.(\w+) import", program), program) for program in programs]
    return {found[1]: program for found, program in named if found}


def names_of(name: str, bench: Bench, answers: Answers) -> Mapping[str, Any]:
    """Return what a program takes as given: the framework's names, a model, a place for the conversation."""
    driver: Any = import_module(f"{__package__}.{name}_driver")
    given = {key: value for key, value in vars(driver).items() if not key.startswith("__")}
    match name:
        case "langchain":
            memory: Any = import_module("langgraph.checkpoint.memory")
            own = {
                "model": driver.AnsweringModel(answers=answers),
                "tools": [],
                "checkpointer": memory.InMemorySaver(),
            }
        case "openai_agents":
            scripted: Any = import_module("agents.testing")
            step = scripted.ModelStep(
                responder=lambda call: [scripted.assistant_message(answers.next(str(call.input)))]
            )
            own = {"model": scripted.ScriptedModel([step])}
        case "pydantic_ai":
            own = {"model": _pydantic_model(answers)}
        case "llamaindex":
            chat: Any = import_module("llama_index.core.memory")
            own = {"model": _llama_model(answers), "chat": chat.ChatMemoryBuffer.from_defaults()}
        case "google_adk":
            own = _adk_names(driver, answers)
        case "crewai":
            own = {
                "model": driver.LLM(
                    model="openai/scripted", base_url=bench.model.base_url, api_key="none", max_retries=0
                )
            }
        case "autogen":
            own = {"model": driver.model_client(bench)}
        case "claude_agent":
            own = {"ClaudeSDKClient": _claude_client(driver, bench, answers)}
        case _:
            raise AssertionError(f"no names for {name}")
    return {**given, **own}


async def end_of(name: str, names: Mapping[str, Any]) -> None:
    """Close the connections of a framework's own model, which are its user's to close."""
    if name == "autogen":
        await names["model"].close()
    if name == "crewai":
        names["model"]._get_sync_client().close()
        await names["model"]._get_async_client().close()


def _pydantic_model(answers: Answers) -> Any:
    framework: Any = import_module("pydantic_ai")
    functions: Any = import_module("pydantic_ai.models.function")

    def respond(messages: Any, _: Any) -> Any:
        return framework.ModelResponse([framework.TextPart(answers.next(str(messages)))])

    return functions.FunctionModel(respond)


def _llama_model(answers: Answers) -> Any:
    mock: Any = import_module("llama_index.core.llms.mock")
    types: Any = import_module("llama_index.core.llms")

    def respond(messages: Any, **_: Any) -> Any:
        return types.ChatMessage(role="assistant", content=answers.next(str(messages)))

    return mock.MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)


def _adk_names(driver: Any, answers: Answers) -> dict[str, Any]:
    services: Any = import_module("google.adk.sessions")
    apps: Any = import_module("google.adk.apps")
    agents: Any = import_module("google.adk.agents")
    runners: Any = import_module("google.adk.runners")
    model = driver.ScriptedModel()
    model._answers = answers
    sessions = services.InMemorySessionService()
    sessions.create_session_sync(app_name="helper", user_id="lin", session_id="monday")
    words = driver.types.Content(role="user", parts=[driver.types.Part(text=QUESTION)])
    framework = {"App": apps.App, "LlmAgent": agents.LlmAgent, "Runner": runners.Runner}
    return {**framework, "model": model, "sessions": sessions, "message": words}


def _claude_client(driver: Any, bench: Bench, answers: Answers) -> Any:
    def connected(options: Any) -> Any:
        transcript = bench.folder / "monday.jsonl"
        return driver.ClaudeSDKClient(options, transport=driver.ScriptedCli(options, transcript, answers))

    return connected


@pytest.mark.parametrize("readme", READMES)
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.xdist_group(one)) for one in ADAPTERS if one in INSTALLED]
)
async def test_an_adapter_as_shown_recalls_and_captures_the_turn_once(readme: str, name: str, bench: Bench) -> None:
    await bench.remember(FACT)
    answers = Answers()
    bench.script(QUESTION, ANSWER)
    client = bench.blocking_client() if name in BLOCKING else bench.client()
    names = {**names_of(name, bench, answers), "client": client, "question": QUESTION}
    kind = "def" if name in BLOCKING else "async def"
    program = f"{kind} program():\n{textwrap.indent(snippets(readme)[name], '    ')}"
    exec(compile(program, f"{readme}: {name}", "exec"), names)

    try:
        with answers.given(QUESTION, (ANSWER,)):
            await (asyncio.to_thread(names["program"]) if name in BLOCKING else names["program"]())
    finally:
        await end_of(name, names)

    assert await bench.said() == [("user", QUESTION), ("assistant", ANSWER)]
    (request,) = answers.requests or [one.prompt for one in bench.model.requests]
    assert FACT in request
    assert MARK in request.replace('\\"', '"')


@pytest.mark.parametrize("readme", READMES)
def test_each_adapter_is_shown_in_at_most_ten_lines(readme: str) -> None:
    lengths = {
        name: len([line for line in program.splitlines() if line.strip()]) for name, program in snippets(readme).items()
    }

    assert lengths.keys() == set(ADAPTERS)
    assert max(lengths.values()) <= 10


def test_both_readmes_show_the_same_programs() -> None:
    english, chinese = ({name: re.sub(r"#.*", "#", text) for name, text in snippets(one).items()} for one in READMES)

    assert english == chinese


@pytest.mark.parametrize("page", ["docs/adapters.md", "docs/adapters.zh-CN.md"])
def test_the_page_on_adapters_names_every_module(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")

    assert set(re.findall(r"^\| [^|]+ \| `[\w-]+` \| `(\w+)` \|", text, re.MULTILINE)) == set(ADAPTERS)
