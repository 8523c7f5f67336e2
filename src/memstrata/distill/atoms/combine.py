"""What a memory becomes that takes the place of others: text from the model, everything else bounded by its parts.

A combination reaches no further and weighs no more than its parts, and no lighter than the lightest; what is known about
them besides their text is carried over (user needs A10, B21; pipeline reference W37).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any

from memstrata.clock import Instant
from memstrata.distill.atoms.items import WORK_FIELDS, memory_type
from memstrata.distill.atoms.times import read_time
from memstrata.distill.atoms.verdicts import Verdict
from memstrata.distill.validate import ABSOLUTE, CORE_INSTRUCTION, DISCARD_LINES, narrowest
from memstrata.records import AppliesTo, MemoryDraft, MemoryRecord, MemoryType, Mode

__all__ = ["Combining", "reaches_of"]

Part = MemoryDraft | MemoryRecord

_CARRIED = ("subject", "subject_name", *WORK_FIELDS)


def reaches_of(parts: Iterable[Part]) -> set[AppliesTo]:
    """Return how far the instructions among the parts reach."""
    return {part.applies_to for part in parts if part.type == "instruction"}


@dataclass(frozen=True, slots=True)
class Combining:
    """How drafts and memories become one. `zone` is that of times without an offset."""

    mode: Mode
    zone: tzinfo

    def updated(self, draft: MemoryDraft, replaced: Sequence[MemoryRecord], verdict: Verdict) -> MemoryDraft:
        """Return the draft as it takes the place of memories about the same matter."""
        return replace(
            draft,
            content=verdict.content or draft.content,
            slot=_slot((draft, *replaced)),
            metadata={**_carried(replaced, _CARRIED), **draft.metadata},
        )

    def merged(self, draft: MemoryDraft, others: Sequence[Part], verdict: Verdict) -> MemoryDraft:
        """Return the draft joined with memories and other drafts. Its sources are left to the caller."""
        parts = (draft, *others)
        kind, priority = self._weighed(parts, verdict)
        start, end = self._told_span(verdict) or _span(parts)
        return replace(
            draft,
            content=verdict.content,
            type=kind,
            priority=priority,
            applies_to=_reach(parts, kind),
            slot=_slot(parts),
            happened_from=start,
            happened_to=end,
            metadata={**_carried(others, (*_CARRIED, "value")), **draft.metadata},
        )

    def revised(self, row: MemoryRecord, source_seqs: tuple[int, ...], verdict: Verdict) -> MemoryDraft:
        """Return a memory in its new words, citing what changed it; all else of it stays."""
        metadata = dict(row.metadata)
        if verdict.value and (row.slot or "value" in metadata):
            metadata["value"] = verdict.value
        return MemoryDraft(
            content=verdict.content,
            type=row.type,
            priority=row.priority,
            source_seqs=source_seqs,
            scene_name=row.scene_name,
            applies_to=row.applies_to,
            slot=row.slot,
            happened_from=row.happened_from,
            happened_to=row.happened_to,
            metadata=metadata,
        )

    def _told_span(self, verdict: Verdict) -> tuple[Instant | None, Instant | None] | None:
        """Return the times that were said; None where there are none, or the end comes before the start."""
        start, end = read_time(verdict.start, self.zone), read_time(verdict.end, self.zone, end=True)
        is_backwards = start is not None and end is not None and start > end
        return None if (start is None and end is None) or is_backwards else (start, end)

    def _weighed(self, parts: Sequence[Part], verdict: Verdict) -> tuple[MemoryType, int]:
        """Return type and priority: what was said as far as the parts allow it, else those of the draft and the highest."""
        own = parts[0].type
        kind = memory_type(verdict.type, self.mode) or own
        if kind == "instruction" and all(part.type != "instruction" for part in parts):
            kind = own
        if kind == "instruction" and any(part.priority == ABSOLUTE for part in parts):
            return kind, ABSOLUTE
        weights = [CORE_INSTRUCTION if part.priority == ABSOLUTE else part.priority for part in parts]
        highest = max(weights)
        if highest < DISCARD_LINES[kind]:
            kind = own
        said = highest if verdict.priority is None or verdict.priority < 0 else verdict.priority
        return kind, max(min(said, highest), min(weights), min(highest, DISCARD_LINES[kind]))


def _reach(parts: Sequence[Part], kind: MemoryType) -> AppliesTo:
    reaches = reaches_of(parts) or {part.applies_to for part in parts}
    return narrowest(reaches) if kind == "instruction" else parts[0].applies_to


def _slot(parts: Sequence[Part]) -> str:
    """Return the first slot: it still speaks of the same thing, so the next change of mind must find it there."""
    return next((part.slot for part in parts if part.slot), "")


def _span(parts: Sequence[Part]) -> tuple[Instant | None, Instant | None]:
    starts = [part.happened_from for part in parts if part.happened_from is not None]
    ends = [part.happened_to for part in parts if part.happened_to is not None]
    return min(starts, default=None), max(ends, default=None)


def _carried(parts: Sequence[Part], names: Sequence[str]) -> dict[str, Any]:
    """Return what the parts know under these names, the last that knows something."""
    return {name: part.metadata[name] for name in names for part in parts if part.metadata.get(name)}
