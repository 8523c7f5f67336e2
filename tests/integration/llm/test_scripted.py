"""The scripted model itself, as far as tests of other rooms rely on it."""

import asyncio
from collections.abc import Callable

import pytest

from memstrata.llm import errors
from memstrata.llm.protocol import ChatRequest
from memstrata.llm.provider import Provider
from memstrata.testing.llm import Reply, ScriptedLLM
from memstrata.testing.malformed import MALFORMATIONS, malformed

Build = Callable[..., Provider]
Request = Callable[..., ChatRequest]


async def test_scripts_are_used_in_order_and_always_comes_after_them(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.always("extract", Reply("always"))
    model.script("extract", Reply("one"))
    model.script(lambda request: "tea" in request.last_user_text, Reply("tea"))
    asked = provider()
    texts = [(await asked.complete(ask_for(text))).text for text in ("hello", "hello", "tea", "tea")]
    assert texts == ["one", "always", "tea", "always"]


async def test_an_answer_may_be_made_from_the_request(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.always("extract", lambda request: Reply(request.last_user_text.upper()))
    assert (await provider().complete(ask_for("tea"))).text == "TEA"


async def test_what_is_not_scripted_is_seen(provider: Build, ask_for: Request) -> None:
    with pytest.raises(errors.RequestRefused, match="nothing is scripted for extract"):
        await provider().complete(ask_for())


async def test_a_paused_role_waits_and_the_others_do_not(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.always("extract", Reply("late"))
    model.always("resolve", Reply("at once"))
    asked = provider()
    with model.paused("extract"):
        waiting = asyncio.create_task(asked.complete(ask_for()))
        await model.received(1, "extract")
        assert (await asked.complete(ask_for(role="resolve"))).text == "at once"
        assert not waiting.done()
    assert (await waiting).text == "late"


async def test_prompts_are_counted_in_words_of_the_benchmark(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.always("extract", Reply("ok"))
    reply = await provider().complete(ask_for("我住在里斯本", system=""))
    assert model.requests[0].prompt == "\nuser: 我住在里斯本"
    assert model.requests[0].prompt_tokens == 6 + 2
    assert reply.usage.prompt_tokens == 8
    assert model.tokens() == model.tokens("extract") == (8, 0)
    assert model.tokens("resolve") == (0, 0)


def test_every_case_of_the_study_about_replies_has_a_malformation() -> None:
    cases = {one.case for one in MALFORMATIONS.values()}
    assert cases == {"A5", "B09", "B10", "B12", "B13", "B15", "B16", "B18", "B19"}


@pytest.mark.parametrize("name", sorted(MALFORMATIONS))
def test_a_malformation_can_be_made_of_any_items(name: str) -> None:
    assert isinstance(malformed(name, [{"content": "tea", "targets": ["c1"]}]), Reply)
