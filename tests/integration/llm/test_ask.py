"""One question with one re-ask, and what its outcome is for every way a model can answer."""

from collections.abc import Callable

import msgspec
import pytest

from memstrata.llm.ask import Asked, Deferred, Divisible, Items, Nothing, ask
from memstrata.llm.protocol import ChatRequest
from memstrata.llm.provider import Provider
from memstrata.llm.shape import Shape
from memstrata.records import Poison, Retry
from memstrata.testing.llm import Answer, Hang, Reply, Reset, ScriptedLLM, Status
from memstrata.testing.malformed import MALFORMATIONS, Malformation, malformed

Build = Callable[..., Provider]
Request = Callable[..., ChatRequest]
WIRES = pytest.mark.parametrize("dialect", ["generic", "anthropic"])


class Note(msgspec.Struct):
    content: str


NOTES = Shape(Note, name="memories", aliases={"text": "content"})
PARTIAL = Shape(Note, name="memories", partial=True)
ITEMS = [{"content": "likes tea"}, {"content": "住在里斯本"}]
GOOD = Reply('[{"content": "likes tea"}]')
HALF = Reply('[{"content": "likes tea"}, {"content": 5}]')


def contents(asked: Asked[Note]) -> list[str]:
    assert isinstance(asked.outcome, Items), asked.outcome
    return [item.content.strip() for item in asked.outcome.items]


@WIRES
@pytest.mark.parametrize("case", [c for c in MALFORMATIONS.values() if c.fate == "items"], ids=lambda c: c.name)
async def test_what_can_be_read_takes_one_call(
    model: ScriptedLLM, provider: Build, ask_for: Request, case: Malformation, dialect: str
) -> None:
    model.script("extract", malformed(case.name, ITEMS))
    asked = await ask(provider(dialect_name=dialect), ask_for(), NOTES)
    expected = [item["content"] for item in ITEMS]
    assert contents(asked) == (expected[:1] if case.name == "single_object" else expected)
    assert len(model.requests) == 1


@pytest.mark.parametrize("case", [c for c in MALFORMATIONS.values() if c.fate == "failed"], ids=lambda c: c.name)
async def test_what_cannot_be_read_is_asked_for_once_more(
    model: ScriptedLLM, provider: Build, ask_for: Request, case: Malformation
) -> None:
    model.script("extract", malformed(case.name, ITEMS), GOOD)
    asked = await ask(provider(), ask_for(), NOTES)
    assert contents(asked) == ["likes tea"]
    assert [bool(attempt.error) for attempt in asked.attempts] == [True, False]


@pytest.mark.parametrize("case", [c for c in MALFORMATIONS.values() if c.fate == "failed"], ids=lambda c: c.name)
async def test_what_cannot_be_read_twice_is_a_retry_and_never_nothing(
    model: ScriptedLLM, provider: Build, ask_for: Request, case: Malformation
) -> None:
    model.always("extract", malformed(case.name, ITEMS))
    asked = await ask(provider(), ask_for(), NOTES)
    assert type(asked.outcome) is Retry
    assert len(model.requests) == 2


