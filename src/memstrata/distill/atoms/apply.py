"""Decisions become rows: the new version is written before an old one is retired, and nothing is ever edited in place.

Runs inside the commit of an L1 step, against what is live at that moment: a target that is gone makes an update a plain
new memory, a source that was deleted meanwhile takes its draft along.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from memstrata.clock import Instant
from memstrata.distill.protocol import Decision, Decisions
from memstrata.distill.run import StepContext
from memstrata.distill.validate import narrowest
from memstrata.ids import memory_id
from memstrata.records import (
    MemoryRecord,
    Message,
    NewMemory,
    OutputAction,
    Profile,
    RunOutput,
    SessionTarget,
)
from memstrata.store.protocol import Repositories

__all__ = ["Applied", "apply_decisions"]


@dataclass(frozen=True, slots=True)
class Applied:
    """How many versions were written and retired, and every row that was touched, with what it rests on."""

    written: int = 0
    retired: int = 0
    outputs: tuple[RunOutput, ...] = field(default=())

    def __add__(self, other: Applied) -> Applied:
        return Applied(self.written + other.written, self.retired + other.retired, self.outputs + other.outputs)


def apply_decisions(
    r: Repositories,
    target: SessionTarget,
    profile: Profile,
    decisions: Decisions,
    batch_seqs: Collection[int],
    context: StepContext,
    now: Instant,
) -> Applied:
    """Write what was decided for one batch of the target's session; `batch_seqs` are its messages."""
    scope = target.scope
    total = Applied()
    for decision in decisions.items:
        cited = set(decision.draft.source_seqs)
        sources = r.conversations.by_seq(scope, cited - r.memories.spent(scope, cited))
        if not sources or r.memories.buried(scope, decision.draft.content, sources[-1].seq):
            continue
        total += _Change(r, target, profile, decision, sources, context, now).apply()
    if context.distiller.origin == "model":
        total += _rules_give_way(r, target, batch_seqs, total.outputs, now)
    return total


