"""Taking a change back: memories, scenes and the portrait; nothing is lost by it, and it can be taken back itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import pytest

from memstrata.distill.protocol import Decision, Decisions, Extraction, MessageBatch, Poison, ResolveRequest, Retry
from memstrata.errors import Conflict, Forbidden, InvalidRequest, NotFound
from memstrata.memory import Memory, MessageInput
from memstrata.records import MemoryRecord, NewMemory, Scope
from memstrata.store.protocol import Repositories
from memstrata.testing import EchoDistiller, FakeClock

Open = Callable[..., AbstractAsyncContextManager[Memory]]
TEA, COFFEE, BOTH = "Lin drinks green tea", "Lin drinks black coffee", "Both: Lin drinks green tea and black coffee"


class Joining(EchoDistiller):
    """Joins all that is there when a statement begins with "Both"; everything else it stores."""

    async def extract(self, batch: MessageBatch) -> Extraction | Retry | Poison:
        found = await super().extract(batch)
        assert isinstance(found, Extraction)
        return replace(found, drafts=tuple(replace(draft, slot="drinks") for draft in found.drafts))

    async def resolve(self, request: ResolveRequest) -> Decisions | Retry | Poison:
        targets = tuple(row.seq for row in request.pool)
        return Decisions(
            tuple(
                Decision("merge", draft, targets) if draft.content.startswith("Both") else Decision("store", draft)
                for draft in request.drafts
            )
        )


async def say(memory: Memory, scope: Scope, *texts: str) -> None:
    for text in texts:
        await memory.add(scope, "s1", [MessageInput("user", text)])
        await memory.flush(scope)


async def propose(memory: Memory, scope: Scope, proposal: NewMemory, pinned: MemoryRecord) -> None:
    """Keep a version beside a pinned one, as the pipeline does."""

    def work(r: Repositories) -> None:
        row = r.memories.add(scope, scope.profile("agent"), proposal)
        r.memories.retire(scope, row.seq, row.updated_at, pinned.seq)

    await memory._store.write(work)


async def live(memory: Memory, scope: Scope) -> dict[str, MemoryRecord]:
    return {row.content: row for row in (await memory.memories(scope, limit=100)).items}


async def cited(memory: Memory, scope: Scope, row: MemoryRecord) -> list[str]:
    return [message.content for message in (await memory.trace(scope, row.memory_id)).messages]


async def test_undoing_a_correction_brings_the_old_words_back_as_a_new_version(
    open_memory: Open, scope: Scope, clock: FakeClock
) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA)
        old = (await live(memory, scope))[TEA]
        clock.advance(60)
        wrong = await memory.update_memory(scope, old.memory_id, "Lin drinks gin", scene_name="bars")
        clock.advance(60)

        (again,) = await memory.undo(scope, old.memory_id)

        assert (again.memory_id, again.version, again.content, again.origin) == (old.memory_id, 2, TEA, "human")
        for name in ("type", "priority", "scene_name", "applies_to", "slot", "task_id", "created_at"):
            assert getattr(again, name) == getattr(old, name)
        assert again.updated_at == clock.now()
        assert await live(memory, scope) == {TEA: again}
        assert (await memory.search(scope, "gin")).hits == ()
        assert [hit.item for hit in (await memory.search(scope, "green tea")).hits] == [again]
        retired = (await memory.history(scope, old.memory_id))[1].memory
        assert (retired.seq, retired.superseded_by) == (wrong.seq, again.seq)


async def test_undoing_an_undo_brings_the_change_back(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA)
        memory_id = (await live(memory, scope))[TEA].memory_id
        await memory.update_memory(scope, memory_id, "Lin drinks gin")

        contents = [[row.content for row in await memory.undo(scope, memory_id)] for _ in range(3)]

        assert contents == [[TEA], ["Lin drinks gin"], [TEA]]
        assert [one.memory.version for one in await memory.history(scope, memory_id)] == [4, 3, 2, 1, 0]


async def test_a_merge_comes_apart_into_what_it_was_made_of_and_can_be_made_whole_again(
    open_memory: Open, scope: Scope, clock: FakeClock
) -> None:
    async with open_memory(distiller=Joining()) as memory:
        await say(memory, scope, TEA, COFFEE)
        parts = await live(memory, scope)
        clock.advance(60)
        await say(memory, scope, BOTH)
        whole = (await live(memory, scope))[BOTH]
        assert await cited(memory, scope, whole) == [TEA, COFFEE, BOTH]
        clock.advance(60)

        restored = await memory.undo(scope, whole.memory_id)

        assert [row.memory_id for row in restored] == [parts[TEA].memory_id, parts[COFFEE].memory_id]
        assert {row.content: row.version for row in restored} == {TEA: 1, COFFEE: 1}
        assert set(await live(memory, scope)) == {TEA, COFFEE}
        # What was said to bring the merge about is no evidence for its parts; it stays with the merge.
        assert [await cited(memory, scope, row) for row in restored] == [[TEA], [COFFEE]]
        (gone,) = [
            one for one in await memory.history(scope, whole.memory_id) if one.memory.memory_id == whole.memory_id
        ]
        assert len(gone.message_ids) == 3

        (joined,) = await memory.undo(scope, parts[TEA].memory_id)

        assert (joined.memory_id, joined.content, joined.version) == (whole.memory_id, BOTH, 1)
        assert await live(memory, scope) == {BOTH: joined}
        assert await cited(memory, scope, joined) == [TEA, COFFEE, BOTH]
        assert {row.content for row in await memory.undo(scope, whole.memory_id)} == {TEA, COFFEE}


async def test_a_merge_is_made_whole_again_from_whichever_part(open_memory: Open, scope: Scope) -> None:
    async with open_memory(distiller=Joining()) as memory:
        await say(memory, scope, TEA, COFFEE)
        parts = await live(memory, scope)
        await say(memory, scope, BOTH)
        await memory.undo(scope, (await live(memory, scope))[BOTH].memory_id)

        await memory.undo(scope, parts[COFFEE].memory_id)

        assert set(await live(memory, scope)) == {BOTH}


async def test_a_merge_is_not_made_whole_over_a_part_that_has_changed_since(open_memory: Open, scope: Scope) -> None:
    async with open_memory(distiller=Joining()) as memory:
        await say(memory, scope, TEA, COFFEE)
        parts = await live(memory, scope)
        await say(memory, scope, BOTH)
        await memory.undo(scope, (await live(memory, scope))[BOTH].memory_id)
        await memory.update_memory(scope, parts[COFFEE].memory_id, "Lin drinks no coffee")
        before = await live(memory, scope)

        with pytest.raises(Conflict, match="changed since"):
            await memory.undo(scope, parts[TEA].memory_id)

        assert await live(memory, scope) == before


async def test_what_never_took_anothers_place_cannot_be_undone(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA, COFFEE)
        before = await live(memory, scope)

        for row in before.values():
            with pytest.raises(Conflict, match="nothing to undo"):
                await memory.undo(scope, row.memory_id)

        assert await live(memory, scope) == before


async def test_what_was_only_proposed_is_not_what_an_undo_brings_back(
    open_memory: Open, scope: Scope, new_memory: Callable[..., Any]
) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA)
        memory_id = (await live(memory, scope))[TEA].memory_id
        pinned = await memory.update_memory(scope, memory_id, "Lin drinks oolong")
        await propose(memory, scope, new_memory("Lin drinks gin", metadata={"proposal": True}), pinned)

        assert [row.content for row in await memory.undo(scope, memory_id)] == [TEA]


async def test_what_has_been_said_again_meanwhile_does_not_stand_twice(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA)
        memory_id = (await live(memory, scope))[TEA].memory_id
        await memory.update_memory(scope, memory_id, "Lin drinks gin")
        await memory.add(scope, "s2", [MessageInput("user", TEA)])
        await memory.flush(scope)
        assert len(await live(memory, scope)) == 2

        (again,) = await memory.undo(scope, memory_id)

        assert (await memory.memories(scope)).items == (again,)
        assert await cited(memory, scope, again) == [TEA, TEA]


async def test_an_undo_is_told_to_the_scenes(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA)
        memory_id = (await live(memory, scope))[TEA].memory_id
        await memory.update_memory(scope, memory_id, "Lin drinks gin")
        await memory.flush(scope)

        await memory.undo(scope, memory_id)

        status = await memory.status(scope)
        assert (status.layers["l2"].pending, status.layers["l2"].state) == (1, "waiting")
        await memory.flush(scope)
        scene = await memory.read_scene(scope, "notes.md")
        assert scene is not None
        assert scene.body == f"- {TEA}"


async def test_only_its_owner_takes_a_change_back(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA)
        memory_id = (await live(memory, scope))[TEA].memory_id
        await memory.update_memory(scope, memory_id, "Lin drinks gin")
        before = await live(memory, scope)

        for stranger, error in (
            (replace(scope, user="max"), Forbidden),
            (replace(scope, agent="bot"), Forbidden),
            (replace(scope, team="other"), NotFound),
            (replace(scope, instance="other"), NotFound),
        ):
            with pytest.raises(error):
                await memory.undo(stranger, memory_id)
        with pytest.raises(NotFound):
            await memory.undo(scope, "m_unknown")

        assert await live(memory, scope) == before


async def test_what_was_deleted_does_not_come_back_by_an_undo(open_memory: Open, scope: Scope) -> None:
    """Invariant 10."""
    async with open_memory() as memory:
        await say(memory, scope, TEA)
        memory_id = (await live(memory, scope))[TEA].memory_id
        await memory.update_memory(scope, memory_id, "Lin drinks gin")

        await memory.delete_memories(scope, [memory_id])

        with pytest.raises(NotFound):
            await memory.undo(scope, memory_id)


async def test_a_merge_that_was_taken_apart_goes_with_any_of_its_parts(open_memory: Open, scope: Scope) -> None:
    """Invariant 10: it quotes all of them."""
    async with open_memory(distiller=Joining()) as memory:
        await say(memory, scope, TEA, COFFEE)
        parts = await live(memory, scope)
        await say(memory, scope, BOTH)
        whole = (await live(memory, scope))[BOTH]
        await memory.undo(scope, whole.memory_id)

        assert (await memory.delete_memories(scope, [parts[COFFEE].memory_id])).memories == 1

        assert set(await live(memory, scope)) == {TEA}
        assert [one.memory.content for one in await memory.history(scope, parts[TEA].memory_id)] == [TEA]
        for gone in (whole.memory_id, parts[COFFEE].memory_id):
            with pytest.raises(NotFound):
                await memory.history(scope, gone)
        with pytest.raises(Conflict):
            await memory.undo(scope, parts[TEA].memory_id)


async def test_a_scene_is_restored_with_its_text_its_summary_and_the_heat_of_today(
    open_memory: Open, scope: Scope, clock: FakeClock
) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA)
        first = await memory.read_scene(scope, "notes.md")
        assert first is not None
        await say(memory, scope, COFFEE)
        clock.advance(60)

        again = await memory.restore_scene(scope, "notes.md", first.version)

        assert (again.version, again.body, again.summary, again.origin) == (3, first.body, first.summary, "human")
        assert (again.heat, again.created_at, again.updated_at) == (2, first.created_at, clock.now())
        assert await memory.read_scene(scope, "notes.md") == again
        supports = (await memory.trace_scene(scope, "notes.md")).supports
        assert [one.memory.content for one in supports] == [TEA]


async def test_a_removed_scene_comes_back_with_the_heat_that_it_had(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA, COFFEE)
        await memory.remove_scene(scope, "notes.md")
        assert [one.valid_to is None for one in await memory.scene_history(scope, "notes.md")] == [False, False]

        again = await memory.restore_scene(scope, "notes.md", 2)

        assert (again.version, again.heat) == (3, 2)
        assert await memory.scenes(scope) == (again,)


async def test_the_portrait_is_restored(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA)
        first = await memory.persona(scope)
        assert first is not None
        await memory.write_persona(scope, "Somebody else.")

        again = await memory.restore_persona(scope, first.version)

        assert (again.version, again.body, again.origin) == (3, first.body, "human")
        evidence = await memory.trace_persona(scope)
        assert [one.memory.content for one in evidence.supports] == [TEA]


async def test_a_version_that_never_was_cannot_be_restored(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA)

        for version in (0, 2, 2**53 - 1):
            with pytest.raises(NotFound, match="has no version"):
                await memory.restore_scene(scope, "notes.md", version)
            with pytest.raises(NotFound, match="has no version"):
                await memory.restore_persona(scope, version)
        with pytest.raises(NotFound, match="no such document"):
            await memory.restore_scene(scope, "unknown.md", 1)
        for stranger in (replace(scope, agent="bot"), replace(scope, instance="other")):
            with pytest.raises(NotFound, match="no such document"):
                await memory.restore_scene(stranger, "notes.md", 1)
            with pytest.raises(NotFound, match="no such document"):
                await memory.restore_persona(stranger, 1)
        with pytest.raises(InvalidRequest):
            await memory.restore_scene(scope, "../notes.md", 1)
