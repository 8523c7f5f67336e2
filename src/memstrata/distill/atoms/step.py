"""L1: a session's next messages become memories.

The cursor moves only together with the memories, in one transaction, after a result; a failure moves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.clock import Instant
from memstrata.distill.atoms.apply import Applied, apply_decisions
from memstrata.distill.gate import worth_reading
from memstrata.distill.protocol import Decisions, Extraction, MessageBatch
from memstrata.distill.run import StepContext, log_rejected
from memstrata.distill.validate import valid_drafts
from memstrata.errors import LeaseLost
from memstrata.records import (
    Lease,
    MemoryDraft,
    MemoryRecord,
    Message,
    Poison,
    Retry,
    RunOutcome,
    RunRecord,
    Scope,
    SessionTarget,
)
from memstrata.search import MEMORIES, retrieve
from memstrata.store.protocol import MemoryFilter, Repositories, SessionProgress

__all__ = ["AtomsStep"]

_CANDIDATES = 5
_TRIES = 5  # decisions made in view of memories that changed meanwhile are made again
_SIMILAR = 0.35  # share of a draft's information that a memory must hold to be worth comparing


@dataclass(frozen=True, slots=True)
class _Snapshot:
    progress: SessionProgress
    background: tuple[Message, ...]
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class _Decided:
    decisions: Decisions
    shown: frozenset[int]  # every memory that the decisions were made in view of


class AtomsStep:
    """The handler of `l1` jobs."""

    def __init__(self, context: StepContext) -> None:
        self._context = context

    async def __call__(self, lease: Lease) -> Retry | Poison | None:
        """Distill the next batch of the lease's session."""
        target = lease.target
        assert isinstance(target, SessionTarget)
        context = self._context
        started = context.clock.now()
        snapshot = await context.store.read(lambda r: self._snapshot(r, target))
        if not snapshot.messages:
            await context.store.write(lambda r: self._nothing_left(r, lease, target))
            return None
        batch = MessageBatch(
            target.scope, target.session_id, snapshot.progress.scene_name, snapshot.background, snapshot.messages
        )
        extraction: Extraction | Retry | Poison = Extraction((), batch.previous_scene)
        if any(worth_reading(message) for message in batch.messages):
            extraction = await context.distiller.extract(batch)
        if not isinstance(extraction, Extraction):
            return extraction
        review = valid_drafts(extraction.drafts, batch)
        log_rejected("l1", lease, review.rejected)
        for _ in range(_TRIES):
            decided = await self._decide(review.kept, target.scope)
            if not isinstance(decided, _Decided):
                return decided
            if await self._try_to_commit(lease, target, snapshot, decided, extraction.scene_name, started):
                return None
        return Retry("other sessions kept changing the memories that this one was compared with")

    async def _decide(self, drafts: tuple[MemoryDraft, ...], scope: Scope) -> _Decided | Retry | Poison:
        if not drafts:
            return _Decided(Decisions(()), frozenset())
        candidates = await self._context.store.read(lambda r: [_candidates(r, scope, draft) for draft in drafts])
        decisions = await self._context.distiller.resolve(drafts, candidates)
        if not isinstance(decisions, Decisions):
            return decisions
        shown = frozenset(row.seq for rows in candidates for row in rows)
        return _Decided(_only_shown(decisions, candidates), shown)

    async def _try_to_commit(
        self,
        lease: Lease,
        target: SessionTarget,
        snapshot: _Snapshot,
        decided: _Decided,
        scene_name: str,
        started: Instant,
    ) -> bool:
        """Commit, unless a memory of a slot in question appeared since the candidates were read."""

        def work(r: Repositories) -> bool:
            if any(
                row.seq not in decided.shown
                for decision in decided.decisions.items
                for row in r.memories.by_slot(target.scope, decision.draft.slot)
            ):
                return False
            self._commit(r, lease, target, snapshot, decided.decisions, scene_name, started)
            return True

        return await self._context.store.write(work)

    def _snapshot(self, r: Repositories, target: SessionTarget) -> _Snapshot:
        settings = self._context.settings
        messages = r.conversations.undistilled(target, settings.batch_messages)
        background: tuple[Message, ...] = ()
        if messages:
            background = r.conversations.before(target, messages[0].seq, settings.background_messages)
        return _Snapshot(r.conversations.progress(target, settings.every_n), background, messages)

    def _commit(
        self,
        r: Repositories,
        lease: Lease,
        target: SessionTarget,
        snapshot: _Snapshot,
        decisions: Decisions,
        scene_name: str,
        started: Instant,
    ) -> None:
        context = self._context
        r.jobs.hold(lease)
        if r.conversations.progress(target, 1).cursor != snapshot.progress.cursor:
            raise LeaseLost(f"session {target.key} was distilled by somebody else")
        now = context.clock.now()
        profile = target.scope.profile(context.profile_scope)
        applied = apply_decisions(r, target, profile, decisions, context, now)
        cursor = snapshot.messages[-1].seq
        warmup = context.planner.warmed_up(snapshot.progress.warmup)
        r.conversations.advance(target, cursor, warmup, scene_name)
        r.jobs.record(target, self._run(snapshot, applied, started, now))
        self._plan_next(r, lease, target, now)
        state = r.profiles.state(profile)
        due = context.planner.next_l2(state, now) if state else None
        if due is not None:
            r.jobs.arm("l2", r.profiles.ensure(profile), due, only_earlier=True)

    def _nothing_left(self, r: Repositories, lease: Lease, target: SessionTarget) -> None:
        r.jobs.hold(lease)
        self._plan_next(r, lease, target, self._context.clock.now())

    def _plan_next(self, r: Repositories, lease: Lease, target: SessionTarget, now: Instant) -> None:
        """End this job, or set it again for messages that came meanwhile: both are read from the rows."""
        progress = r.conversations.progress(target, self._context.settings.every_n)
        r.jobs.finish(lease, self._context.planner.next_l1(progress, now))

    def _run(self, snapshot: _Snapshot, applied: Applied, started: Instant, now: Instant) -> RunRecord:
        outcome: RunOutcome = "items" if applied.written or applied.supported else "nothing"
        first, last = snapshot.messages[0].seq, snapshot.messages[-1].seq
        origin = self._context.distiller.origin
        return RunRecord("l1", outcome, first, last, applied.written, applied.retired, origin, started, now)


def _candidates(r: Repositories, scope: Scope, draft: MemoryDraft) -> tuple[MemoryRecord, ...]:
    """Return live memories of the scope, of any session, that may say or contradict what the draft says."""
    same = r.memories.by_content(scope, draft.content)
    found = retrieve(r, MEMORIES, scope, draft.content, MemoryFilter(), _CANDIDATES, floor=_SIMILAR)
    ended = r.memories.by_slot(scope, str(draft.metadata.get("ends", "")))  # "left Orion" concerns who employs
    rows = [
        *([same] if same else []),
        *r.memories.by_slot(scope, draft.slot),
        *ended,
        *(hit.item for hit in found.hits),
    ]
    return tuple({row.seq: row for row in rows}.values())


def _only_shown(decisions: Decisions, candidates: list[tuple[MemoryRecord, ...]]) -> Decisions:
    """Return the decisions without targets that their draft was not shown, and with each target decided about once."""
    taken: set[int] = set()
    kept = []
    for decision, shown in zip(decisions.items, candidates, strict=True):
        allowed = {row.seq for row in shown} - taken
        targets = tuple(seq for seq in decision.target_seqs if seq in allowed)
        if decision.action in ("update", "merge"):
            taken |= set(targets)
        kept.append(decision.with_targets(targets))
    return Decisions(tuple(kept))
