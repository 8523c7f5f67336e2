"""L1: every message reaches it once, whenever it comes; what it writes is checked by code."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import pytest

from memstrata.distill.protocol import Decision, Decisions, Extraction, MessageBatch, ResolveRequest
from memstrata.memory import Memory, MessageInput
from memstrata.records import MemoryDraft, MemoryRecord, NewMemory, Scope
from memstrata.testing import EchoDistiller, FakeClock

Open = Callable[..., AbstractAsyncContextManager[Memory]]
Settled = Callable[[Memory, Scope], Awaitable[None]]
YEAR_2999 = 32_472_144_000_000


def said(text: str, **given: Any) -> MessageInput:
    return MessageInput("user", text, **given)


def fact(number: int) -> str:
    """Return a statement unlike the others: a scene of look-alike lines is refused as debris."""
    return f"fact {number} {hashlib.sha256(str(number).encode()).hexdigest()[:16]}"


async def contents(memory: Memory, scope: Scope) -> list[str]:
    return sorted(m.content for m in (await memory.memories(scope, limit=100)).items)


async def test_every_memory_cites_the_messages_that_it_rests_on(open_memory: Open, scope: Scope) -> None:
    """Invariant 6: every L1 has live L0 sources."""
    async with open_memory() as memory:
        await memory.add(scope, "s1", [said("I live in Lisbon"), MessageInput("assistant", "noted")])
        await memory.flush(scope)

        (found,) = (await memory.memories(scope)).items
        evidence = await memory.trace(scope, found.memory_id)
        assert [(m.role, m.content) for m in evidence.messages] == [("user", "I live in Lisbon")]


async def test_what_is_added_while_l1_runs_is_distilled_next_exactly_once(
    open_memory: Open, scope: Scope, distiller: EchoDistiller, eventually: Callable[..., Awaitable[None]]
) -> None:
    """Invariants 1 and 2, with eight callers at the same time."""
    texts = [fact(number) for number in range(40)]
    async with open_memory() as memory:
        with distiller.paused("extract"):
            await memory.add(scope, "s1", [said("the first fact")])
            await eventually(lambda: distiller.calls["extract"] == 1)
            await asyncio.gather(*(memory.add(scope, "s1", [said(text)]) for text in texts))
        await memory.flush(scope)

        assert sorted(distiller.seen) == sorted(["the first fact", *texts])
        assert await contents(memory, scope) == sorted(["the first fact", *texts])
        assert (await memory.status(scope)).layers["l1"].pending == 0


async def test_what_came_while_l1_ran_has_its_own_turn_without_being_asked_for(
    open_memory: Open,
    scope: Scope,
    clock: FakeClock,
    distiller: EchoDistiller,
    settled: Settled,
    eventually: Callable[..., Awaitable[None]],
) -> None:
    async with open_memory() as memory:
        for session, late in (("s1", ["fact two"]), ("s2", ["fact three", "fact four"])):
            calls = distiller.calls["extract"]
            with distiller.paused("extract"):
                await memory.add(scope, session, [said(f"the first of {session}")])
                await eventually(lambda calls=calls: distiller.calls["extract"] == calls + 1)
                for text in late:
                    await memory.add(scope, session, [said(text)])
            await settled(memory, scope)

        # One round waits for the idle time, two reach the threshold that the first success has set.
        assert distiller.seen == ["the first of s1", "the first of s2", "fact three", "fact four"]
        assert (await memory.status(scope, session_id="s1")).layers["l1"].next_due_at == clock.now() + 600_000


async def test_a_flush_that_waits_for_nothing_reaches_what_came_while_its_session_was_distilled(
    open_memory: Open,
    scope: Scope,
    distiller: EchoDistiller,
    settled: Settled,
    eventually: Callable[..., Awaitable[None]],
) -> None:
    async with open_memory() as memory:
        with distiller.paused("extract"):
            await memory.add(scope, "s1", [MessageInput("user", "the first fact")])
            await eventually(lambda: distiller.calls["extract"] == 1)
            await memory.add(scope, "s1", [MessageInput("user", "said meanwhile")])
            await memory.flush(scope, session_id="s1", wait_seconds=0)
        await settled(memory, scope)

        assert distiller.seen == ["the first fact", "said meanwhile"]


@pytest.mark.parametrize(
    "times",
    [
        pytest.param([0, 0, 0, 0], id="1970"),
        pytest.param([YEAR_2999, YEAR_2999 - 1, 5, YEAR_2999], id="2999"),
        pytest.param([9_000, 8_000, 7_000, 6_000], id="falling"),
        pytest.param([-1, -99_999_999, 0, -5], id="before 1970"),
        pytest.param([None, 5, None, YEAR_2999], id="missing"),
    ],
)
async def test_any_client_time_reaches_l1_exactly_once(
    open_memory: Open, scope: Scope, distiller: EchoDistiller, times: list[int | None]
) -> None:
    """Invariant 2: the cursor compares sequence numbers; what a client calls the time is data."""
    async with open_memory() as memory:
        for number, time in enumerate(times):
            await memory.add(scope, "s1", [said(fact(number), said_at=time, recorded_at=time)])
            await memory.flush(scope)

    assert distiller.seen == [fact(number) for number in range(len(times))]


async def test_a_new_session_is_distilled_after_1_2_4_and_then_every_5_rounds(
    open_memory: Open, scope: Scope, distiller: EchoDistiller, settled: Settled
) -> None:
    runs: list[int] = []
    async with open_memory(every_n=5) as memory:
        for number in range(1, 18):
            await memory.add(scope, "s1", [said(fact(number)), MessageInput("assistant", "noted")])
            await settled(memory, scope)
            if distiller.calls["extract"] > len(runs):
                runs.append(number)

    assert runs == [1, 3, 7, 12, 17]


async def test_without_warm_up_a_session_waits_for_all_its_rounds(
    open_memory: Open, scope: Scope, distiller: EchoDistiller, settled: Settled
) -> None:
    async with open_memory(every_n=3, warmup=False) as memory:
        for number in (1, 2):
            await memory.add(scope, "s1", [said(fact(number))])
        await settled(memory, scope)
        assert distiller.calls["extract"] == 0

        await memory.add(scope, "s1", [said(fact(3))])
        await settled(memory, scope)
        assert distiller.calls["extract"] == 1


async def test_a_quiet_session_is_distilled_after_the_idle_time(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller, settled: Settled
) -> None:
    async with open_memory(l1_idle_seconds=600) as memory:
        await memory.add(scope, "s1", [said("the first fact")])
        await settled(memory, scope)
        await memory.add(scope, "s1", [said("the second fact")])
        clock.advance(300)
        await memory.add(scope, "s1", [MessageInput("assistant", "noted")])
        assert (await memory.status(scope)).layers["l1"].next_due_at == clock.now() + 600_000

        clock.advance(599)
        await settled(memory, scope)
        assert distiller.seen == ["the first fact"]
        clock.advance(1)
        await settled(memory, scope)
        assert distiller.seen == ["the first fact", "the second fact", "noted"]


async def test_a_long_backlog_is_read_in_batches_with_what_stood_before(open_memory: Open, scope: Scope) -> None:
    recorder = Recorder()
    async with open_memory(distiller=recorder, batch_messages=10, background_messages=5) as memory:
        with recorder.paused("extract"):
            await memory.add(scope, "s1", [said(fact(number)) for number in range(23)])
        await memory.flush(scope)

    assert [len(batch.messages) for batch in recorder.batches] == [10, 10, 3]
    assert [len(batch.background) for batch in recorder.batches] == [0, 5, 5]
    assert [m.content for m in recorder.batches[1].background] == [fact(n) for n in range(5, 10)]
    assert [batch.previous_scene for batch in recorder.batches] == ["", "notes", "notes"]


async def test_what_is_not_worth_reading_moves_the_cursor_without_a_model_call(
    open_memory: Open, scope: Scope, distiller: EchoDistiller
) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", [said("ok"), MessageInput("assistant", "好的")])
        status = await memory.flush(scope)

    assert status.layers["l1"].pending == 0
    assert status.layers["l1"].last_outcome == "nothing"
    assert distiller.calls["extract"] == 0


async def test_a_statement_that_is_repeated_gains_support_instead_of_a_twin(open_memory: Open, scope: Scope) -> None:
    """Invariant 6: sources are united by code, and the exact gate needs no model."""
    async with open_memory() as memory:
        await memory.add(scope, "s1", [said("I drink green tea")])
        await memory.flush(scope)
        await memory.add(scope, "s2", [said("i drink  green tea")])
        await memory.flush(scope)

        (found,) = (await memory.memories(scope)).items
        assert found.version == 0
        evidence = await memory.trace(scope, found.memory_id)
        assert {m.session_id for m in evidence.messages} == {"s1", "s2"}


async def test_a_memory_belongs_to_the_task_that_its_messages_belong_to(open_memory: Open, scope: Scope) -> None:
    async with open_memory(warmup=False, every_n=50) as memory:
        await memory.add(scope, "s1", [said("the roof is red")], task_id="roof")
        await memory.add(scope, "s1", [said("the door is blue")], task_id="door")
        await memory.flush(scope)

        by_task = {m.content: m.task_id for m in (await memory.memories(scope)).items}
    assert by_task == {"the roof is red": "roof", "the door is blue": "door"}


async def test_drafts_are_held_to_their_batch_and_to_the_limits(open_memory: Open, scope: Scope) -> None:
    """Invariants 4 and 7: no foreign evidence, no discarded priority, no priority beyond its bounds."""
    proposer = Proposer()
    stranger = replace(scope, user="max")
    async with open_memory(distiller=proposer) as memory:
        proposer.proposals = lambda batch: []
        await memory.add(stranger, "s1", [said("a secret of another user")])
        await memory.flush(stranger)
        foreign = proposer.shown[0][0].seq

        proposer.proposals = lambda batch: [
            MemoryDraft("cites a stranger", "episodic", 80, (foreign,)),
            MemoryDraft("cites nothing", "episodic", 80, ()),
            MemoryDraft("is not important enough", "episodic", 59, (batch.messages[0].seq,)),
            MemoryDraft("is too important", "episodic", 900, (batch.messages[0].seq, foreign)),
            MemoryDraft("is an absolute order", "instruction", -1, (batch.messages[0].seq,)),
        ]
        await memory.add(scope, "s1", [said("please use metric units")])
        await memory.flush(scope)

        kept = {m.content: m for m in (await memory.memories(scope)).items}
        assert {content: m.priority for content, m in kept.items()} == {
            "is too important": 100,
            "is an absolute order": 90,
        }
        evidence = await memory.trace(scope, kept["is too important"].memory_id)
        assert [m.content for m in evidence.messages] == ["please use metric units"]


async def test_a_decision_reaches_only_what_it_was_shown(open_memory: Open, scope: Scope) -> None:
    """Invariant 5: a model cannot name a target that was not among its candidates, nor one of another scope."""
    proposer = Proposer()
    stranger = replace(scope, user="max")
    async with open_memory(distiller=proposer) as memory:
        await memory.add(stranger, "s1", [said("Max lives in Porto")])
        await memory.flush(stranger)
        await memory.add(scope, "s1", [said("my bicycle is red")])
        await memory.flush(scope)
        (foreign,) = (await memory.memories(stranger)).items
        (unrelated,) = (await memory.memories(scope)).items

        proposer.targets = (foreign.seq, unrelated.seq, 999_999)
        await memory.add(scope, "s1", [said("Lin lives in Lisbon now"), said("she moved last week")])
        await memory.flush(scope)

        assert foreign in (await memory.memories(stranger)).items
        assert "my bicycle is red" in await contents(memory, scope)
        assert {m.version for m in (await memory.memories(scope)).items} == {0}


async def test_an_update_writes_a_new_version_that_unites_the_sources_and_can_be_undone(
    open_memory: Open, scope: Scope
) -> None:
    """Invariants 5, 6 and 7: retiring is soft, age and evidence carry over, and the old text can be brought back."""
    proposer = Proposer()
    async with open_memory(distiller=proposer) as memory:
        await memory.add(scope, "s1", [said("Lin lives in the city of Porto")])
        await memory.flush(scope)
        (old,) = (await memory.memories(scope)).items

        proposer.targets = (old.seq,)
        await memory.add(scope, "s2", [said("Lin lives in the city of Lisbon")])
        await memory.flush(scope)

        (new,) = (await memory.memories(scope)).items
        assert (new.memory_id, new.version, new.created_at) == (old.memory_id, 1, old.created_at)
        assert new.content == "Lin lives in the city of Lisbon"
        evidence = await memory.trace(scope, new.memory_id)
        assert [m.session_id for m in evidence.messages] == ["s1", "s2"]
        assert [(m.content, m.superseded_by) for m in evidence.replaced] == [(old.content, new.seq)]

        undone = await memory.update_memory(scope, new.memory_id, evidence.replaced[0].content)
        assert (undone.content, undone.version) == (old.content, 2)


async def test_what_was_said_last_holds_whichever_session_is_distilled_first(open_memory: Open, scope: Scope) -> None:
    proposer = Proposer()
    async with open_memory(distiller=proposer) as memory:
        await memory.add(scope, "s1", [said("Lin lives in the city of Lisbon", said_at=2_000)])
        await memory.flush(scope)
        (newer,) = (await memory.memories(scope)).items

        proposer.targets = (newer.seq,)
        await memory.add(scope, "imported", [said("Lin lives in the city of Porto", said_at=1_000)])
        await memory.flush(scope)

        assert (await memory.memories(scope)).items == (newer,)
        evidence = await memory.trace(scope, newer.memory_id)
        assert [m.content for m in evidence.replaced] == ["Lin lives in the city of Porto"]


async def test_a_decision_is_made_anew_when_its_slot_was_filled_meanwhile(
    open_memory: Open,
    scope: Scope,
    eventually: Callable[..., Awaitable[None]],
    new_memory: Callable[..., NewMemory],
) -> None:
    proposer = Proposer()
    proposer.draft = {"slot": "residence"}
    async with open_memory(distiller=proposer) as memory:
        with proposer.paused("resolve"):
            await memory.add(scope, "s1", [said("Lin lives in the city of Lisbon")])
            await eventually(lambda: proposer.calls["resolve"] == 1)
            other = new_memory("Lin is at home in Porto", slot="residence")
            await memory._store.write(lambda r: r.memories.add(scope, scope.profile("agent"), other))
        await memory.flush(scope)

        assert proposer.calls["resolve"] == 2
        assert [m.content for m in proposer.candidates[-1]] == ["Lin is at home in Porto"]
        assert len(await contents(memory, scope)) == 2


async def test_two_decisions_cannot_retire_one_memory(open_memory: Open, scope: Scope) -> None:
    """Invariant 5: at most one decision per target."""
    proposer = Proposer()
    async with open_memory(distiller=proposer) as memory:
        await memory.add(scope, "s1", [said("Lin lives in the city of Porto")])
        await memory.flush(scope)
        (old,) = (await memory.memories(scope)).items

        proposer.targets = (old.seq,)
        both = ["Lin lives in the city of Lisbon", "Lin lives in the city of Faro"]
        await memory.add(scope, "s2", [said(text) for text in both])
        await memory.flush(scope)

        assert await contents(memory, scope) == sorted(both)
        assert sorted(m.version for m in (await memory.memories(scope)).items) == [0, 1]


async def test_merging_narrows_what_an_instruction_applies_to(open_memory: Open, scope: Scope) -> None:
    """Invariant 7, DESIGN §5: merging never widens the reach."""
    proposer = Proposer()
    async with open_memory(distiller=proposer) as memory:
        proposer.draft = {"type": "instruction", "priority": 90, "applies_to": "project"}
        await memory.add(scope, "s1", [said("use metric units in the report")])
        await memory.flush(scope)
        (old,) = (await memory.memories(scope)).items

        proposer.targets = (old.seq,)
        proposer.draft = {"type": "instruction", "priority": 90, "applies_to": "always"}
        await memory.add(scope, "s1", [said("use metric units in the report please"), said("and commas")])
        await memory.flush(scope)

        (new,) = [m for m in (await memory.memories(scope)).items if m.version == 1]
        assert new.applies_to == "project"


async def test_what_a_person_corrected_is_not_overwritten(open_memory: Open, scope: Scope) -> None:
    proposer = Proposer()
    async with open_memory(distiller=proposer) as memory:
        await memory.add(scope, "s1", [said("Lin lives in the city of Porto")])
        await memory.flush(scope)
        (old,) = (await memory.memories(scope)).items
        human = await memory.update_memory(scope, old.memory_id, "Lin lives in the city of Braga")

        proposer.targets = (human.seq,)
        await memory.add(scope, "s2", [said("Lin lives in the city of Faro")])
        await memory.flush(scope)

        assert (await memory.memories(scope)).items == (human,)


async def test_a_target_that_a_person_corrects_meanwhile_is_left_alone(
    open_memory: Open, scope: Scope, eventually: Callable[..., Awaitable[None]]
) -> None:
    proposer = Proposer()
    async with open_memory(distiller=proposer) as memory:
        await memory.add(scope, "s1", [said("Lin lives in the city of Porto")])
        await memory.flush(scope)
        (old,) = (await memory.memories(scope)).items
        proposer.targets = (old.seq,)
        with proposer.paused("resolve"):
            await memory.add(scope, "s2", [said("Lin lives in the city of Faro")])
            await eventually(lambda: proposer.calls["resolve"] == 2)
            human = await memory.update_memory(scope, old.memory_id, "Lin lives in the city of Braga")
        await memory.flush(scope)

        assert human in (await memory.memories(scope)).items
        assert await contents(memory, scope) == ["Lin lives in the city of Braga", "Lin lives in the city of Faro"]


async def test_messages_deleted_while_l1_reads_them_leave_no_memory(
    open_memory: Open, scope: Scope, distiller: EchoDistiller, eventually: Callable[..., Awaitable[None]]
) -> None:
    """Invariant 10: a deletion reaches what is being distilled."""
    async with open_memory() as memory:
        with distiller.paused("extract"):
            await memory.add(scope, "s1", [said("a secret", message_id="a"), said("no secret", message_id="b")])
            await eventually(lambda: distiller.calls["extract"] == 1)
            await memory.delete_messages(scope, message_ids=["a"])
        await memory.flush(scope)
        assert await contents(memory, scope) == ["no secret"]


async def test_a_deleted_memory_comes_back_from_new_messages_only(
    open_memory: Open, scope: Scope, distiller: EchoDistiller, settled: Settled
) -> None:
    """Invariant 10: a tombstone stops re-extraction from what was said before the deletion."""
    async with open_memory() as memory:
        await memory.add(scope, "s1", [said("I drink green tea")])
        await settled(memory, scope)
        await memory.add(scope, "s1", [said("I drink green tea")])  # waits for a second round
        (found,) = (await memory.memories(scope)).items
        deletion = await memory.delete_memories(scope, [found.memory_id])
        assert (deletion.memories, deletion.messages) == (1, 0)

        await memory.flush(scope)
        assert distiller.seen == ["I drink green tea"] * 2
        assert await contents(memory, scope) == []

        await memory.add(scope, "s1", [said("I drink green tea")])
        await memory.flush(scope)
        assert await contents(memory, scope) == ["I drink green tea"]


async def test_a_stop_distills_what_waits(open_memory: Open, scope: Scope, distiller: EchoDistiller) -> None:
    async with open_memory(warmup=False) as memory:
        await memory.add(scope, "s1", [said("the last word")])

    assert distiller.seen == ["the last word"]


async def test_lost_jobs_are_set_again_at_the_start(
    open_memory: Open, scope: Scope, distiller: EchoDistiller, settled: Settled
) -> None:
    """Invariant 3: work is derived from rows; the sweep at the start rebuilds every lost timer."""
    async with open_memory(enabled=False) as memory:
        await memory.add(scope, "s1", [said("a fact")])
        await memory.add(scope, "s2", [said("another fact")])
        await memory._store.write(forget_jobs)
        assert (await memory.status(scope)).jobs == ()

    async with open_memory() as memory:
        await settled(memory, scope)
        assert sorted(distiller.seen) == ["a fact", "another fact"]
        l2 = (await memory.status(scope)).layers["l2"]
        assert (l2.state, l2.pending) == ("waiting", 2)
        await memory._store.write(forget_jobs)

    async with open_memory() as memory:
        assert (await memory.status(scope)).layers["l2"].state == "waiting"


def forget_jobs(r: Any) -> None:
    """Lose every timer, as a database restored from half a backup would."""
    r.jobs._db.execute("DELETE FROM jobs")


class Recorder(EchoDistiller):
    """Keeps the batches that it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[MessageBatch] = []

    async def extract(self, batch: MessageBatch) -> Any:
        answer = await super().extract(batch)
        self.batches.append(batch)
        return answer


class Proposer(EchoDistiller):
    """Proposes what a test tells it to: drafts, or updates of given memories."""

    def __init__(self) -> None:
        super().__init__()
        self.proposals: Callable[[MessageBatch], list[MemoryDraft]] | None = None
        self.targets: tuple[int, ...] = ()
        self.draft: dict[str, Any] = {}
        self.shown: list[tuple[Any, ...]] = []
        self.candidates: list[Sequence[MemoryRecord]] = []

    async def extract(self, batch: MessageBatch) -> Any:
        answer = await super().extract(batch)
        self.shown.append(batch.messages)
        if self.proposals is not None:
            return Extraction(tuple(self.proposals(batch)), "notes")
        if isinstance(answer, Extraction):
            return Extraction(tuple(replace(draft, **self.draft) for draft in answer.drafts), answer.scene_name)
        return answer

    async def resolve(self, request: ResolveRequest) -> Any:
        answer = await super().resolve(request)
        self.candidates += request.candidates
        if self.targets and isinstance(answer, Decisions):
            return Decisions(tuple(Decision("update", draft, self.targets) for draft in request.drafts))
        return answer
