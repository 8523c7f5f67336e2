"""Custom prompts: kept per instance, bound to targets, the narrowest binding in force, every change on record."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from memstrata.records import (
    CustomPrompt,
    Layer,
    MemoryPrompt,
    PromptRef,
    PromptSetting,
    PromptSettingChange,
    PromptTarget,
)
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import PromptFilter

INSTANCE = PromptTarget("default")
TEAM = PromptTarget("default", "home")
AGENT = PromptTarget("default", "home", "assistant")


def prompt(prompt_id: str = "mp-1", layer: Layer = "l1", *, text: str = "look for 饮食", at: int = 100) -> MemoryPrompt:
    return MemoryPrompt(prompt_id, "diet", layer, text, 1, "lin", "lin", at, at)


def setting(target: PromptTarget, prompt_id: str = "mp-1", layer: Layer = "l1", *, at: int = 100) -> PromptSetting:
    return PromptSetting(target, layer, prompt_id, "lin", at)


def change(
    target: PromptTarget, before: str = "", after: str = "mp-1", *, at: int = 100, layer: Layer = "l1"
) -> PromptSettingChange:
    return PromptSettingChange(0, target, layer, "replace" if before else "apply", "explicit", before, after, "lin", at)


async def add(store: Store, *prompts: MemoryPrompt, instance: str = "default") -> None:
    def work(r: Repositories) -> None:
        for one in prompts:
            r.prompts.add(instance, one)

    await store.write(work)


async def bind(store: Store, *settings: PromptSetting) -> None:
    def work(r: Repositories) -> None:
        for one in settings:
            r.prompts.bind(one)

    await store.write(work)


async def ids(
    store: Store, layer: Layer | None = None, limit: int = 9, offset: int = 0, newest: bool = True
) -> list[str]:
    found = await store.read(lambda r: r.prompts.page("default", layer, limit, offset, newest_first=newest))
    return [one.prompt_id for one in found]


async def bound(store: Store, where: PromptFilter, limit: int = 9, offset: int = 0) -> list[PromptSetting]:
    return list(await store.read(lambda r: r.prompts.settings(where, limit, offset, newest_first=True)))


async def test_a_prompt_is_read_as_it_was_kept_and_belongs_to_its_instance(store: Store) -> None:
    await add(store, prompt())

    assert await store.read(lambda r: r.prompts.get("default", "mp-1")) == prompt()
    assert await store.read(lambda r: r.prompts.get("other", "mp-1")) is None
    assert await store.read(lambda r: (r.prompts.count("default"), r.prompts.count("other"))) == (1, 0)


async def test_two_instances_may_have_a_prompt_of_the_same_id(store: Store) -> None:
    await add(store, prompt(text="ours"))
    await add(store, prompt(text="theirs"), instance="other")
    await store.write(lambda r: r.prompts.remove("default", "mp-1"))

    found = await store.read(lambda r: (r.prompts.get("default", "mp-1"), r.prompts.get("other", "mp-1")))
    assert found == (None, prompt(text="theirs"))


async def test_a_change_takes_the_place_of_what_was_there_and_of_nothing_else(store: Store) -> None:
    await add(store, prompt(), prompt("mp-2"))
    changed = replace(prompt(), name="tea", text="look for tea", version=2, updated_by="rex", updated_at=200)
    await store.write(lambda r: r.prompts.replace("default", changed))
    await store.write(lambda r: r.prompts.replace("other", prompt("mp-2", text="not here")))

    assert await store.read(lambda r: r.prompts.get("default", "mp-1")) == changed
    assert await store.read(lambda r: r.prompts.get("default", "mp-2")) == prompt("mp-2")


async def test_prompts_are_paged_by_the_time_they_were_made_and_by_layer(store: Store) -> None:
    await add(store, prompt("mp-1", at=1), prompt("mp-2", "l2", at=2), prompt("mp-3", at=3), prompt("mp-4", at=3))

    assert await ids(store) == ["mp-4", "mp-3", "mp-2", "mp-1"]
    assert await ids(store, newest=False) == ["mp-1", "mp-2", "mp-3", "mp-4"]
    assert await ids(store, limit=2, offset=1) == ["mp-3", "mp-2"]
    assert await ids(store, "l2") == ["mp-2"]


async def test_the_narrowest_binding_is_in_force(store: Store) -> None:
    await add(store, prompt("mp-i"), prompt("mp-t"), prompt("mp-a", text="for the agent"))

    async def in_force(target: PromptTarget = AGENT) -> tuple[str, str] | None:
        found = await store.read(lambda r: r.prompts.effective(target, "l1"))
        return None if found is None else (found.ref.prompt_id, found.ref.source)

    assert await in_force() is None
    await bind(store, setting(INSTANCE, "mp-i"))
    assert await in_force() == ("mp-i", "instance")
    await bind(store, setting(TEAM, "mp-t"))
    assert await in_force() == ("mp-t", "team")
    await bind(store, setting(AGENT, "mp-a"))
    assert await in_force() == ("mp-a", "agent")
    assert await in_force(TEAM) == ("mp-t", "team")
    assert await in_force(PromptTarget("default", "home", "other")) == ("mp-t", "team")
    assert await in_force(PromptTarget("default", "office", "assistant")) == ("mp-i", "instance")
    assert await in_force(PromptTarget("other", "home", "assistant")) is None


async def test_the_prompt_in_force_comes_with_its_version_and_the_hash_of_its_text(store: Store) -> None:
    await add(store, replace(prompt(), version=7))
    await bind(store, setting(AGENT))

    digest = hashlib.sha256("look for 饮食".encode()).hexdigest()
    expected = CustomPrompt(PromptRef("mp-1", 7, "agent", digest), "look for 饮食")
    assert await store.read(lambda r: r.prompts.effective(AGENT, "l1")) == expected
    assert await store.read(lambda r: r.prompts.effective(AGENT, "l2")) is None


async def test_a_target_has_one_prompt_for_a_layer_and_may_be_freed_of_it(store: Store) -> None:
    await bind(store, setting(TEAM, "mp-1"), setting(TEAM, "mp-2"), setting(TEAM, "mp-3", "l2"))
    assert await store.read(lambda r: r.prompts.bound(TEAM, "l1")) == setting(TEAM, "mp-2")

    await store.write(lambda r: r.prompts.unbind(TEAM, "l1"))
    assert await store.read(lambda r: r.prompts.bound(TEAM, "l1")) is None
    assert await store.read(lambda r: r.prompts.bound(TEAM, "l2")) == setting(TEAM, "mp-3", "l2")


async def test_bindings_are_found_by_prompt_and_by_every_part_of_their_target(store: Store) -> None:
    other = PromptTarget("default", "office", "assistant")
    elsewhere = PromptTarget("other", "home", "assistant")
    await bind(
        store,
        setting(INSTANCE, at=1),
        setting(TEAM, at=2),
        setting(AGENT, "mp-2", at=3),
        setting(AGENT, "mp-3", "l3", at=4),
        setting(other, at=5),
        setting(elsewhere, at=6),
    )

    async def targets(limit: int = 9, offset: int = 0, **narrow: str) -> list[int]:
        where = PromptFilter("default", **narrow)  # type: ignore[arg-type]
        return [one.updated_at for one in await bound(store, where, limit, offset)]

    assert await targets() == [5, 4, 3, 2, 1]
    assert await targets(limit=2, offset=1) == [4, 3]
    assert await targets(kind="instance") == [1]
    assert await targets(kind="team") == [2]
    assert await targets(kind="agent") == [5, 4, 3]
    assert await targets(team="home") == [4, 3, 2]
    assert await targets(team="home", agent="") == [2]
    assert await targets(agent="assistant", layer="l1") == [5, 3]
    assert await targets(prompt_id="mp-1") == [5, 2, 1]
    found = await store.read(lambda r: r.prompts.bound_to("default", "mp-1"))
    assert {one.target for one in found} == {INSTANCE, TEAM, other}


async def test_changes_are_numbered_and_found_by_target_prompt_action_and_time(store: Store) -> None:
    def work(r: Repositories) -> None:
        r.prompts.note_change(change(TEAM, at=1))
        r.prompts.note_change(change(TEAM, "mp-1", "mp-2", at=2))
        r.prompts.note_change(change(AGENT, "", "mp-2", at=2))
        r.prompts.note_change(change(PromptTarget("other", "home"), at=3))

    await store.write(work)

    async def numbers(*, newest: bool = True, limit: int = 9, offset: int = 0, **narrow: str | int) -> list[int]:
        where = PromptFilter("default", **narrow)  # type: ignore[arg-type]
        found = await store.read(lambda r: r.prompts.changes(where, limit, offset, newest_first=newest))
        return [one.seq for one in found]

    first, second, third = await numbers(newest=False)
    assert first < second < third
    assert await numbers() == [third, second, first]
    assert await numbers(limit=1, offset=1) == [second]
    assert await numbers(kind="team") == [second, first]
    assert await numbers(prompt_id="mp-1") == [second, first]
    assert await numbers(prompt_id="mp-2") == [third, second]
    assert await numbers(action="replace") == [second]
    assert await numbers(since=2, until=2) == [third, second]
    found = await store.read(lambda r: r.prompts.changes(PromptFilter("default"), 1, 2, newest_first=True))
    assert found == (replace(change(TEAM, at=1), seq=first),)
