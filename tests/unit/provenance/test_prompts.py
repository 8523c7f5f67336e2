"""The rules of custom prompts: limits, versions, bindings, and a history that misses nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memstrata.errors import Conflict, InvalidRequest, NotFound
from memstrata.provenance import DeletedPrompts, PromptBook
from memstrata.records import MemoryPrompt, PromptRef, PromptTarget
from memstrata.store.shapes import PromptFilter
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import FakeClock

DAY = 86_400_000


@pytest.fixture
def book(store: SqliteStore, clock: FakeClock) -> PromptBook:
    return PromptBook(store, clock)


async def created(book: PromptBook, instance: str = "default", **given: Any) -> MemoryPrompt:
    return await book.create(instance, **{"name": "diet", "layer": "l1", "prompt": "look for food", **given})


async def history(book: PromptBook, **narrow: Any) -> list[tuple[str, str, str, str]]:
    changes = await book.changes(PromptFilter("default", **narrow), newest_first=False)
    return [(one.action, one.reason, one.before_prompt_id, one.after_prompt_id) for one in changes]


async def test_a_new_prompt_is_trimmed_and_starts_at_version_one(book: PromptBook, clock: FakeClock) -> None:
    prompt = await created(book, name="  饮食 ", prompt="\n look for food\n", operator="lin")

    assert prompt.prompt_id.startswith("mp-")
    assert (prompt.name, prompt.text, prompt.version) == ("饮食", "look for food", 1)
    assert (prompt.created_by, prompt.updated_by, prompt.created_at) == ("lin", "lin", clock.now())
    assert await book.get("default", prompt.prompt_id) == prompt


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": "  "}, "name"),
        ({"name": "名" * 101}, "name"),
        ({"prompt": " \n"}, "prompt"),
        ({"prompt": "字" * 10_001}, "prompt"),
    ],
)
async def test_a_blank_or_too_long_text_is_refused_by_name(book: PromptBook, given: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await created(book, **given)
    assert caught.value.field == field
    prompt = await created(book)
    with pytest.raises(InvalidRequest):
        await book.update("default", prompt.prompt_id, **given)


async def test_limits_count_code_points_of_the_trimmed_text(book: PromptBook) -> None:
    prompt = await created(book, name=" " + "😀" * 100 + " ", prompt="😀" * 10_000)

    assert (len(prompt.name), len(prompt.text)) == (100, 10_000)


async def test_half_of_a_surrogate_pair_does_not_break_the_store(book: PromptBook) -> None:
    assert (await created(book, prompt="cut \ud83d")).text == "cut \ufffd"


async def test_an_instance_has_room_for_five_hundred(book: PromptBook, store: SqliteStore) -> None:
    def fill(r: Any) -> None:
        for number in range(499):
            r.prompts.add("default", MemoryPrompt(f"mp-{number}", "n", "l1", "t", 1, "o", "o", 0, 0))

    await store.write(fill)
    await created(book)
    with pytest.raises(Conflict, match=r"^PROMPT_LIMIT_EXCEEDED: maximum 500 prompts per instance"):
        await created(book)
    await created(book, "other")


async def test_the_version_rises_only_when_something_changed(book: PromptBook, clock: FakeClock) -> None:
    prompt = await created(book)
    clock.advance(5)

    same = await book.update("default", prompt.prompt_id, name=" diet ", prompt="look for food", operator="rex")
    renamed = await book.update("default", prompt.prompt_id, name="tea", operator="rex")
    rewritten = await book.update("default", prompt.prompt_id, prompt="look for tea", operator="rex")

    assert same == prompt
    assert (renamed.version, renamed.name, renamed.text) == (2, "tea", "look for food")
    assert (rewritten.version, rewritten.updated_by, rewritten.updated_at) == (3, "rex", clock.now())
    assert (rewritten.created_by, rewritten.created_at) == (prompt.created_by, prompt.created_at)
    with pytest.raises(InvalidRequest):
        await book.update("default", prompt.prompt_id)


async def test_updates_at_the_same_time_each_count(book: PromptBook) -> None:
    prompt = await created(book)

    texts = [f"look for {number}" for number in range(20)]
    done = await asyncio.gather(*(book.update("default", prompt.prompt_id, prompt=text) for text in texts))

    assert sorted(one.version for one in done) == list(range(2, 22))


async def test_an_unknown_or_foreign_prompt_is_not_found(book: PromptBook) -> None:
    prompt = await created(book, "other")

    for call in (
        book.get("default", prompt.prompt_id),
        book.update("default", prompt.prompt_id, name="x"),
        book.delete("default", [prompt.prompt_id]),
        book.apply("default", prompt.prompt_id, "l1"),
    ):
        with pytest.raises(NotFound, match=r"^MEMORY_PROMPT_NOT_FOUND"):
            await call
    assert await book.get("other", prompt.prompt_id) == prompt


async def test_a_prompt_is_applied_to_agents_else_to_the_team_else_to_the_instance(book: PromptBook) -> None:
    prompt = await created(book)

    for whom in ({}, {"team": "home"}, {"team": "home", "agents": ["a", "b", "a"]}):
        await book.apply("default", prompt.prompt_id, "l1", **whom)

    settings = await book.settings(PromptFilter("default"))
    assert {one.target for one in settings} == {
        PromptTarget("default"),
        PromptTarget("default", "home"),
        PromptTarget("default", "home", "a"),
        PromptTarget("default", "home", "b"),
    }


async def test_only_bindings_that_changed_are_counted_and_recorded(book: PromptBook) -> None:
    first, second = await created(book), await created(book)
    a, b = first.prompt_id, second.prompt_id

    assert await book.apply("default", a, "l1", team="home", agents=["x", "y"], operator="lin") == 2
    assert await book.apply("default", a, "l1", team="home", agents=["x", "y"]) == 0
    assert await book.apply("default", b, "l1", team="home", agents=["y", "z"]) == 2
    assert await book.clear("default", "l1", team="home", agents=["y", "none"]) == 1
    assert await book.clear("default", "l2", team="home", agents=["x"]) == 0

    assert await history(book, team="home", agent="x") == [("apply", "explicit", "", a)]
    assert await history(book, team="home", agent="y") == [
        ("apply", "explicit", "", a),
        ("replace", "explicit", a, b),
        ("clear", "explicit", b, ""),
    ]
    assert await history(book, prompt_id=b, action="apply") == [("apply", "explicit", "", b)]


async def test_a_prompt_of_another_layer_is_refused_and_nothing_is_bound(book: PromptBook) -> None:
    prompt = await created(book, layer="l2")

    with pytest.raises(InvalidRequest, match=r"^PROMPT_LAYER_MISMATCH"):
        await book.apply("default", prompt.prompt_id, "l1")
    assert await book.settings(PromptFilter("default")) == ()


@pytest.mark.parametrize(
    ("whom", "field"),
    [
        ({"agents": ["a"]}, "agent_ids"),
        ({"team": " "}, "team_id"),
        ({"team": "home", "agents": ["a", " "]}, "agent_ids"),
        ({"team": "t" * 513}, "team_id"),
    ],
)
async def test_a_target_that_is_none_is_refused_by_name(book: PromptBook, whom: dict[str, Any], field: str) -> None:
    prompt = await created(book)

    for call in (book.apply("default", prompt.prompt_id, "l1", **whom), book.clear("default", "l1", **whom)):
        with pytest.raises(InvalidRequest) as caught:
            await call
        assert caught.value.field == field


async def test_deleting_takes_the_bindings_along_and_says_how_many(book: PromptBook) -> None:
    first, second = await created(book), await created(book)
    await book.apply("default", first.prompt_id, "l1")
    await book.apply("default", second.prompt_id, "l1", team="home")
    await book.apply("default", second.prompt_id, "l1", team="home", agents=["a", "b"])

    deleted = await book.delete("default", [first.prompt_id, second.prompt_id, first.prompt_id], operator="rex")

    assert deleted == DeletedPrompts((first.prompt_id, second.prompt_id), {"instance": 1, "team": 1, "agent": 2})
    assert await book.settings(PromptFilter("default")) == ()
    assert (await history(book, prompt_id=first.prompt_id))[-1] == ("clear", "prompt_deleted", first.prompt_id, "")
    assert len(await history(book, prompt_id=second.prompt_id)) == 6


async def test_a_batch_with_one_unknown_prompt_deletes_none(book: PromptBook) -> None:
    prompt = await created(book)
    await book.apply("default", prompt.prompt_id, "l1")

    with pytest.raises(NotFound, match="batch delete requires every id to exist"):
        await book.delete("default", [prompt.prompt_id, "mp-unknown"])
    assert await book.get("default", prompt.prompt_id) == prompt
    assert len(await book.settings(PromptFilter("default"))) == 1


async def test_what_is_in_force_is_the_built_in_prompt_until_something_is_bound(book: PromptBook) -> None:
    found = await book.effective("default", "l3", team="home", agent="a")
    assert (found.ref, found.text) == (PromptRef("builtin:l3", 1, "system", ""), "")

    prompt = await created(book, layer="l3")
    await book.apply("default", prompt.prompt_id, "l3", team="home")
    found = await book.effective("default", "l3", team="home", agent="a")
    assert (found.ref.prompt_id, found.ref.source, found.text) == (prompt.prompt_id, "team", "look for food")
    with pytest.raises(InvalidRequest):
        await book.effective("default", "l3", agent="a")


async def test_the_history_needs_a_prompt_or_a_target_and_covers_a_week(book: PromptBook, clock: FakeClock) -> None:
    prompt = await created(book)
    await book.apply("default", prompt.prompt_id, "l1")
    applied_at = clock.now()
    clock.advance(8 * DAY / 1000)

    with pytest.raises(InvalidRequest):
        await book.changes(PromptFilter("default"))
    with pytest.raises(InvalidRequest):
        await book.changes(PromptFilter("default", agent="a"))
    with pytest.raises(InvalidRequest):
        await book.settings(PromptFilter("default", agent="a"))
    assert await history(book, kind="instance") == []
    assert len(await history(book, kind="instance", since=applied_at, until=clock.now())) == 1
