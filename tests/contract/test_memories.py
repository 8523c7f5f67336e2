"""L1: memories in versions, what they cite, how they are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from memstrata.records import MemoryRecord, NewMemory, NewMessage, Scope
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import MemoryFilter

Build = Callable[..., NewMemory]
ALL = MemoryFilter()


async def add(store: Store, scope: Scope, *memories: NewMemory) -> list[MemoryRecord]:
    profile = scope.profile("agent")
    return await store.write(lambda r: [r.memories.add(scope, profile, memory) for memory in memories])


async def test_a_memory_comes_back_as_it_went_in(store: Store, scope: Scope, new_memory: Build) -> None:
    sent = new_memory(
        "住在里斯本 🙂",
        type="instruction",
        priority=-1,
        scene_name="家",
        applies_to="project",
        slot="residence",
        task_id="task",
        happened_from=1,
        happened_to=2,
        metadata={"replaced": "before", "深": [1, {"a": None}]},
        created_at=3,
        updated_at=4,
    )

    (record,) = await add(store, scope, sent)

    assert await store.read(lambda r: r.memories.live(scope, sent.memory_id)) == record
    for name in ("memory_id", "version", "content", "type", "priority", "scene_name", "applies_to", "slot", "task_id"):
        assert getattr(record, name) == getattr(sent, name)
    for name in ("session_id", "origin", "happened_from", "happened_to", "metadata", "created_at", "updated_at"):
        assert getattr(record, name) == getattr(sent, name)
    assert (record.valid_to, record.superseded_by) == (None, None)


async def test_retiring_is_soft_and_happens_once(store: Store, scope: Scope, new_memory: Build) -> None:
    """Invariant 5: an old row is retired, not deleted, and names what took its place."""
    old, new = await add(store, scope, new_memory("tea", memory_id="m"), new_memory("coffee", memory_id="m", version=1))

    assert await store.write(lambda r: r.memories.retire(scope, old.seq, 99, new.seq)) is True
    assert await store.write(lambda r: r.memories.retire(scope, old.seq, 100, None)) is False

    assert await store.read(lambda r: r.memories.live(scope, "m")) == new
    (kept,) = await store.read(lambda r: r.memories.replaced(scope, new.seq))
    assert kept == replace(old, valid_to=99, superseded_by=new.seq)


async def test_a_retired_memory_is_in_no_list_count_or_search(store: Store, scope: Scope, new_memory: Build) -> None:
    (memory,) = await add(store, scope, new_memory("green tea", slot="drink"))
    await store.write(lambda r: r.memories.retire(scope, memory.seq, 99, None))

    def look(r: Repositories) -> list[object]:
        m = r.memories
        return [
            m.live(scope, memory.memory_id),
            m.live_by_seq(scope, [memory.seq]),
            m.by_content(scope, "green tea"),
            m.by_slot(scope, "drink"),
            m.page(scope, ALL, 9, 0),
            m.count(scope, ALL),
            m.size(scope),
            dict(m.frequencies(scope, ["green"])),
            m.match(scope, ["green"], ALL, 9),
        ]

    assert await store.read(look) == [None, (), None, (), (), 0, 0, {}, ()]


async def test_what_was_replaced_is_told_back_to_the_first_version(
    store: Store, scope: Scope, new_memory: Build
) -> None:
    rows = await add(store, scope, *(new_memory(f"v{n}", memory_id="m", version=n) for n in range(3)))
    merged = await add(store, scope, new_memory("also", memory_id="other"))

    def retire(r: Repositories) -> None:
        r.memories.retire(scope, rows[0].seq, 1, rows[1].seq)
        r.memories.retire(scope, rows[1].seq, 2, rows[2].seq)
        r.memories.retire(scope, merged[0].seq, 2, rows[2].seq)

    await store.write(retire)

    replaced = await store.read(lambda r: r.memories.replaced(scope, rows[2].seq))
    assert [m.content for m in replaced] == ["also", "v1", "v0"]
    assert await store.read(lambda r: r.memories.replaced(scope, rows[0].seq)) == ()


async def test_sources_are_messages_of_the_same_scope_and_each_counts_once(
    store: Store, scope: Scope, new_memory: Build, new_message: Callable[..., NewMessage]
) -> None:
    """Invariants 4 and 6: a memory cites live messages of its own scope."""
    stranger = Scope("default", "home", "assistant", "max")

    def say(r: Repositories, who: Scope) -> list[int]:
        target = r.conversations.append(who, "s1", "", [new_message("one"), new_message("two")], 0)
        return [m.seq for m in r.conversations.undistilled(target, 9)]

    own = await store.write(lambda r: say(r, scope))
    foreign = await store.write(lambda r: say(r, stranger))
    (memory,) = await add(store, scope, new_memory(source_seqs=(own[1], foreign[0])))
    await store.write(lambda r: r.memories.add_sources(scope, memory.seq, [*own, own[0], foreign[1], 999_999]))

    sources = await store.read(lambda r: r.memories.sources(scope, memory.seq))
    assert [m.seq for m in sources] == own


async def test_a_memory_of_a_teammate_or_another_agent_is_told_from_an_unknown_one(
    store: Store, scope: Scope, new_memory: Build
) -> None:
    await add(store, scope, new_memory(memory_id="m"))

    def elsewhere(r: Repositories, who: Scope) -> str | None:
        return r.memories.kept_elsewhere(who, "m")

    assert await store.read(lambda r: elsewhere(r, replace(scope, user="max"))) == "user"
    assert await store.read(lambda r: elsewhere(r, replace(scope, agent="other"))) == "agent"
    assert await store.read(lambda r: elsewhere(r, replace(scope, team="other"))) is None
    assert await store.read(lambda r: elsewhere(r, replace(scope, instance="other"))) is None
    assert await store.read(lambda r: r.memories.kept_elsewhere(scope, "unknown")) is None


async def test_live_memories_by_sequence_number_come_in_order(store: Store, scope: Scope, new_memory: Build) -> None:
    a, b, c = await add(store, scope, new_memory("a"), new_memory("b"), new_memory("c"))
    await store.write(lambda r: r.memories.retire(scope, b.seq, 1, None))

    found = await store.read(lambda r: r.memories.live_by_seq(scope, [c.seq, b.seq, a.seq, 999_999]))
    assert [m.content for m in found] == ["a", "c"]


async def test_the_same_statement_is_found_whatever_its_case_and_spacing(
    store: Store, scope: Scope, new_memory: Build
) -> None:
    (first, _) = await add(store, scope, new_memory("Likes  green\ttea"), new_memory("likes green tea"))

    assert await store.read(lambda r: r.memories.by_content(scope, " likes GREEN tea ")) == first
    assert await store.read(lambda r: r.memories.by_content(scope, "likes tea")) is None


async def test_memories_of_one_slot_are_found_and_no_slot_is_no_slot(
    store: Store, scope: Scope, new_memory: Build
) -> None:
    a, b, _ = await add(
        store, scope, new_memory("a", slot="home"), new_memory("b", slot="home"), new_memory("c", slot="")
    )

    assert await store.read(lambda r: r.memories.by_slot(scope, "home")) == (a, b)
    assert await store.read(lambda r: r.memories.by_slot(scope, "")) == ()


async def test_a_deleted_statement_is_buried_for_the_messages_that_were_there(
    store: Store, scope: Scope, new_memory: Build, new_message: Callable[..., NewMessage]
) -> None:
    target = await store.write(lambda r: r.conversations.append(scope, "s1", "", [new_message()], 0))
    (old,) = await store.read(lambda r: r.conversations.undistilled(target, 9))
    await add(store, scope, new_memory("likes tea", memory_id="m", source_seqs=(old.seq,)))
    await store.write(lambda r: r.erasure.memories(scope, ["m"], None))

    def buried(r: Repositories) -> list[bool]:
        m = r.memories
        return [
            m.buried(scope, "Likes  tea", old.seq),
            m.buried(scope, "likes tea", old.seq + 1),
            m.buried(scope, "likes coffee", old.seq),
            m.buried(replace(scope, user="max"), "likes tea", old.seq),
        ]

    assert await store.read(buried) == [True, False, False, False]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (MemoryFilter(), ["d", "c", "b", "a"]),
        (MemoryFilter(type="persona"), ["b", "a"]),
        (MemoryFilter(type="unknown"), []),
        (MemoryFilter(task_id="t1"), ["c", "a"]),
        (MemoryFilter(task_id=""), ["d", "b"]),
        (MemoryFilter(since=20), ["d", "c", "b"]),
        (MemoryFilter(until=20), ["b", "a"]),
        (MemoryFilter(since=20, until=20), ["b"]),
        (MemoryFilter(type="persona", task_id="t1", since=10, until=10), ["a"]),
    ],
)
async def test_filters_of_memories_agree_in_page_count_and_search(
    store: Store, scope: Scope, new_memory: Build, where: MemoryFilter, expected: list[str]
) -> None:
    await add(
        store,
        scope,
        new_memory("a", type="persona", task_id="t1", updated_at=10),
        new_memory("b", type="persona", updated_at=20),
        new_memory("c", type="episodic", task_id="t1", updated_at=30),
        new_memory("d", type="instruction", updated_at=40),
    )

    def look(r: Repositories) -> tuple[list[str], int, set[str]]:
        m = r.memories
        found = m.match(scope, ["a", "b", "c", "d"], where, 10)
        return [x.content for x in m.page(scope, where, 10, 0)], m.count(scope, where), {x.content for x, _ in found}

    assert await store.read(look) == (expected, len(expected), set(expected))


async def test_a_page_of_memories_holds_the_last_changed_first_and_equal_times_have_one_order(
    store: Store, scope: Scope, new_memory: Build
) -> None:
    await add(store, scope, *(new_memory(str(n), updated_at=50) for n in range(5)), new_memory("old", updated_at=10))

    def pages(r: Repositories) -> list[str]:
        return [m.content for offset in range(0, 6, 2) for m in r.memories.page(scope, ALL, 2, offset)]

    assert await store.read(pages) == ["4", "3", "2", "1", "0", "old"]


async def test_statistics_and_matches_of_memories_are_those_of_the_scope(
    store: Store, scope: Scope, new_memory: Build
) -> None:
    stranger = replace(scope, user="max")
    await add(store, scope, new_memory("green tea"), new_memory("black tea"))
    await add(store, stranger, *(new_memory(f"tea {n}") for n in range(5)))

    def look(r: Repositories) -> tuple[int, dict[str, int], set[str]]:
        m = r.memories
        found = m.match(scope, ["tea"], ALL, 99)
        return m.size(scope), dict(m.frequencies(scope, ["tea", "green", "milk"])), {x.content for x, _ in found}

    assert await store.read(look) == (2, {"tea": 2, "green": 1}, {"green tea", "black tea"})


async def test_the_memories_that_rest_on_a_message_are_the_live_ones_and_each_is_told_once(
    store: Store, scope: Scope, new_memory: Build, new_message: Callable[..., NewMessage]
) -> None:
    target = await store.write(
        lambda r: r.conversations.append(scope, "s1", "", [new_message(str(n)) for n in range(3)], 0)
    )
    first, second, third = [m.seq for m in await store.read(lambda r: r.conversations.undistilled(target, 9))]
    both, one, retired, _ = await add(
        store,
        scope,
        new_memory("both", source_seqs=(first, second)),
        new_memory("one", source_seqs=(second,)),
        new_memory("retired", source_seqs=(first,)),
        new_memory("none"),
    )
    await store.write(lambda r: r.memories.retire(scope, retired.seq, 1, None))

    def citing(r: Repositories) -> list[tuple[MemoryRecord, ...]]:
        m = r.memories
        return [m.citing(scope, seqs) for seqs in ([first, second], [first], [third, 999_999], [])]

    assert await store.read(citing) == [(both, one), (both,), (), ()]


async def test_the_versions_of_a_memory_are_told_newest_first_with_what_they_took_the_place_of(
    store: Store, scope: Scope, new_memory: Build
) -> None:
    """Invariant 5: an old row is retired, not deleted; an undo finds it here."""
    (other_old,) = await add(store, scope, new_memory("mug v0", memory_id="mug"))
    (other,) = await add(store, scope, new_memory("mug v1", memory_id="mug", version=1))
    (old,) = await add(store, scope, new_memory("tea v0", memory_id="tea"))
    (new,) = await add(store, scope, new_memory("tea v1", memory_id="tea", version=1))
    await add(store, scope, new_memory("bread", memory_id="bread"))

    def retire(r: Repositories) -> None:
        r.memories.retire(scope, other_old.seq, 10, other.seq)
        r.memories.retire(scope, old.seq, 20, new.seq)
        r.memories.retire(scope, other.seq, 20, new.seq)

    await store.write(retire)

    found = await store.read(lambda r: r.memories.versions(scope, "tea"))
    assert found == (
        new,
        replace(old, valid_to=20, superseded_by=new.seq),
        replace(other, valid_to=20, superseded_by=new.seq),
        replace(other_old, valid_to=10, superseded_by=other.seq),
    )
    merged_away = await store.read(lambda r: r.memories.versions(scope, "mug"))
    assert [m.content for m in merged_away] == ["mug v1", "mug v0"]
    assert await store.read(lambda r: r.memories.versions(scope, "unknown")) == ()


async def test_a_memory_that_was_ended_by_hand_still_has_its_versions(
    store: Store, scope: Scope, new_memory: Build
) -> None:
    (memory,) = await add(store, scope, new_memory("tea", memory_id="tea"))
    await store.write(lambda r: r.memories.retire(scope, memory.seq, 9, None))

    assert await store.read(lambda r: r.memories.versions(scope, "tea")) == (replace(memory, valid_to=9),)


async def test_a_deleted_memory_has_no_versions_left(store: Store, scope: Scope, new_memory: Build) -> None:
    """Invariant 10."""
    (old,) = await add(store, scope, new_memory("tea", memory_id="tea"))
    (new,) = await add(store, scope, new_memory("mate", memory_id="tea", version=1))
    await store.write(lambda r: r.memories.retire(scope, old.seq, 9, new.seq))

    await store.write(lambda r: r.erasure.memories(scope, ["tea"], None))

    assert await store.read(lambda r: r.memories.versions(scope, "tea")) == ()
