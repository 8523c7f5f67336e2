"""L1: one statement that still holds outside its conversation, in versions that are never edited in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from memstrata.clock import Instant

__all__ = ["MEMORY_TYPES", "AppliesTo", "MemoryDraft", "MemoryRecord", "MemoryType", "NewMemory", "Origin"]

MemoryType = Literal["persona", "episodic", "instruction", "work_fact", "work_task", "work_method", "work_artifact"]
MEMORY_TYPES: frozenset[str] = frozenset(get_args(MemoryType))

AppliesTo = Literal["always", "project", "scene"]
"""How far an instruction reaches. Merging never widens it."""

Origin = Literal["rules", "model", "human"]
"""Who wrote it. What a human wrote is pinned: the pipeline proposes, it does not overwrite."""


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """What a distiller proposes. It cites messages of its own batch by `seq`; a draft that cites none is dropped."""

    content: str
    type: MemoryType
    priority: int  # 0–100; -1 for an absolute order
    source_seqs: tuple[int, ...]
    scene_name: str = ""
    applies_to: AppliesTo = "always"
    slot: str = ""  # what the statement is a value of ("residence"); two live memories of one slot contradict
    happened_from: Instant | None = None  # when it happened, if that can be told; not when it was said
    happened_to: Instant | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A version about to be written."""

    memory_id: str
    version: int
    content: str
    type: MemoryType
    priority: int
    scene_name: str
    applies_to: AppliesTo
    slot: str
    session_id: str
    task_id: str
    origin: Origin
    happened_from: Instant | None
    happened_to: Instant | None
    metadata: Mapping[str, Any]
    created_at: Instant
    updated_at: Instant
    source_seqs: tuple[int, ...]
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One stored version. Live while `valid_to` is None; a retired one names the `seq` that took its place, if any."""

    seq: int
    memory_id: str
    version: int
    content: str
    type: MemoryType
    priority: int
    scene_name: str
    applies_to: AppliesTo
    slot: str
    session_id: str
    task_id: str
    origin: Origin
    happened_from: Instant | None
    happened_to: Instant | None
    metadata: Mapping[str, Any]
    created_at: Instant
    updated_at: Instant
    valid_to: Instant | None
    superseded_by: int | None