@dataclass(frozen=True, slots=True)
class _Change:
    """One decision about to be performed."""

    r: Repositories
    target: SessionTarget
    profile: Profile
    decision: Decision
    sources: tuple[Message, ...]
    context: StepContext
    now: Instant

    def apply(self) -> Applied:
        r, scope, decision = self.r, self.target.scope, self.decision
        same = r.memories.by_content(scope, decision.draft.content)
        if same is not None and decision.action != "revise":  # the exact gate, on every path and without a model
            return self._support(same)
        targets = r.memories.live_by_seq(scope, decision.target_seqs)
        if decision.action == "skip":
            return self._support(targets[0]) if targets else Applied()
        pinned = [row for row in targets if row.origin == "human"]
        if pinned:
            return self._propose(pinned[-1])
        if decision.action == "revise" and (not targets or same is not None):
            return Applied()
        retiring = () if decision.action == "store" else targets
        newer = [row for row in retiring if _said(r.memories.sources(scope, row.seq)) > _said(self.sources)]
        if not newer:
            return self._write(retiring)
        if decision.action == "revise":
            return Applied()
        # Sessions are distilled in any order, and history is imported late: what was said last holds.
        written = self._add(_new_version(self.now), (), {})
        r.memories.retire(scope, written.seq, self.now, newer[-1].seq)
        return Applied(1, 1, (self._output(written, "store", (), "said before what replaced it"),))

    def _write(self, retiring: tuple[MemoryRecord, ...]) -> Applied:
        r, scope = self.r, self.target.scope
        extra = {"replaced": retiring[-1].content} if retiring else {}
        written = self._add(_version(retiring, self.now), retiring, extra)
        retired = sum(r.memories.retire(scope, row.seq, self.now, written.seq) for row in retiring)
        action = self.decision.action if retiring else "store"
        assert action != "skip"
        return Applied(1, retired, (self._output(written, action, retiring, self.decision.note),))

    def _support(self, row: MemoryRecord) -> Applied:
        self.r.memories.add_sources(self.target.scope, row.seq, [message.seq for message in self.sources])
        return Applied(outputs=(self._output(row, "support", (), self.decision.note),))

    def _propose(self, pinned: MemoryRecord) -> Applied:
        """Keep what the pipeline would have written beside what a person wrote: in its history, retired from the start."""
        r, scope = self.r, self.target.scope
        if any(row.content == self.decision.draft.content for row in r.memories.replaced(scope, pinned.seq)):
            return Applied()
        proposal = self._add(_new_version(self.now), (), {"proposal": True})
        r.memories.retire(scope, proposal.seq, self.now, pinned.seq)
        return Applied(outputs=(self._output(proposal, "propose", (pinned,), self.decision.note),))

    def _add(
        self, version: _Version, retiring: tuple[MemoryRecord, ...], extra: Mapping[str, str | bool]
    ) -> MemoryRecord:
        r, draft, scope = self.r, self.decision.draft, self.target.scope
        cited = {message.seq for message in self.sources}
        united = cited.union(*({m.seq for m in r.memories.sources(scope, row.seq)} for row in retiring))
        memory = NewMemory(
            memory_id=version.memory_id,
            version=version.number,
            content=draft.content,
            type=draft.type,
            priority=draft.priority,
            scene_name=draft.scene_name,
            applies_to=narrowest((draft.applies_to, *(row.applies_to for row in retiring))),
            slot=draft.slot,
            session_id=self.target.session_id,
            task_id=self.sources[-1].task_id,  # a batch may reach over several tasks
            origin=self.context.distiller.origin,
            happened_from=draft.happened_from,
            happened_to=draft.happened_to,
            metadata={**draft.metadata, **extra},
            created_at=version.created_at,
            updated_at=self.now,
            source_seqs=tuple(sorted(united)),
            terms=self.context.terms(draft.content),
        )
        return r.memories.add(scope, self.profile, memory)

    def _output(
        self, row: MemoryRecord, action: OutputAction, replaced: Sequence[MemoryRecord], note: str
    ) -> RunOutput:
        cited = tuple(message.seq for message in self.sources)
        return RunOutput("l1", row.seq, action, cited, tuple(one.seq for one in replaced), note)


def _rules_give_way(
    r: Repositories, target: SessionTarget, batch_seqs: Collection[int], outputs: Sequence[RunOutput], now: Instant
) -> Applied:
    """Retire what rules had made of these messages where a model has now made something of them.

    Where it has not, the rules' memory stays: a model that says nothing takes nothing away.
    """
    heirs = [one for one in outputs if one.action != "propose"]
    kept = {one.seq for one in heirs}
    batch = set(batch_seqs)
    retired = 0
    for row in r.memories.citing(target.scope, batch_seqs):
        sources = {message.seq for message in r.memories.sources(target.scope, row.seq)}
        if row.origin != "rules" or row.seq in kept or not sources <= batch:
            continue
        heir = next((one.seq for one in heirs if sources & set(one.inputs)), None)
        if heir is not None:
            retired += r.memories.retire(target.scope, row.seq, now, heir)
    return Applied(retired=retired)


def _said(messages: tuple[Message, ...]) -> tuple[Instant, int]:
    """Return when the last of the messages was said; of equal times the later one counts."""
    return max(((message.said_at, message.seq) for message in messages), default=(0, 0))


@dataclass(frozen=True, slots=True)
class _Version:
    memory_id: str
    number: int
    created_at: Instant


def _new_version(now: Instant) -> _Version:
    return _Version(memory_id(now), 0, now)


def _version(retiring: tuple[MemoryRecord, ...], now: Instant) -> _Version:
    """One memory that changes keeps its id and its age; several that become one get a new id and the oldest's age."""
    if not retiring:
        return _new_version(now)
    if len(retiring) == 1:
        return _Version(retiring[0].memory_id, retiring[0].version + 1, retiring[0].created_at)
    return _Version(memory_id(now), 0, min(row.created_at for row in retiring))
