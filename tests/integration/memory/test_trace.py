"""Why something is remembered, how it was made, and what was there before; for its own scope and nobody else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import pytest

from memstrata.distill.protocol import Decision, Decisions, Extraction, MessageBatch, Poison, ResolveRequest, Retry
from memstrata.errors import Forbidden, InvalidRequest, NotFound
from memstrata.memory import Memory, MessageInput
from memstrata.records import (
    DocumentKind,
    Layer,
    MemoryRecord,
    NewMemory,
    PromptRef,
    Provenance,
    RunOutput,
    RunRecord,
    Scope,
    VersionRef,
)
from memstrata.store.protocol import Repositories
from memstrata.testing import EchoDistiller, FakeClock

Open = Callable[..., AbstractAsyncContextManager[Memory]]
TEA, COFFEE, BOTH = "Lin drinks green tea", "Lin drinks black coffee", "Both: Lin drinks green tea and black coffee"
MADE = Provenance("scripted-1", "work", PromptRef("mp-1", 2, "team"), notes=("d2 refused: cites nothing",))


class Joining(EchoDistiller):
    """Joins all that is there when a statement begins with "Both"; says which model and prompt it used, and why."""

    async def extract(self, batch: MessageBatch) -> Extraction | Retry | Poison:
        found = await super().extract(batch)
        assert isinstance(found, Extraction)
        return replace(found, drafts=tuple(replace(draft, slot="drinks") for draft in found.drafts), provenance=MADE)

    async def resolve(self, request: ResolveRequest) -> Decisions | Retry | Poison:
        targets = tuple(row.seq for row in request.pool)
        return Decisions(
            tuple(
                Decision("merge", draft, targets, note="one statement of both")
                if draft.content.startswith("Both")
                else Decision("store", draft)
                for draft in request.drafts
            )
        )


async def say(memory: Memory, scope: Scope, *texts: str, session: str = "s1") -> None:
    for text in texts:
        await memory.add(scope, session, [MessageInput("user", text)])
        await memory.flush(scope)


async def live(memory: Memory, scope: Scope) -> dict[str, MemoryRecord]:
    return {row.content: row for row in (await memory.memories(scope, limit=100)).items}


async def propose(memory: Memory, scope: Scope, proposal: NewMemory, pinned: MemoryRecord) -> None:
    """Keep a version beside a pinned one, as the pipeline does."""

    def work(r: Repositories) -> None:
        row = r.memories.add(scope, scope.profile("agent"), proposal)
        r.memories.retire(scope, row.seq, row.updated_at, pinned.seq)

    await memory._store.write(work)


async def write_with_a_model(memory: Memory, scope: Scope, document: Any, kind: DocumentKind) -> None:
    """Write a document and the run that made it."""
    profile = scope.profile("agent")

    def work(r: Repositories) -> None:
        row = r.profiles.write(profile, document)
        layer: Layer = "l2" if kind == "scene" else "l3"
        output = RunOutput(layer, row.seq, "write", document.memory_seqs, note="told anew")
        run = RunRecord(layer, "items", 0, 0, 1, 0, "model", 1, 2, provenance=MADE, outputs=(output,))
        r.jobs.record(r.profiles.ensure(profile), run)

    await memory._store.write(work)


async def test_a_history_tells_every_version_and_those_that_it_absorbed(
    open_memory: Open, scope: Scope, clock: FakeClock
) -> None:
    async with open_memory(distiller=Joining()) as memory:
        await say(memory, scope, TEA, COFFEE)
        parts, began = await live(memory, scope), clock.now()
        clock.advance(60)
        await say(memory, scope, BOTH)
        whole = (await live(memory, scope))[BOTH]
        clock.advance(60)
        corrected = await memory.update_memory(scope, whole.memory_id, "Lin drinks only tea")

        history = await memory.history(scope, whole.memory_id)

        assert [one.memory.content for one in history] == ["Lin drinks only tea", BOTH, COFFEE, TEA]
        newest, merged, *absorbed = history
        assert (newest.memory, newest.superseded_by, newest.derivations) == (corrected, None, ())
        assert (newest.memory.origin, len(newest.message_ids)) == ("human", 3)
        assert merged.superseded_by == VersionRef(whole.memory_id, 1)
        assert (merged.memory.updated_at, merged.memory.valid_to) == (began + 60_000, began + 120_000)
        assert {one.superseded_by for one in absorbed} == {VersionRef(whole.memory_id, 0)}
        assert [len(one.message_ids) for one in absorbed] == [1, 1]
        assert not any(one.proposal for one in history)
        # What was merged away tells by its old id what it became.
        (old,) = await memory.history(scope, parts[TEA].memory_id)
        assert (old.memory.content, old.superseded_by) == (TEA, VersionRef(whole.memory_id, 0))


async def test_a_history_tells_by_which_model_and_prompt_a_version_was_made_and_why(
    open_memory: Open, scope: Scope
) -> None:
    async with open_memory(distiller=Joining()) as memory:
        await say(memory, scope, TEA, COFFEE, BOTH)
        whole = (await live(memory, scope))[BOTH]

        (made,) = (await memory.history(scope, whole.memory_id))[0].derivations

        assert (made.subject, made.action, made.note) == (
            VersionRef(whole.memory_id, 0),
            "merge",
            "one statement of both",
        )
        assert (made.model, made.mode, made.prompt) == ("scripted-1", "work", PromptRef("mp-1", 2, "team"))
        assert "d2 refused: cites nothing" in made.notes
        evidence = await memory.trace(scope, whole.memory_id)
        assert evidence.derivations[0] == made
        assert [one.action for one in evidence.derivations] == ["merge", "store", "store"]


async def test_evidence_that_joined_later_is_in_the_history_too(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA)
        await say(memory, scope, TEA, session="s2")
        (row,) = (await live(memory, scope)).values()

        (version,) = await memory.history(scope, row.memory_id)

        assert [one.action for one in version.derivations] == ["support", "store"]
        assert len(version.message_ids) == 2


async def test_what_was_only_proposed_is_marked_and_replaced_nothing(
    open_memory: Open, scope: Scope, new_memory: Callable[..., Any]
) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA)
        memory_id = (await live(memory, scope))[TEA].memory_id
        pinned = await memory.update_memory(scope, memory_id, "Lin drinks oolong")
        await propose(memory, scope, new_memory("Lin drinks gin", metadata={"proposal": True}), pinned)

        history = await memory.history(scope, memory_id)

        assert {one.memory.content: one.proposal for one in history} == {
            "Lin drinks gin": True,
            "Lin drinks oolong": False,
            TEA: False,
        }
        assert [row.content for row in (await memory.trace(scope, memory_id)).replaced] == [TEA]


async def test_the_mark_of_a_proposal_on_a_version_that_held_means_nothing(
    open_memory: Open, scope: Scope, clock: FakeClock, new_memory: Callable[..., Any]
) -> None:
    async with open_memory(enabled=False) as memory:
        marked = new_memory(TEA, metadata={"proposal": True}, updated_at=clock.now())
        await memory._store.write(lambda r: r.memories.add(scope, scope.profile("agent"), marked))
        clock.advance(60)
        await memory.update_memory(scope, marked.memory_id, "Lin drinks gin")

        assert [one.proposal for one in await memory.history(scope, marked.memory_id)] == [False, False]


async def test_a_scene_is_traced_to_its_memories_and_their_messages(
    open_memory: Open, scope: Scope, new_document: Callable[..., Any]
) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA, COFFEE)
        seqs = tuple(row.seq for row in (await live(memory, scope)).values())
        await write_with_a_model(memory, scope, new_document("drinks.md", "## Drinks", memory_seqs=seqs), "scene")

        evidence = await memory.trace_scene(scope, "drinks.md")

        assert evidence.scene.body == "## Drinks"
        told = {one.memory.content: [message.content for message in one.messages] for one in evidence.supports}
        assert told == {TEA: [TEA], COFFEE: [COFFEE]}
        (made,) = evidence.derivations
        assert (made.subject, made.model, made.note) == (VersionRef("drinks.md", 1), "scripted-1", "told anew")
        with pytest.raises(NotFound):
            await memory.trace_scene(scope, "unknown.md")
        with pytest.raises(InvalidRequest):
            await memory.trace_scene(scope, "../drinks.md")


async def test_the_portrait_is_traced_to_scenes_memories_and_messages_and_a_line_to_what_supports_it(
    open_memory: Open, scope: Scope, new_document: Callable[..., Any]
) -> None:
    async with open_memory() as memory:
        await say(memory, scope, TEA, "Lin works in Porto")
        rows = await live(memory, scope)
        scene = new_document("drinks.md", "## Drinks", memory_seqs=(rows[TEA].seq,))
        await write_with_a_model(memory, scope, scene, "scene")
        seqs = tuple(row.seq for row in rows.values())
        portrait = new_document("persona.md", "- likes tea\n- plays chess", kind="persona", memory_seqs=seqs)
        await write_with_a_model(memory, scope, portrait, "persona")

        whole = await memory.trace_persona(scope)
        line = await memory.trace_persona(scope, "- likes tea")
        unfounded = await memory.trace_persona(scope, "- plays chess")

        assert {one.memory.content for one in whole.supports} == {TEA, "Lin works in Porto"}
        assert {one.path for one in whole.scenes} == {"notes.md", "drinks.md"}
        assert [(one.subject, one.model) for one in whole.derivations] == [
            (VersionRef("persona.md", whole.persona.version), "scripted-1")
        ]
        assert [(one.memory.content, one.messages[0].content) for one in line.supports] == [(TEA, TEA)]
        assert (line.line, unfounded.supports, unfounded.scenes) == ("- likes tea", (), ())


async def test_a_portrait_that_a_person_wrote_rests_on_nothing_and_says_so(open_memory: Open, scope: Scope) -> None:
    async with open_memory(enabled=False) as memory:
        with pytest.raises(NotFound):
            await memory.trace_persona(scope)
        assert await memory.persona_history(scope) == ()

        await memory.write_persona(scope, "Lin drinks tea.")

        evidence = await memory.trace_persona(scope, "Lin drinks tea.")
        assert (evidence.persona.origin, evidence.supports, evidence.derivations) == ("human", (), ())


async def test_documents_have_a_history_with_times_and_what_was_only_proposed(
    open_memory: Open, scope: Scope, clock: FakeClock, new_document: Callable[..., Any]
) -> None:
    async with open_memory(enabled=False) as memory:
        began = clock.now()
        first = new_document("drinks.md", "## Tea", updated_at=began)
        await write_with_a_model(memory, scope, first, "scene")
        await memory.write_scene(scope, "drinks.md", "## By hand")  # in the same instant
        clock.advance(60)
        proposal = new_document("drinks.md", "## Gin", updated_at=clock.now())
        await memory._store.write(lambda r: r.profiles.propose(scope.profile("agent"), proposal))

        history = await memory.scene_history(scope, "drinks.md")

        assert [(one.document.body, one.document.version, one.proposal, one.valid_to) for one in history] == [
            ("## Gin", 3, True, began + 60_000),
            ("## By hand", 2, False, None),
            ("## Tea", 1, False, began),
        ]
        assert [len(one.derivations) for one in history] == [0, 0, 1]
        with pytest.raises(NotFound):
            await memory.scene_history(scope, "unknown.md")


async def test_of_a_scene_and_a_portrait_that_users_share_each_sees_what_is_their_own(
    open_memory: Open, scope: Scope
) -> None:
    """Invariant 4: the documents belong to the agent, what they rest on to its users."""
    max_scope = replace(scope, user="max")
    async with open_memory() as memory:
        await say(memory, scope, TEA)
        await say(memory, max_scope, COFFEE)

        for who, own in ((scope, TEA), (max_scope, COFFEE)):
            scene = await memory.trace_scene(who, "notes.md")
            persona = await memory.trace_persona(who)
            line = await memory.trace_persona(who, "Lin drinks tea and coffee")
            for supports in (scene.supports, persona.supports, line.supports):
                assert [one.memory.content for one in supports] == [own]
                assert [message.content for one in supports for message in one.messages] == [own]


async def test_no_other_scope_sees_a_history_or_a_trace(open_memory: Open, scope: Scope) -> None:
    """Invariant 4."""
    async with open_memory() as memory:
        await say(memory, scope, TEA)
        memory_id = (await live(memory, scope))[TEA].memory_id

        for stranger, error in (
            (replace(scope, user="max"), Forbidden),
            (replace(scope, agent="bot"), Forbidden),
            (replace(scope, team="other"), NotFound),
            (replace(scope, instance="other"), NotFound),
        ):
            with pytest.raises(error):
                await memory.history(stranger, memory_id)
            with pytest.raises(error):
                await memory.trace(stranger, memory_id)
        for stranger in (replace(scope, agent="bot"), replace(scope, team="other"), replace(scope, instance="other")):
            with pytest.raises(NotFound):
                await memory.trace_scene(stranger, "notes.md")
            with pytest.raises(NotFound):
                await memory.scene_history(stranger, "notes.md")
            with pytest.raises(NotFound):
                await memory.trace_persona(stranger)
            assert await memory.persona_history(stranger) == ()


@pytest.mark.parametrize("by", ["memories", "messages"])
async def test_after_a_deletion_nothing_is_left_in_any_history_or_trace(
    open_memory: Open, scope: Scope, by: str
) -> None:
    """Invariant 10."""
    async with open_memory(distiller=Joining()) as memory:
        await say(memory, scope, "the code is xyzzy", COFFEE)
        parts = await live(memory, scope)
        await say(memory, scope, "Both: the code is xyzzy, and coffee")
        whole = (await live(memory, scope))["Both: the code is xyzzy, and coffee"]
        await memory.update_memory(scope, whole.memory_id, "the code was xyzzy")
        await memory.flush(scope)

        if by == "memories":
            await memory.delete_memories(scope, [whole.memory_id])
        else:
            await memory.delete_messages(scope, session_ids=["s1"])

        for gone in (whole.memory_id, *(row.memory_id for row in parts.values())):
            with pytest.raises(NotFound):
                await memory.history(scope, gone)
            with pytest.raises(NotFound):
                await memory.trace(scope, gone)
        with pytest.raises(NotFound):
            await memory.scene_history(scope, "notes.md")
        with pytest.raises(NotFound):
            await memory.trace_scene(scope, "notes.md")
        assert await memory.persona_history(scope) == ()
