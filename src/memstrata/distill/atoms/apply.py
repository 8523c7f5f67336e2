"""Decisions become rows: the new version is written before an old one is retired, and nothing is ever edited in place.

Runs inside the commit of an L1 step, against what is live at that moment: a target that is gone makes an update a plain
new memory, a source that was deleted meanwhile takes its draft along.
"""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.clock import Instant
from memstrata.distill.protocol import Decision, Decisions
from memstrata.distill.run import StepContext
from memstrata.ids import memory_id
from memstrata.records import AppliesTo, MemoryDraft, MemoryRecord, Message, NewMemory, Profile, SessionTarget
from memstrata.store.protocol import Repositories

__all__ = ["Applied", "apply_decisions"]

_WIDTHS = {"scene": 0, "project": 1, "always": 2}


@dataclass(frozen=True, slots=True)
class Applied:
    """How many versions were written and retired, and how many memories gained support without changing."""

    written: int = 0
    retired: int = 0
    supported: int = 0


def apply_decisions(
    r: Repositories,
    target: SessionTarget,
    profile: Profile,
    decisions: Decisions,
    context: StepContext,
    now: Instant,
) -> Applied:
    """Write what was decided for one batch of the target's session."""
    scope = target.scope
    total = Applied()
    for decision in decisions.items:
        sources = r.conversations.by_seq(scope, decision.draft.source_seqs)
        if not sources or r.memories.buried(scope, decision.draft.content, sources[-1].seq):
            continue
        one = _apply(r, target, profile, decision, sources, context, now)
        total = Applied(total.written + one.written, total.retired + one.retired, total.supported + one.supported)
    return total


def _apply(
    r: Repositories,
    target: SessionTarget,
    profile: Profile,
    decision: Decision,
    sources: tuple[Message, ...],
    context: StepContext,
    now: Instant,
) -> Applied:
    scope, draft = target.scope, decision.draft
    cited = {message.seq for message in sources}
    same = r.memories.by_content(scope, draft.content)
    if same is not None:  # the exact gate, on every path and without a model
        r.memories.add_sources(scope, same.seq, cited)
        return Applied(supported=1)
    targets = r.memories.live_by_seq(scope, decision.target_seqs)
    if decision.action == "skip":
        for row in targets[:1]:
            r.memories.add_sources(scope, row.seq, cited)
        return Applied(supported=len(targets[:1]))
    if any(row.origin == "human" for row in targets):
        return Applied()  # what a person wrote is pinned; the messages stay as evidence
    retiring = targets if decision.action in ("update", "merge") else ()
    newer = [row for row in retiring if _said(r.memories.sources(scope, row.seq)) > _said(sources)]
    if newer:  # sessions are distilled in any order, and history is imported late: what was said last holds
        retiring = ()
    united = cited.union(*({m.seq for m in r.memories.sources(scope, row.seq)} for row in retiring))
    version = _version(retiring, now)
    memory = NewMemory(
        memory_id=version.memory_id,
        version=version.number,
        content=draft.content,
        type=draft.type,
        priority=draft.priority,
        scene_name=draft.scene_name,
        applies_to=_applies_to(draft, retiring),
        slot=draft.slot,
        session_id=target.session_id,
        task_id=sources[-1].task_id,  # a batch may reach over several tasks
        origin=context.distiller.origin,
        happened_from=draft.happened_from,
        happened_to=draft.happened_to,
        metadata={**draft.metadata, **({"replaced": retiring[-1].content} if retiring else {})},
        created_at=version.created_at,
        updated_at=now,
        source_seqs=tuple(sorted(united)),
        terms=context.terms(draft.content),
    )
    written = r.memories.add(scope, profile, memory)
    if newer:
        r.memories.retire(scope, written.seq, now, newer[-1].seq)
        return Applied(written=1, retired=1)
    retired = sum(r.memories.retire(scope, row.seq, now, written.seq) for row in retiring)
    return Applied(written=1, retired=retired)


def _said(messages: tuple[Message, ...]) -> tuple[Instant, int]:
    """Return when the last of the messages was said; of equal times the later one counts."""
    return max(((message.said_at, message.seq) for message in messages), default=(0, 0))


@dataclass(frozen=True, slots=True)
class _Version:
    memory_id: str
    number: int
    created_at: Instant


def _version(retiring: tuple[MemoryRecord, ...], now: Instant) -> _Version:
    """One memory that changes keeps its id and its age; several that become one get a new id and the oldest's age."""
    if not retiring:
        return _Version(memory_id(now), 0, now)
    if len(retiring) == 1:
        return _Version(retiring[0].memory_id, retiring[0].version + 1, retiring[0].created_at)
    return _Version(memory_id(now), 0, min(row.created_at for row in retiring))


def _applies_to(draft: MemoryDraft, retiring: tuple[MemoryRecord, ...]) -> AppliesTo:
    """Return the narrowest reach among the draft and what it takes the place of: merging never widens it."""
    return min((draft.applies_to, *(row.applies_to for row in retiring)), key=lambda reach: _WIDTHS[reach])