async def test_a_refusal_is_recorded_as_one(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.always("extract", malformed("chinese_apology", ITEMS))
    asked = await ask(provider(), ask_for(), NOTES)
    assert isinstance(asked.outcome, Retry)
    assert asked.outcome.reason.startswith("content_filter")


async def test_only_an_empty_list_is_nothing(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.script("extract", malformed("legal_empty", ITEMS))
    asked = await ask(provider(), ask_for(), NOTES)
    assert asked.outcome == Nothing()
    assert asked.usage.calls == 1


async def test_the_second_question_carries_the_complaint_and_leaves_the_start_as_it_was(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Reply('<think>hm</think>[{"content": 5}]'), GOOD)
    await ask(provider(), ask_for("记住：我喜欢茶"), NOTES, language="zh")
    first, second = model.requests
    assert second.prompt.startswith(first.prompt)
    assert second.messages[1]["content"] == '[{"content": 5}]'
    assert "Expected `str`, got `int`" in second.last_user_text
    assert "JSON" in second.last_user_text
    assert second.cached_tokens == first.prompt_tokens


async def test_an_echo_of_the_question_is_no_answer(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.always("extract", Reply('[{"content":"I live in Lisbon"}]'))
    asked = await ask(provider(), ask_for('[ {"content": "I live in Lisbon"} ]'), NOTES)
    assert isinstance(asked.outcome, Retry)
    assert asked.outcome.reason.startswith("echo")


async def test_the_schema_is_sent_along(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.script("extract", GOOD)
    await ask(provider(), ask_for(), NOTES)
    sent = model.requests[0].body["response_format"]["json_schema"]
    assert sent["name"] == "extract"
    assert sent["schema"] == NOTES.json_schema()


async def test_a_partial_answer_is_kept_only_after_asking_again(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", HALF, Reply("sorry, what?"))
    asked = await ask(provider(), ask_for(), PARTIAL)
    assert contents(asked) == ["likes tea"]
    assert isinstance(asked.outcome, Items)
    assert asked.outcome.problems[0].startswith("item 1: ")
    assert len(model.requests) == 2


async def test_a_partial_answer_is_kept_when_the_second_call_fails(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", HALF, Status(500))
    assert contents(await ask(provider(), ask_for(), PARTIAL)) == ["likes tea"]


async def test_where_items_depend_on_each_other_a_partial_answer_is_none(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", HALF, HALF)
    assert type((await ask(provider(), ask_for(), NOTES)).outcome) is Retry


@pytest.mark.parametrize(
    ("answer", "kind", "seconds"),
    [
        (Status(429, retry_after="7"), Deferred, 7.0),
        (Status(401), Deferred, 600.0),
        (Reset(), Deferred, 5.0),
        (Status(500), Retry, 5.0),
        (Hang(), Retry, 1.0),
        (Reply("[", finish="length"), Divisible, None),
        (Reply("", finish="content_filter"), Divisible, None),
        (Status(400, "maximum context length is 8192"), Divisible, None),
        (Status(404, "no such model"), Retry, None),
    ],
)
async def test_a_failed_call_says_what_becomes_of_its_input(
    model: ScriptedLLM,
    provider: Build,
    ask_for: Request,
    answer: Answer,
    kind: type[Retry | Poison],
    seconds: float | None,
) -> None:
    model.always("extract", answer)
    asked = await ask(provider(), ask_for(timeout_seconds=0.1 if answer == Hang() else 20.0), NOTES)
    assert type(asked.outcome) is kind
    assert getattr(asked.outcome, "after_seconds", None) == seconds
    assert len(asked.attempts) == 1
    assert asked.attempts[0].error


CUT = Reply('[{"content": "likes tea"}, {"content": "has a', finish="length")


async def test_of_a_cut_answer_the_complete_items_can_be_saved_by_who_cannot_divide_the_input(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.always("extract", CUT)
    asked = await ask(provider(), ask_for(), PARTIAL)
    assert isinstance(asked.outcome, Divisible)
    assert asked.salvage is not None
    assert [item.content for item in asked.salvage.items] == ["likes tea"]
    assert "the reply was cut" in asked.salvage.problems[-1]
    assert "likes tea" not in str(asked.outcome)
    assert asked.attempts[-1].model == "scripted"


@pytest.mark.parametrize(
    ("answer", "shape"), [(CUT, NOTES), (Reply('[{"content": "li', finish="length"), PARTIAL), (Status(500), PARTIAL)]
)
async def test_nothing_is_saved_where_no_item_is_complete_or_items_depend_on_each_other(
    model: ScriptedLLM, provider: Build, ask_for: Request, answer: Answer, shape: Shape[Note]
) -> None:
    model.always("extract", answer)
    assert (await ask(provider(), ask_for(), shape)).salvage is None


async def test_what_a_failure_has_cost_is_in_its_attempt(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.always("extract", Reply("[", finish="length", usage=(10, 5, 0)))
    asked = await ask(provider(), ask_for(), NOTES)
    assert (asked.usage.total_tokens, asked.usage.calls) == (30, 2)
