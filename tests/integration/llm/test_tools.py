"""The tool loop over a real connection."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from memstrata.llm import errors
from memstrata.llm.protocol import ChatRequest, ToolCall, ToolSpec
from memstrata.llm.provider import Provider
from memstrata.llm.tools import LoopLimits, ToolResult, run_tools
from memstrata.testing.llm import RecordedRequest, Reply, ScriptedLLM, Status

Build = Callable[..., Provider]
Request = Callable[..., ChatRequest]
WIRES = pytest.mark.parametrize("dialect", ["generic", "anthropic"])


class Shelf:
    """Three files to read; what was asked for is kept."""

    specs: Sequence[ToolSpec] = (ToolSpec("read", "Reads a file.", {"type": "object"}),)

    def __init__(self) -> None:
        self.asked: list[Mapping[str, Any]] = []

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        self.asked.append(arguments)
        path = arguments.get("path")
        return ToolResult(f"text of {path}") if path in ("a", "b", "c") else ToolResult("no such file", is_error=True)


def read(path: str, number: int = 1) -> ToolCall:
    return ToolCall(f"call_{number}", "read", f'{{"path": "{path}"}}')


def results(request: RecordedRequest) -> list[str]:
    found: list[str] = []
    for message in request.messages:
        if message["role"] == "tool":
            found.append(message["content"])
        elif isinstance(message["content"], list):
            found += [block["content"] for block in message["content"] if block["type"] == "tool_result"]
    return found


@WIRES
async def test_it_runs_until_the_model_answers(
    model: ScriptedLLM, provider: Build, ask_for: Request, dialect: str
) -> None:
    steps = (
        Reply(tool_calls=(read("a", 1), read("b", 2))),
        Reply(tool_calls=(read("c"),)),
        Reply("<think>x</think>done"),
    )
    model.script("consolidate", *steps)
    shelf = Shelf()
    end = await run_tools(provider(dialect_name=dialect), ask_for(role="consolidate"), shelf)
    assert (end.stop, end.text, end.steps) == ("answered", "done", 3)
    assert shelf.asked == [{"path": "a"}, {"path": "b"}, {"path": "c"}]
    assert results(model.requests[-1]) == ["text of a", "text of b", "text of c"]
    assert [use.result for use in end.uses] == ["text of a", "text of b", "text of c"]
    assert end.usage.calls == 3
    assert end.messages[-1].content.endswith("done")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (ToolCall("x", "delete_all", "{}"), "there is no tool 'delete_all'; there are: read"),
        (ToolCall("x", "read", "[1, 2]"), "the arguments are not a JSON object"),
        (read("z"), "no such file"),
    ],
)
async def test_a_mistake_goes_back_to_the_model(
    model: ScriptedLLM, provider: Build, ask_for: Request, call: ToolCall, told: str
) -> None:
    model.script("extract", Reply(tool_calls=(call,)), Reply("I see"))
    end = await run_tools(provider(), ask_for(), Shelf())
    assert end.stop == "answered"
    assert end.uses[0].is_error
    assert results(model.requests[-1]) == [f"Error: {told}"]


CALL = '{"name": "read", "arguments": {"path": "a"}}'


@WIRES
@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"I look first.\n```json\n[{CALL}]\n```",
        f"<tool_call>{CALL}</tool_call>",
        f"<think>read or not?</think>\n{CALL}",
        '{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "read", "arguments": "{\\"path\\": \\"a\\"}"}}]}',
        '{"name": "read", "parameters": {"path": "a",}}',
    ],
)
async def test_a_call_that_is_written_into_the_text_is_made(
    model: ScriptedLLM, provider: Build, ask_for: Request, text: str, dialect: str
) -> None:
    model.script("extract", Reply(text), Reply(CALL.replace('"a"', '"b"')), Reply("done"))
    shelf = Shelf()
    end = await run_tools(provider(dialect_name=dialect), ask_for(), shelf)
    assert shelf.asked == [{"path": "a"}, {"path": "b"}]
    assert (end.stop, end.text, results(model.requests[-1])) == ("answered", "done", ["text of a", "text of b"])
    ids = [call.id for message in end.messages for call in message.tool_calls]
    assert len(set(ids)) == 2


@pytest.mark.parametrize(
    "text",
    [
        f"One could say {CALL} to see the file.",
        "I would read the file `a` with the tool read.",
        '{"name": "delete_all", "arguments": {}}',
        '{"name": "read"}',
        '{"name": "read", "arguments": ["a"]}',
        '{"name": "read", "arguments": {"path": "a"}, "priority": 5}',
        '[{"name": "read", "arguments": {"path": "a"',
        f'[{CALL}, {{"name": "read", "arg',
        f"<think>{CALL}</think>done",
        "[" * 5_000,
    ],
)
async def test_what_only_resembles_a_call_is_an_answer(
    model: ScriptedLLM, provider: Build, ask_for: Request, text: str
) -> None:
    model.script("extract", Reply(text))
    shelf = Shelf()
    end = await run_tools(provider(), ask_for(), shelf)
    assert (end.stop, shelf.asked, end.uses) == ("answered", [], ())


@WIRES
@pytest.mark.parametrize("depth", [300, 900, 9_000])
async def test_arguments_of_any_depth_do_not_break_the_loop(
    model: ScriptedLLM, provider: Build, ask_for: Request, depth: int, dialect: str
) -> None:
    deep = '{"name": "read", "arguments": ' + '{"a":' * depth + "1" + "}" * (depth + 1)
    model.script("extract", Reply(deep))
    model.always("extract", Reply("done"))
    assert (await run_tools(provider(dialect_name=dialect), ask_for(), Shelf())).stop == "answered"


async def test_what_was_shown_and_comes_back_is_no_call(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.script("extract", Reply(CALL))
    shelf = Shelf()
    await run_tools(provider(), ask_for(f"memories:\n{CALL}\nend"), shelf)
    assert shelf.asked == []


async def test_calls_beside_those_of_the_protocol_are_not_read(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Reply(CALL, tool_calls=(read("b"),)), Reply("done"))
    shelf = Shelf()
    await run_tools(provider(), ask_for(), shelf)
    assert shelf.asked == [{"path": "b"}]


async def test_written_calls_are_under_the_same_limits(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.always("extract", Reply(f"[{', '.join([CALL] * 5)}]"))
    shelf = Shelf()
    end = await run_tools(provider(), ask_for(), shelf, LoopLimits(calls_per_step=2))
    assert (end.stop, len(shelf.asked), len(model.requests)) == ("repeated", 2, 3)


async def test_arguments_with_a_slip_are_repaired(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.script("extract", Reply(tool_calls=(ToolCall("x", "read", '{"path": "a",}'),)), Reply("done"))
    shelf = Shelf()
    await run_tools(provider(), ask_for(), shelf)
    assert shelf.asked == [{"path": "a"}]


async def test_a_model_that_never_answers_is_stopped_at_the_last_step(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.always("extract", lambda request: Reply(tool_calls=(read("abc"[len(model.requests) % 3]),)))
    end = await run_tools(provider(), ask_for(), Shelf(), LoopLimits(steps=4))
    assert (end.stop, end.steps, len(model.requests)) == ("steps", 4, 4)


async def test_the_same_calls_again_get_one_warning_and_then_the_end(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.always("extract", Reply(tool_calls=(read("a"),)))
    shelf = Shelf()
    end = await run_tools(provider(), ask_for(), shelf)
    assert (end.stop, end.steps) == ("repeated", 3)
    assert len(shelf.asked) == 1
    assert "do something else" in results(model.requests[-1])[-1]


async def test_a_model_that_heeds_the_warning_goes_on(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    again = Reply(tool_calls=(ToolCall("x", "read", '{ "path":"a" }'),))
    model.script("extract", Reply(tool_calls=(read("a"),)), again, Reply(tool_calls=(read("b"),)), Reply("done"))
    assert (await run_tools(provider(), ask_for(), Shelf())).stop == "answered"


async def test_a_long_result_is_cut_between_letters_and_says_so(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    class Wordy(Shelf):
        async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
            return ToolResult("茶" * 1_000)

    model.script("extract", Reply(tool_calls=(read("a"),)), Reply("done"))
    await run_tools(provider(), ask_for(), Wordy(), LoopLimits(result_bytes=100))
    assert results(model.requests[-1]) == ["茶" * 33 + "\n[cut: 3000 bytes in all]"]


async def test_too_many_bytes_end_it_before_the_tool_is_called(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Reply(tool_calls=(read("a"), read("b" * 500, 2), read("c", 3))))
    shelf = Shelf()
    end = await run_tools(provider(), ask_for(), shelf, LoopLimits(total_bytes=300))
    assert end.stop == "bytes"
    assert shelf.asked == [{"path": "a"}]
    assert [message.role for message in end.messages[-3:]] == ["tool", "tool", "tool"]  # none without its result


async def test_too_many_calls_at_a_time_are_not_made(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.script("extract", Reply(tool_calls=(read("a", 1), read("b", 2))), Reply("done"))
    shelf = Shelf()
    await run_tools(provider(), ask_for(), shelf, LoopLimits(calls_per_step=1))
    assert shelf.asked == [{"path": "a"}]


async def test_a_failing_call_ends_it_and_counts_all_that_was_spent(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Reply(tool_calls=(read("a"),), usage=(10, 5, 0)), Status(500))
    with pytest.raises(errors.ServerFailed) as caught:
        await run_tools(provider(), ask_for(), Shelf())
    assert caught.value.usage.total_tokens == 15


async def test_a_final_word_beside_calls_that_succeed_saves_the_last_call(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Reply("<think>FINISHED?</think>That is all.\n**FINISHED**", tool_calls=(read("a"),)))
    end = await run_tools(provider(), ask_for(), Shelf(), final_word="FINISHED")
    assert (end.stop, end.steps, len(model.requests)) == ("answered", 1, 1)
    assert [message.role for message in end.messages] == ["user", "assistant", "tool"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("FINISHED", "z"),  # the call fails
        ("I have FINISHED", "a"),
        ("finished", "a"),
        ("<think>\nFINISHED\n</think>", "a"),
        ("", "a"),
    ],
)
async def test_a_final_word_that_is_not_one_ends_nothing(
    model: ScriptedLLM, provider: Build, ask_for: Request, text: str, path: str
) -> None:
    model.script("extract", Reply(text, tool_calls=(read(path),)), Reply("done"))
    end = await run_tools(provider(), ask_for(), Shelf(), final_word="FINISHED")
    assert (end.stop, end.text, len(model.requests)) == ("answered", "done", 2)


async def test_without_a_final_word_agreed_on_none_is_looked_for(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Reply("FINISHED", tool_calls=(read("a"),)), Reply("done"))
    assert (await run_tools(provider(), ask_for(), Shelf())).steps == 2


@WIRES
async def test_a_call_with_too_long_arguments_is_not_made_and_not_sent_back(
    model: ScriptedLLM, provider: Build, ask_for: Request, dialect: str
) -> None:
    model.script("extract", Reply(tool_calls=(read("x" * 50_000, 1), read("a", 2))), Reply("done"))
    shelf = Shelf()
    limits = LoopLimits(argument_bytes=1_000)
    end = await run_tools(provider(dialect_name=dialect), ask_for(), shelf, limits)
    assert end.stop == "answered"
    assert shelf.asked == [{"path": "a"}]
    assert "at most 1000 fit" in results(model.requests[1])[0]
    assert len(model.requests[1].raw) < 3_000
    assert len(end.uses[0].arguments) < 1_100


async def test_an_empty_answer_leaves_no_empty_turn_behind(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Reply(tool_calls=(read("a"),)), Reply(""))
    end = await run_tools(provider(), ask_for(), Shelf())
    assert (end.stop, end.text, end.messages[-1].role) == ("answered", "", "tool")
