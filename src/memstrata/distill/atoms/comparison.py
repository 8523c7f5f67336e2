"""The part of the conflict prompt that changes: known memories once, then the new ones and what they are near to."""

from __future__ import annotations

from datetime import tzinfo

from memstrata.clock import Instant
from memstrata.distill.atoms.times import local_time
from memstrata.distill.atoms.transcript import fresh_mark, label
from memstrata.distill.calls import Aliases
from memstrata.distill.protocol import ResolveRequest
from memstrata.distill.scenes.meta import one_line
from memstrata.records import MemoryDraft, MemoryRecord
from memstrata.text.wellformed import well_formed

__all__ = ["comparison"]


def comparison(request: ResolveRequest, known: Aliases, new: Aliases, zone: tzinfo) -> str:
    """Return the user message. `known` names the pool by `seq`, `new` the drafts by their place."""
    heads: list[tuple[str, str]] = []
    for row in request.pool:
        written = local_time(row.created_at, zone).date().isoformat()
        heads.append(
            (" ".join((known.name(row.seq), _kind(row), str(row.priority), written, *_about(row, zone))), row.content)
        )
    for place, draft in enumerate(request.drafts):
        near = " ".join(known.name(row.seq) for row in request.candidates[place])
        parts = (new.name(place), _kind(draft), str(draft.priority), *([f"near {near}"] if near else []))
        heads.append((" ".join((*parts, *_about(draft, zone))), draft.content))
    mark = fresh_mark(text for head in heads for text in head)
    lines = [f"mark: {mark}", f"lang: {request.language}"]
    for head, content in heads:
        lines += (f"#{mark} {head}", one_line(content))
    lines += (f"#{mark} alike {new.name(one)} {new.name(other)}" for one, other in request.alike)
    return well_formed("\n".join((*lines, f"#{mark} end")))


def _kind(memory: MemoryDraft | MemoryRecord) -> str:
    return f"instruction {memory.applies_to}" if memory.type == "instruction" else memory.type


def _about(memory: MemoryDraft | MemoryRecord, zone: tzinfo) -> list[str]:
    """Return what is known of a memory besides its text, each only if there is something to tell."""
    parts: list[str] = []
    if memory.happened_from is not None:
        parts.append(f"on {_days(memory.happened_from, memory.happened_to, zone)}")
    value = label(str(memory.metadata.get("value") or ""))
    if memory.slot:
        parts.append(f"{label(memory.slot)}={value}")
    if memory.scene_name:
        parts.append(f"scene {label(memory.scene_name)}")
    return parts


def _days(start: Instant, end: Instant | None, zone: tzinfo) -> str:
    first = local_time(start, zone).date().isoformat()
    last = first if end is None else local_time(end, zone).date().isoformat()
    return first if first == last else f"{first}..{last}"
