"""The whole pipeline with a model behind a real socket: what it makes, what it costs, and that its failures lose nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstrata.llm import ToolCall
from memstrata.memory import Memory, MessageInput, rebuild
from memstrata.records import Layer, MemoryRecord, Scope
from memstrata.settings import LlmSettings, PipelineSettings, Settings
from memstrata.testing import FakeClock
from memstrata.testing.llm import RecordedRequest, Reply, Reset, ScriptedLLM, Status

Settled = Callable[[Memory, Scope], Awaitable[None]]
Eventually = Callable[..., Awaitable[None]]
OpenWithModel = Callable[..., AbstractAsyncContextManager[Memory]]

DAY = 86_400


@pytest.fixture
async def model() -> AsyncIterator[ScriptedLLM]:
    async with ScriptedLLM() as server:
        server.always("extract", every_user_message)
        server.always("resolve", Reply('{"decisions": []}'))
        server.always("consolidate", one_scene)
        server.always("portray", portrait)
        yield server


@pytest.fixture
def open_with_model(
    open_memory: Callable[..., AbstractAsyncContextManager[Memory]], tmp_path: Path, model: ScriptedLLM
) -> OpenWithModel:
    """Return a way to open the test's data folder with the scripted model; `llm` overrides, the rest is the pipeline's."""

    def opened(llm: dict[str, Any] | None = None, **pipeline: Any) -> AbstractAsyncContextManager[Memory]:
        about = {"base_url": model.base_url, "model": "scripted", "api_key": "sk-test", "timeout_seconds": 20.0}
        settings = Settings(
            data_dir=tmp_path,
            pipeline=PipelineSettings(**{"warmup": False, "every_n": 1, **pipeline}),
            llm=LlmSettings(**{**about, **(llm or {})}),
        )
        return open_memory(settings=settings, distiller=None)

    return opened


def shown(request: RecordedRequest) -> list[tuple[str, str, str]]:
    """Return (alias, speaker, text) of the new messages in an extraction prompt."""
    text = request.last_user_text
    mark = text.split("\n", 1)[0].removeprefix("mark: ")
    parts = text.split(f"#{mark} new\n", 1)[1].split(f"#{mark} ")[1:-1]
    found = []
    for part in parts:
        head, _, body = part.partition("\n")
        alias, speaker, *_ = head.split()
        found.append((alias, speaker, body.rstrip("\n")))
    return found


def memories(*items: dict[str, Any]) -> Reply:
    return Reply(json.dumps({"memories": items}, ensure_ascii=False))


def fact(content: str, source: str, **given: Any) -> dict[str, Any]:
    return {"content": content, "type": "persona", "priority": 80, "sources": [source], "scene": "notes", **given}


def decisions(*items: dict[str, Any]) -> Reply:
    return Reply(json.dumps({"decisions": items}, ensure_ascii=False))


def every_user_message(request: RecordedRequest) -> Reply:
    return memories(*(fact(text, alias) for alias, speaker, text in shown(request) if speaker == "user"))


def call(name: str, **arguments: Any) -> Reply:
    return Reply("FINISHED", (ToolCall("call_1", name, json.dumps(arguments, ensure_ascii=False)),))


def one_scene(request: RecordedRequest) -> Reply:
    number = sum("write" in json.dumps(one.body.get("messages", [])) for one in [request])
    return call(
        "write",
        path="notes.md",
        content=f"## Notes\nWhat was said so far, told anew {len(request.last_user_text)} {number}.",
        summary="What was said so far",
    )


def portrait(request: RecordedRequest) -> Reply:
    return call(
        "write", path="persona.md", content=f"# Portrait\nA person drawn from {len(request.last_user_text)} words."
    )


def said(*texts: str) -> list[MessageInput]:
    return [MessageInput("user", text) for text in texts]


async def live(memory: Memory, scope: Scope) -> tuple[MemoryRecord, ...]:
    return (await memory.memories(scope, limit=100)).items


async def contents(memory: Memory, scope: Scope) -> list[str]:
    return sorted(row.content for row in await live(memory, scope))


async def through(memory: Memory, scope: Scope, clock: FakeClock, settled: Settled, hops: Iterable[float]) -> None:
    """Let time pass in steps and everything that falls due in each be done."""
    await settled(memory, scope)
    for seconds in hops:
        clock.advance(seconds)
        await settled(memory, scope)


async def test_a_conversation_becomes_memories_a_scene_and_a_portrait(
    open_with_model: OpenWithModel, scope: Scope, clock: FakeClock, settled: Settled, model: ScriptedLLM
) -> None:
    async with open_with_model() as memory:
        await memory.add(scope, "s1", [*said("我对花生过敏"), MessageInput("assistant", "记住了")])
        await through(memory, scope, clock, settled, [10, 1])

        (row,) = await live(memory, scope)
        assert (row.content, row.origin, row.type, row.priority) == ("我对花生过敏", "model", "persona", 80)
        (scene,) = await memory.scenes(scope)
        assert (scene.path, scene.origin, scene.heat) == ("notes.md", "model", 1)
        persona = await memory.persona(scope)
        assert persona is not None
        assert persona.body.startswith("# Portrait")
        assert (await memory.health()).components["distiller"].state == "ok"
        assert [request.role for request in model.requests] == ["extract", "consolidate", "portray"]


async def test_every_call_is_booked_for_its_owner_role_and_day(
    open_with_model: OpenWithModel, scope: Scope, clock: FakeClock, settled: Settled, model: ScriptedLLM
) -> None:
    async with open_with_model() as memory:
        await memory.add(scope, "s1", said("I live in Lisbon"))
        await through(memory, scope, clock, settled, [10, 1])

        lines = {line.key.role: line for line in await memory.spending(scope)}
        assert set(lines) == {"extract", "consolidate", "portray"}
        assert lines["extract"].usage.prompt_tokens == model.requests_of("extract")[0].prompt_tokens
        assert (lines["extract"].key.user, lines["portray"].key.user) == ("lin", "")
        budget = (await memory.status(scope)).budget
        assert budget is not None
        assert budget.used_tokens == sum(line.usage.total_tokens for line in lines.values())
        assert budget.limit_tokens is None
        assert await memory.spending(replace(scope, agent="another")) == ()


async def test_the_same_fact_told_in_five_sessions_is_one_memory_with_five_sources(
    open_with_model: OpenWithModel, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    """Pipeline reference §10.6, 3. Equal words need no comparison by a model (B19)."""
    async with open_with_model() as memory:
        for number in range(5):
            await memory.add(scope, f"s{number}", said("I am allergic to peanuts."))
            await settled(memory, scope)

        (row,) = await live(memory, scope)
        evidence = await memory.trace(scope, row.memory_id)
        assert [message.session_id for message in evidence.messages] == ["s0", "s1", "s2", "s3", "s4"]
        assert model.requests_of("resolve") == []


async def test_a_paraphrase_joins_what_it_repeats_and_equal_words_are_never_deleted(
    open_with_model: OpenWithModel, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    """B19."""
    model.script(
        "resolve",
        decisions({"item": "n1", "action": "skip", "targets": ["m1"]}),
        decisions({"item": "n1", "action": "delete", "targets": ["m1"]}),
    )
    async with open_with_model() as memory:
        for text in (
            "I am allergic to peanuts.",
            "I am allergic to peanuts.",
            "I am allergic to peanuts and always was",
            "As I said: I am allergic to peanuts",
        ):
            await memory.add(scope, "s1", said(text))
            await settled(memory, scope)

        first, second = sorted(await live(memory, scope), key=lambda row: row.seq)
        assert first.content == "I am allergic to peanuts."
        assert len((await memory.trace(scope, first.memory_id)).messages) == 3
        assert second.content == "As I said: I am allergic to peanuts"  # an unknown verb destroys nothing
        assert len(model.requests_of("resolve")) == 2


async def test_new_memories_of_one_batch_are_compared_with_each_other(
    open_with_model: OpenWithModel, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    both = {"item": "n1", "action": "merge", "targets": ["n2"], "content": "I drink green tea morning and evening"}
    model.always("resolve", decisions(both))
    async with open_with_model(every_n=2) as memory:
        await memory.add(scope, "s1", said("I drink green tea in the morning", "I drink green tea in the evening, too"))
        await settled(memory, scope)

        (row,) = await live(memory, scope)
        assert row.content == both["content"]
        assert len((await memory.trace(scope, row.memory_id)).messages) == 2
        assert " alike n1 n2\n" in model.requests_of("resolve")[0].last_user_text


async def test_the_scene_goes_on_behind_messages_that_are_not_worth_reading(
    open_with_model: OpenWithModel, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    async with open_with_model() as memory:
        for text in ("My boxes are packed", "ok", "The sofa stays behind"):
            await memory.add(scope, "s1", said(text))
            await settled(memory, scope)

        first, second = (request.last_user_text.splitlines() for request in model.requests_of("extract"))
        assert ("scene: none" in first, "scene: notes" in second) == (True, True)


async def test_a_changed_value_reaches_every_memory_that_speaks_it(
    open_with_model: OpenWithModel, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    """User needs A11: the value lives in more memories than the one that names it."""

    def told(request: RecordedRequest) -> Reply:
        items = []
        for alias, _, text in shown(request):
            city = text.split()[-1] if text.startswith("I live") else ""
            items.append(fact(text, alias, attribute="residence" if city else "", value=city))
        return memories(*items)

    model.always("extract", told)
    model.always(
        "resolve",
        decisions(
            {"item": "n1", "action": "update", "targets": ["m1"]},
            {"item": "n1", "action": "revise", "targets": ["m2"], "content": "The dentist is near the flat in Braga."},
        ),
    )
    async with open_with_model() as memory:
        for text in ("I live in Lisbon", "My dentist is near the flat in Lisbon", "I live in Braga"):
            await memory.add(scope, "s1", said(text))
            await settled(memory, scope)

        assert await contents(memory, scope) == ["I live in Braga", "The dentist is near the flat in Braga."]
        dentist = next(row for row in await live(memory, scope) if "dentist" in row.content)
        evidence = await memory.trace(scope, dentist.memory_id)
        assert [m.content for m in evidence.messages] == ["My dentist is near the flat in Lisbon", "I live in Braga"]
        assert (dentist.version, [row.version for row in evidence.replaced]) == (1, [0])


async def test_a_changed_value_reaches_all_copies_when_there_are_many(
    open_with_model: OpenWithModel, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    places = [
        f"The {place} that I go to is in" for place in ("dentist", "gym", "bakery", "school", "office", "library")
    ]
    places += [
        f"My favourite {place} lies in" for place in ("garage", "tailor", "florist", "cinema", "chapel", "market")
    ]

    def told(request: RecordedRequest) -> Reply:
        items = []
        for alias, _, text in shown(request):
            city = text.split()[-1] if text.startswith("I live") else ""
            items.append(fact(text, alias, attribute="residence" if city else "", value=city))
        return memories(*items)

    def everywhere(request: RecordedRequest) -> Reply:
        mark = request.last_user_text.split("\n", 1)[0].removeprefix("mark: ")
        parts = [part.splitlines() for part in request.last_user_text.split(f"#{mark} ")[1:]]
        known = {head.split()[0]: text for head, text, *_ in (part for part in parts if part[0].startswith("m"))}
        home = next(alias for alias, text in known.items() if text.startswith("I live"))
        revised = {alias: text.replace("Lisbon", "Braga") for alias, text in known.items() if alias != home}
        return decisions(
            {"item": "n1", "action": "update", "targets": [home]},
            *({"item": "n1", "action": "revise", "targets": [a], "content": text} for a, text in revised.items()),
        )

    model.always("extract", told)
    async with open_with_model() as memory:
        for place in ("I live in", *places):
            await memory.add(scope, "s1", said(f"{place} Lisbon"))
        await memory.flush(scope)
        assert len(await live(memory, scope)) == 1 + len(places)
        model.always("resolve", everywhere)
        await memory.add(scope, "s2", said("I live in Braga"))
        await settled(memory, scope)

        assert await contents(memory, scope) == sorted(f"{place} Braga" for place in ("I live in", *places))


async def test_what_a_person_wrote_is_kept_and_the_other_text_is_a_proposal(
    open_with_model: OpenWithModel, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    async with open_with_model() as memory:
        await memory.add(scope, "s1", said("I live in the city of Lisbon"))
        await settled(memory, scope)
        (old,) = await live(memory, scope)
        human = await memory.update_memory(scope, old.memory_id, "I live in the city of Porto")
        model.always("resolve", decisions({"item": "n1", "action": "update", "targets": ["m1"]}))
        for _ in range(2):
            await memory.add(scope, "s1", said("I live in the city of Braga"))
            await settled(memory, scope)

        assert await live(memory, scope) == (human,)
        proposals = [one for one in await memory.history(scope, human.memory_id) if one.proposal]
        assert [one.memory.content for one in proposals] == ["I live in the city of Braga"]


async def test_messages_added_while_the_model_works_are_distilled_once_and_in_order(
    open_with_model: OpenWithModel, scope: Scope, clock: FakeClock, settled: Settled, model: ScriptedLLM
) -> None:
    """B27, with eight callers."""
    async with open_with_model(every_n=5) as memory:
        with model.paused("extract"):
            await memory.add(scope, "s1", said(*(f"opening number {n}" for n in range(5))))
            await model.received(1, "extract")
            for batch in range(3):
                adds = (memory.add(scope, "s1", said(f"late remark {batch} {n} of mine")) for n in range(8))
                await asyncio.gather(*adds)
        await through(memory, scope, clock, settled, [600])

        order = [text for request in model.requests_of("extract") for _, _, text in shown(request)]
        stored = (await memory.messages(scope, limit=100)).items
        assert order == [message.content for message in sorted(stored, key=lambda message: message.seq)]
        assert len(set(order)) == 29
        assert (await memory.status(scope)).layers["l1"].pending == 0
        assert len(await live(memory, scope)) == 29


async def test_an_outage_of_any_length_buries_nothing_and_ends_with_every_message_distilled_once(
    open_with_model: OpenWithModel, scope: Scope, clock: FakeClock, settled: Settled, model: ScriptedLLM
) -> None:
    model.script("extract", *[Reset()] * 12)
    async with open_with_model(attempts=3, l2_delay_seconds=100_000) as memory:
        await memory.add(scope, "s1", said("I live in Lisbon"))
        await through(memory, scope, clock, settled, [300] * 40)

        assert await contents(memory, scope) == ["I live in Lisbon"]
        status = (await memory.status(scope)).layers["l1"]
        assert (status.state, status.pending, status.last_error) == ("idle", 0, "")


async def test_a_refused_key_stops_the_calls_shows_in_health_and_is_asked_again_on_retry(
    open_with_model: OpenWithModel, scope: Scope, clock: FakeClock, settled: Settled, model: ScriptedLLM
) -> None:
    model.script("extract", Status(401, "no such key"))
    async with open_with_model() as memory:
        await memory.add(scope, "s1", said("I live in Lisbon"))
        await through(memory, scope, clock, settled, [3_600, 3_600])

        health = (await memory.health()).components["distiller"]
        assert (health.state, len(model.requests)) == ("failed", 1)
        assert "401" in health.reason
        status = (await memory.status(scope)).layers["l1"]
        assert (status.state, status.pending) == ("waiting", 1)
        assert status.last_error.startswith("auth_refused")
        assert [hit.item.content for hit in (await memory.search_messages(scope, "Lisbon")).hits] == [
            "I live in Lisbon"
        ]

        assert await memory.retry(scope) == 1
        await settled(memory, scope)
        assert await contents(memory, scope) == ["I live in Lisbon"]
        assert (await memory.health()).components["distiller"].state == "ok"


async def test_a_spent_budget_stops_distillation_until_the_next_day_and_nothing_else(
    open_with_model: OpenWithModel, scope: Scope, clock: FakeClock, settled: Settled, model: ScriptedLLM
) -> None:
    later = {"l2_delay_seconds": 1e6, "l2_max_interval_seconds": 1e6}  # or L2 could spend the next day's tokens first
    async with open_with_model(llm={"daily_tokens": 1}, **later) as memory:
        await memory.add(scope, "s1", said("I live in Lisbon"))
        await settled(memory, scope)
        await memory.add(scope, "s1", said("I work at a bakery"))
        await through(memory, scope, clock, settled, [300])

        assert len(model.requests) == 1
        status = await memory.status(scope)
        assert status.budget is not None
        assert (status.budget.spent, status.layers["l1"].next_due_at) == (True, status.budget.resets_at)
        assert status.layers["l1"].last_error.startswith("budget_spent")
        assert (await memory.recall(scope, "where do I live, Lisbon?")).hits  # what is there is still recalled

        await through(memory, scope, clock, settled, [DAY])
        assert await contents(memory, scope) == ["I live in Lisbon", "I work at a bakery"]


async def test_a_batch_that_does_not_fit_is_halved_until_it_does(
    open_with_model: OpenWithModel, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    def only_two(request: RecordedRequest) -> Reply:
        return Reply("[", finish="length") if len(shown(request)) > 2 else every_user_message(request)

    model.always("extract", only_two)
    texts = [f"remark number {n} of mine" for n in range(7)]
    async with open_with_model(every_n=7) as memory:
        await memory.add(scope, "s1", said(*texts))
        await settled(memory, scope)

        assert await contents(memory, scope) == texts
        assert (await memory.status(scope)).layers["l1"].pending == 0
        assert (await memory.status(scope)).layers["l1"].parked == 0


async def test_a_message_that_no_model_takes_is_parked_and_its_session_goes_on(
    open_with_model: OpenWithModel, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    def filtered(request: RecordedRequest) -> Reply:
        if any("forbidden" in text for _, _, text in shown(request)):
            return Reply("", finish="content_filter")
        return every_user_message(request)

    model.always("extract", filtered)
    texts = ["I live in Lisbon", "I work at a bakery", "a forbidden word of mine", "I have a cat", "I play the lute"]
    async with open_with_model(every_n=5) as memory:
        await memory.add(scope, "s1", said(*texts))
        await settled(memory, scope)

        assert await contents(memory, scope) == sorted(text for text in texts if "forbidden" not in text)
        status = (await memory.status(scope)).layers["l1"]
        assert (status.state, status.pending, status.parked) == ("idle", 0, 1)
        assert status.last_error.startswith("parked: content_filter")

        model.always("extract", every_user_message)
        assert await memory.retry(scope) == 1
        await settled(memory, scope)
        assert await contents(memory, scope) == sorted(texts)
        status = (await memory.status(scope)).layers["l1"]
        assert (status.pending, status.parked, status.last_error) == (0, 0, "")


async def test_a_failure_of_now_is_told_before_what_was_parked(
    open_with_model: OpenWithModel, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    model.script("extract", Reply("", finish="content_filter"), Status(401))
    async with open_with_model() as memory:
        await memory.add(scope, "s1", said("a forbidden word of mine"))
        await settled(memory, scope)
        await memory.add(scope, "s1", said("I have a cat"))
        await settled(memory, scope)

        status = (await memory.status(scope)).layers["l1"]
        assert (status.parked, status.last_error.partition(":")[0]) == (1, "auth_refused")


async def test_what_is_complete_of_a_cut_answer_to_one_message_is_stored_and_nothing_is_parked(
    open_with_model: OpenWithModel, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    def cut(request: RecordedRequest) -> Reply:
        whole = every_user_message(request).text
        return Reply(whole.removesuffix("]}") + ', {"content": "and', finish="length")

    model.always("extract", cut)
    async with open_with_model(every_n=2) as memory:
        await memory.add(scope, "s1", said("I live in Lisbon", "I work at a bakery"))
        await settled(memory, scope)

        assert await contents(memory, scope) == ["I live in Lisbon", "I work at a bakery"]
        assert (await memory.status(scope)).layers["l1"].parked == 0


@pytest.mark.parametrize("taken", [True, False])
async def test_the_tries_that_led_to_halves_are_in_the_record_of_the_run(
    open_with_model: OpenWithModel, scope: Scope, settled: Settled, model: ScriptedLLM, taken: bool
) -> None:
    def small(request: RecordedRequest) -> Reply:
        if taken and len(shown(request)) == 1:
            return replace(every_user_message(request), usage=(10, 1, 0))
        return Reply("", finish="content_filter", usage=(10, 1, 0))

    model.always("extract", small)
    model.always("resolve", Reply('{"decisions": []}', usage=(0, 0, 0)))
    async with open_with_model(every_n=4) as memory:
        await memory.add(scope, "s1", said(*(f"remark number {n} of mine" for n in range(4))))
        await settled(memory, scope)
        runs = [one.generation.run for one in (await memory.generations.list("default", layer="l1")).records]

    assert len(runs) == 4
    assert sum(run.provenance.usage.calls for run in runs) == len(model.requests)
    assert sum(run.provenance.usage.prompt_tokens for run in runs) == 10 * len(model.requests_of("extract"))
    assert {run.provenance.model for run in runs} == {"scripted"}


async def test_an_unusable_merge_leaves_its_sources_alone_and_the_last_try_keeps_what_was_said(
    open_with_model: OpenWithModel, scope: Scope, clock: FakeClock, settled: Settled, model: ScriptedLLM
) -> None:
    """B16: nothing is retired without its replacement; and a model that never decides costs no fact."""
    merge = {"item": "n1", "action": "merge", "targets": ["m1"]}
    model.script("resolve", decisions(merge), Reply("?"), decisions(merge), Reply("no idea"))
    async with open_with_model(attempts=2, l2_delay_seconds=100_000) as memory:
        for text in ("I drink green tea in the morning", "I drink green tea in the morning and in the evening"):
            await memory.add(scope, "s1", said(text))
            await settled(memory, scope)
        before = await contents(memory, scope)
        await through(memory, scope, clock, settled, [5, 15])

        assert before == ["I drink green tea in the morning"]
        assert await contents(memory, scope) == [
            "I drink green tea in the morning",
            "I drink green tea in the morning and in the evening",
        ]


async def test_a_merge_that_fails_once_is_one_row_after_a_valid_answer(
    open_with_model: OpenWithModel, scope: Scope, clock: FakeClock, settled: Settled, model: ScriptedLLM
) -> None:
    merge = {"item": "n1", "action": "merge", "targets": ["m1"]}
    good = {**merge, "content": "I drink green tea in the morning and in the evening, without sugar"}
    model.script("resolve", decisions(merge), Reply("?"), decisions(good))
    async with open_with_model(attempts=3, l2_delay_seconds=100_000) as memory:
        for text in ("I drink green tea in the morning", "I drink green tea in the evening"):
            await memory.add(scope, "s1", said(text))
            await settled(memory, scope)
        await through(memory, scope, clock, settled, [5])

        (row,) = await live(memory, scope)
        assert row.content == good["content"]
        evidence = await memory.trace(scope, row.memory_id)
        assert [old.content for old in evidence.replaced] == ["I drink green tea in the morning"]
        assert len(evidence.messages) == 2


async def test_what_rules_had_distilled_is_distilled_again_once_there_is_a_model(
    open_memory: Callable[..., AbstractAsyncContextManager[Memory]],
    open_with_model: OpenWithModel,
    tmp_path: Path,
    scope: Scope,
    settled: Settled,
    model: ScriptedLLM,
) -> None:
    without = Settings(data_dir=tmp_path, pipeline=PipelineSettings(warmup=False, every_n=1))
    async with open_memory(settings=without, distiller=None) as memory:
        await memory.add(scope, "s1", said("我住在杭州", "以后回答都用中文"))
        await settled(memory, scope)
        by_rules = await live(memory, scope)
        assert {row.origin for row in by_rules} == {"rules"}
        assert len(by_rules) == 2
        kept = next(row for row in by_rules if row.type == "persona")
        await memory.update_memory(scope, kept.memory_id, "住在杭州西湖边")

    def better(request: RecordedRequest) -> Reply:
        items = [fact(f"用户（lin）说：{text}", alias) for alias, _, text in shown(request)]
        return memories(*items)

    model.always("extract", better)
    for _ in range(2):
        async with open_with_model() as memory:
            await settled(memory, scope)
            assert await contents(memory, scope) == sorted(
                ["住在杭州西湖边", "用户（lin）说：以后回答都用中文", "用户（lin）说：我住在杭州"]
            )
    assert len(model.requests_of("extract")) == 1


async def test_upper_layers_run_for_every_team_and_the_portrait_is_renewed_after_its_threshold(
    open_with_model: OpenWithModel, scope: Scope, clock: FakeClock, settled: Settled, model: ScriptedLLM
) -> None:
    """B33, with a backlog that takes several L2 runs."""
    other = replace(scope, team="work")
    async with open_with_model(persona_every_n=50, every_n=10, batch_messages=20) as memory:
        for one in (scope, other):
            await memory.add(one, "s1", said("I live in Lisbon"))
            await through(memory, one, clock, settled, [600, 10, 1])
        drawn = [await memory.persona(one) for one in (scope, other)]
        for one in (scope, other):
            for start in range(0, 60, 20):
                texts = (f"I own item {n} called {chr(97 + n % 26)}{n * 7919}" for n in range(start, start + 20))
                await memory.add(one, "s1", said(*texts))
                await settled(memory, one)
            await through(memory, one, clock, settled, [900, 900, 10])

            status = await memory.status(one)
            assert (status.layers["l1"].pending, status.layers["l2"].pending) == (0, 0)
        for one, first in zip((scope, other), drawn, strict=True):
            assert len(await live(memory, one)) == 61
            assert await memory.scenes(one)
            renewed = await memory.persona(one)
            assert first is not None
            assert renewed is not None
            assert renewed.version > first.version


async def test_a_failed_portrait_is_drawn_again(
    open_with_model: OpenWithModel, scope: Scope, clock: FakeClock, settled: Settled, model: ScriptedLLM
) -> None:
    model.script("portray", Status(500), Reply("I would rather not."), Reply("No."))
    async with open_with_model() as memory:
        await memory.add(scope, "s1", said("I live in Lisbon"))
        await through(memory, scope, clock, settled, [10, 1])
        assert await memory.persona(scope) is None
        await through(memory, scope, clock, settled, [10, 30, 60, 120])

        persona = await memory.persona(scope)
        assert persona is not None
        assert persona.body.startswith("# Portrait")


async def test_a_rebuilt_database_brings_no_proposal_and_no_outdated_statement_back(
    open_with_model: OpenWithModel, tmp_path: Path, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    model.always("resolve", decisions({"item": "n1", "action": "update", "targets": ["m1"]}))
    async with open_with_model() as memory:
        await memory.add(scope, "s1", said("I live in the city of Lisbon"))
        await settled(memory, scope)
        await memory.add(scope, "s2", [MessageInput("user", "I live in the city of Evora", said_at=1)])  # imported late
        await settled(memory, scope)
        (old,) = await live(memory, scope)
        human = await memory.update_memory(scope, old.memory_id, "I live in the city of Porto")
        await memory.add(scope, "s1", said("I live in the city of Braga"))
        await settled(memory, scope)
        assert await live(memory, scope) == (human,)
        versions = len(await memory.history(scope, human.memory_id))
    for file in tmp_path.glob("memstrata.*"):
        file.unlink()

    await rebuild(Settings(data_dir=tmp_path))

    async with open_with_model() as memory:
        assert await contents(memory, scope) == ["I live in the city of Porto"]
        assert len(await memory.history(scope, human.memory_id)) == versions


async def test_an_operators_prompt_reaches_its_layer_and_the_record_of_what_it_made(
    open_with_model: OpenWithModel, scope: Scope, clock: FakeClock, settled: Settled, model: ScriptedLLM
) -> None:
    layers: tuple[Layer, ...] = ("l1", "l2", "l3")
    async with open_with_model() as memory:
        for layer in layers:
            made = await memory.prompts.create(scope.instance, name=layer, layer=layer, prompt=f"wish of {layer}")
            await memory.prompts.apply(scope.instance, made.prompt_id, layer, team=scope.team)
        await memory.add(scope, "s1", said("I live in Lisbon"))
        await through(memory, scope, clock, settled, [10, 1])

        for role, layer in (("extract", "l1"), ("consolidate", "l2"), ("portray", "l3")):
            (request,) = model.requests_of(role)
            assert f"<operator-wishes>\nwish of {layer}\n</operator-wishes>" in request.system
        (row,) = await live(memory, scope)
        (derivation,) = (await memory.trace(scope, row.memory_id)).derivations
        assert derivation.prompt is not None
        assert (derivation.model, derivation.prompt.source, derivation.prompt.version) == ("scripted", "team", 1)


async def test_what_was_deleted_does_not_come_back_in_other_words_when_its_messages_are_read_again(
    open_memory: Callable[..., AbstractAsyncContextManager[Memory]],
    open_with_model: OpenWithModel,
    tmp_path: Path,
    scope: Scope,
    settled: Settled,
    model: ScriptedLLM,
) -> None:
    """B35, with a model that reads what rules had read."""
    without = Settings(data_dir=tmp_path, pipeline=PipelineSettings(warmup=False, every_n=2))
    async with open_memory(settings=without, distiller=None) as memory:
        await memory.add(scope, "s1", said("我住在杭州", "我对花生过敏"))
        await settled(memory, scope)
        home = next(row for row in await live(memory, scope) if "杭州" in row.content)
        await memory.delete_memories(scope, [home.memory_id])

    model.always("extract", lambda request: memories(*(fact(f"换句话说，{text}", a) for a, _, text in shown(request))))
    async with open_with_model(every_n=2) as memory:
        await settled(memory, scope)
        assert await contents(memory, scope) == ["换句话说，我对花生过敏"]
        await memory.add(scope, "s1", said("我又说一遍：我住在杭州", "没错"))
        await settled(memory, scope)
        assert "换句话说，我又说一遍：我住在杭州" in await contents(memory, scope)
