"""L1: a session's next messages become memories.

The cursor moves only together with the memories, in one transaction, after a result; a failure moves nothing. Input
that no model takes whole is halved until it goes; a single message that never does is parked, visible and revivable, so
that the rest of its session goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memstrata.clock import Instant
from memstrata.distill.atoms.apply import Applied, apply_decisions
from memstrata.distill.atoms.candidates import Likeness, near_to
from memstrata.distill.gate import worth_reading
from memstrata.distill.protocol import Decision, Decisions, Extraction, MessageBatch, ResolveRequest
from memstrata.distill.run import StepContext, log_rejected, record_run
from memstrata.distill.validate import ABSOLUTE, Rejected, valid_draft, valid_drafts
from memstrata.errors import LeaseLost
from memstrata.records import (
    CustomPrompt,
    Deferred,
    Divisible,
    Lease,
    MemoryDraft,
    Message,
    Poison,
    PromptTarget,
    Provenance,
    Retry,
    RunOutcome,
    RunRecord,
    SessionTarget,
)
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import SessionProgress
from memstrata.text.language import main_language

__all__ = ["AtomsStep"]

_TRIES = 5  # decisions made in view of memories that changed meanwhile are made again


@dataclass(frozen=True, slots=True)
class _Snapshot:
    progress: SessionProgress
    background: tuple[Message, ...]
    messages: tuple[Message, ...]
    custom: CustomPrompt | None
    is_cut: bool = False  # more was waiting and taken, but not all of it is in this run

    def cut_to(self, messages: Sequence[Message]) -> _Snapshot:
        return replace(self, messages=tuple(messages), is_cut=True)


@dataclass(frozen=True, slots=True)
class _Decided:
    decisions: Decisions
    shown: frozenset[int]  # every memory that the decisions were made in view of


class AtomsStep:
    """The handler of `l1` jobs."""

    def __init__(self, context: StepContext) -> None:
        self._context = context

    async def __call__(self, lease: Lease) -> Retry | Poison | None:
        """Distill the next batch of the lease's session; anew if messages are deleted while they are read."""
        for _ in range(_TRIES):
            outcome = await self._distilled(lease)
            if outcome != "gone":
                return outcome
        return Retry("messages kept being deleted while they were read")

    async def _distilled(self, lease: Lease) -> Retry | Poison | Literal["gone"] | None:
        target = lease.target
        assert isinstance(target, SessionTarget)
        context = self._context
        started = context.clock.now()
        snapshot = await context.store.read(lambda r: self._snapshot(r, target))
        if not snapshot.messages:
            await context.store.write(lambda r: self._nothing_left(r, lease, target))
            return None
        extraction = await self._extract(target, snapshot)
        tries = [extraction.provenance]
        while isinstance(extraction, Divisible) and len(snapshot.messages) > 1:
            snapshot = snapshot.cut_to(snapshot.messages[: len(snapshot.messages) // 2])
            extraction = await self._extract(target, snapshot)
            tries.append(extraction.provenance)
        extraction = replace(extraction, provenance=sum(tries[1:], tries[0]))
        if isinstance(extraction, Divisible):
            refused = extraction
            parked = await context.store.write(lambda r: self._park(r, lease, target, snapshot, refused, started))
            return None if parked else "gone"
        if not isinstance(extraction, Extraction):
            return extraction
        batch = self._batch(target, snapshot)
        review = valid_drafts(extraction.drafts, batch)
        log_rejected("l1", lease, review.rejected)
        made = extraction.provenance + Provenance(
            notes=tuple(f"{one.subject}: {one.reason}" for one in review.rejected)
        )
        for _ in range(_TRIES):
            decided = await self._decide(review.kept, batch, lease)
            if not isinstance(decided, _Decided):
                return replace(decided, provenance=made + decided.provenance)
            made += decided.decisions.provenance
            committed = await self._try_to_commit(
                lease, target, snapshot, decided, extraction.scene_name, made, started
            )
            if committed != "changed":
                return None if committed == "done" else "gone"
        return Retry("other sessions kept changing the memories that this one was compared with", provenance=made)

    async def _extract(self, target: SessionTarget, snapshot: _Snapshot) -> Extraction | Retry | Poison:
        batch = self._batch(target, snapshot)
        if any(worth_reading(message) for message in batch.messages):
            return await self._context.distiller.extract(batch)
        return Extraction((), batch.previous_scene)

    def _batch(self, target: SessionTarget, snapshot: _Snapshot) -> MessageBatch:
        return MessageBatch(
            target.scope,
            target.session_id,
            snapshot.progress.scene_name,
            snapshot.background,
            snapshot.messages,
            self._context.user_name(target.scope),
            snapshot.custom,
        )

    async def _decide(
        self, drafts: tuple[MemoryDraft, ...], batch: MessageBatch, lease: Lease
    ) -> _Decided | Retry | Poison:
        """Decide about the drafts. Equal words need no model: what is stored already is only supported once more."""
        context, scope = self._context, batch.scope
        likeness = Likeness(context.terms, batch.user_name)
        near = await asyncio.gather(
            *(near_to(context.store, context.finder, scope, draft, likeness) for draft in drafts)
        )
        known = tuple(
            Decision("skip", draft, (one.same.seq,)) for draft, one in zip(drafts, near, strict=True) if one.same
        )
        new = tuple(draft for draft, one in zip(drafts, near, strict=True) if not one.same)
        shown = frozenset(row.seq for one in near for row in ([one.same] if one.same else one.rows))
        if not new:
            return _Decided(Decisions(known), shown)
        language = main_language(draft.content for draft in new)
        candidates = tuple(one.rows for one in near if not one.same)
        request = ResolveRequest(scope, language, new, candidates, likeness.pairs(new))
        decisions = await context.distiller.resolve(request)
        if not isinstance(decisions, Decisions):
            if isinstance(decisions, Deferred) or lease.attempt < context.settings.attempts:
                return decisions
            # The last try: what was said is worth more than a tidy store, so it is kept beside what it resembles.
            note = f"stored without comparison: {decisions.reason}"
            unresolved = tuple(Decision("store", draft, note=note) for draft in new)
            decisions = Decisions(unresolved, decisions.provenance + Provenance(notes=(note,)))
        checked = _checked(_only_shown(decisions, shown), request, batch)
        return _Decided(replace(checked, items=(*known, *checked.items)), shown)

    async def _try_to_commit(
        self,
        lease: Lease,
        target: SessionTarget,
        snapshot: _Snapshot,
        decided: _Decided,
        scene_name: str,
        made: Provenance,
        started: Instant,
    ) -> Literal["done", "changed", "gone"]:
        """Commit, unless the memories that were compared changed: one of a slot in question came, or one was deleted.

        Nor if a message was deleted that the distiller has read (invariant 10): any of its drafts may quote it.
        """
        profile = target.scope.profile(self._context.profile_scope)

        def work(r: Repositories) -> Literal["done", "changed", "gone"]:
            r.jobs.hold(lease)
            if not _all_there(r, target, snapshot):
                return "gone"
            if decided.shown - r.profiles.known(profile, decided.shown) or any(
                row.seq not in decided.shown
                for decision in decided.decisions.items
                for row in r.memories.by_slot(target.scope, decision.draft.slot)
            ):
                return "changed"
            self._commit(r, lease, target, snapshot, decided.decisions, scene_name, made, started)
            return "done"

        return await self._context.store.write(work)

    def _snapshot(self, r: Repositories, target: SessionTarget) -> _Snapshot:
        settings, scope = self._context.settings, target.scope
        messages = r.conversations.undistilled(target, settings.batch_messages)
        background: tuple[Message, ...] = ()
        if messages:
            background = r.conversations.before(target, messages[0].seq, settings.background_messages)
        custom = r.prompts.effective(PromptTarget(scope.instance, scope.team, scope.agent), "l1")
        return _Snapshot(r.conversations.progress(target, settings.every_n), background, messages, custom)

    def _commit(
        self,
        r: Repositories,
        lease: Lease,
        target: SessionTarget,
        snapshot: _Snapshot,
        decisions: Decisions,
        scene_name: str,
        made: Provenance,
        started: Instant,
    ) -> None:
        context = self._context
        now = self._hold(r, lease, target, snapshot)
        profile = target.scope.profile(context.profile_scope)
        seqs = [message.seq for message in snapshot.messages]
        applied = apply_decisions(r, target, profile, decisions, seqs, context, now)
        r.conversations.advance(target, seqs[-1], context.planner.warmed_up(snapshot.progress.warmup), scene_name)
        r.conversations.unpark(target, seqs)
        if context.distiller.origin == "rules":
            r.conversations.distilled_by_rules(target, seqs[0])
        record_run(r, target, self._run(snapshot, applied, made, started, now))
        self._plan_next(r, lease, target, snapshot, now)
        state = r.profiles.state(profile)
        due = context.planner.next_l2(state, now) if state else None
        if due is not None:
            r.jobs.arm("l2", r.profiles.ensure(profile), due, only_earlier=True)

    def _park(
        self,
        r: Repositories,
        lease: Lease,
        target: SessionTarget,
        snapshot: _Snapshot,
        refused: Divisible,
        started: Instant,
    ) -> bool:
        """Put the one message of the snapshot aside and let the session go on; False if it was deleted meanwhile."""
        now = self._hold(r, lease, target, snapshot)
        if not _all_there(r, target, snapshot):
            return False
        (message,) = snapshot.messages
        r.conversations.park(target, message.seq, refused.reason, now)
        r.conversations.advance(target, message.seq, snapshot.progress.warmup, snapshot.progress.scene_name)
        origin = self._context.distiller.origin
        r.jobs.record(
            target,
            RunRecord(
                "l1", "poison", message.seq, message.seq, 0, 0, origin, started, now, refused.reason, refused.provenance
            ),
        )
        self._plan_next(r, lease, target, snapshot, now)
        return True

    def _hold(self, r: Repositories, lease: Lease, target: SessionTarget, snapshot: _Snapshot) -> Instant:
        """Prove that the job is still ours and the session where we found it."""
        r.jobs.hold(lease)
        if r.conversations.progress(target, 1).cursor != snapshot.progress.cursor:
            raise LeaseLost(f"session {target.key} was distilled by somebody else")
        return self._context.clock.now()

    def _nothing_left(self, r: Repositories, lease: Lease, target: SessionTarget) -> None:
        r.jobs.hold(lease)
        progress = r.conversations.progress(target, self._context.settings.every_n)
        r.jobs.finish(lease, self._context.planner.next_l1(progress, self._context.clock.now()))

    def _plan_next(
        self, r: Repositories, lease: Lease, target: SessionTarget, snapshot: _Snapshot, now: Instant
    ) -> None:
        """End this job, or set it again for what is left of this batch or came meanwhile: both are read from the rows."""
        progress = r.conversations.progress(target, self._context.settings.every_n)
        due = self._context.planner.next_l1(progress, now)
        r.jobs.finish(lease, now if due is not None and snapshot.is_cut else due)

    def _run(
        self, snapshot: _Snapshot, applied: Applied, made: Provenance, started: Instant, now: Instant
    ) -> RunRecord:
        outcome: RunOutcome = "items" if applied.outputs else "nothing"
        first, last = snapshot.messages[0].seq, snapshot.messages[-1].seq
        origin = self._context.distiller.origin
        return RunRecord(
            "l1", outcome, first, last, applied.written, applied.retired, origin, started, now, "", made, applied.outputs
        )  # fmt: skip


def _all_there(r: Repositories, target: SessionTarget, snapshot: _Snapshot) -> bool:
    read = {message.seq for message in (*snapshot.background, *snapshot.messages)}
    return len(r.conversations.by_seq(target.scope, read)) == len(read)


def _only_shown(decisions: Decisions, shown: frozenset[int]) -> Decisions:
    """Return the decisions without targets that were not shown, and with each target decided about once."""
    taken: set[int] = set()
    kept = []
    for decision in decisions.items:
        targets = tuple(seq for seq in decision.target_seqs if seq in shown and seq not in taken)
        if decision.action in ("update", "merge", "revise"):
            taken |= set(targets)
        kept.append(decision.with_targets(targets))
    return replace(decisions, items=tuple(kept))


def _checked(decisions: Decisions, request: ResolveRequest, batch: MessageBatch) -> Decisions:
    """Return the decisions with texts that may be stored: the final ones pass the same validator as the drafts did.

    A draft whose merged text is not fit is stored by itself; a revision that is not is left undone.
    """
    absolute = {row.seq for row in request.pool if row.priority == ABSOLUTE}
    kept = []
    for place, decision in enumerate(decisions.items):
        found = decision.draft if decision.action == "skip" else valid_draft(decision.draft, batch)
        if not isinstance(found, Rejected):
            if decision.draft.priority == ABSOLUTE and absolute.intersection(decision.target_seqs):
                found = replace(found, priority=ABSOLUTE)  # the words that made it so are in the target's own sources
            kept.append(replace(decision, draft=found))
        elif decision.action == "revise":
            kept.append(Decision("skip", decision.draft, note=f"revision refused: {found.reason}"))
        else:
            kept.append(Decision("store", request.drafts[place], note=f"{decision.action} refused: {found.reason}"))
    return replace(decisions, items=tuple(kept))
