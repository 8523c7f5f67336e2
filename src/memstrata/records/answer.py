"""What the verbs of `Memory` answer with, beyond the records themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from memstrata.clock import Instant
from memstrata.records.document import Document
from memstrata.records.job import Job, JobKind
from memstrata.records.memory import MemoryRecord
from memstrata.records.message import Message

__all__ = [
    "ComponentHealth",
    "Deletion",
    "Evidence",
    "Found",
    "Health",
    "Hit",
    "LayerLoad",
    "LayerStatus",
    "Page",
    "PipelineStatus",
    "Recall",
    "Receipt",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A slice of an ordered list, and how long the whole list is."""

    items: tuple[T, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """An accepted write. `replayed` says that the same key had been accepted before and nothing was stored now."""

    message_ids: tuple[str, ...]
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Deletion:
    """What really went. Counts are of rows removed, never of ids asked for."""

    messages: int = 0
    memories: int = 0
    documents: int = 0


@dataclass(frozen=True, slots=True)
class Hit(Generic[T]):
    """One search result: 0 ≤ score ≤ 1, and which leg found it with which score of its own."""

    item: T
    score: float
    legs: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """Search results, best first. `degraded` names every leg that did not take part and why."""

    hits: tuple[Hit[T], ...]
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    """What goes into the next prompt: memories before the newest user message, the rest after the system prompt."""

    hits: tuple[Hit[MemoryRecord], ...]
    persona: Document | None
    scenes: tuple[Document, ...]
    prepend_context: str
    append_system_context: str
    degraded: tuple[str, ...] = ()
    elapsed_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a memory exists: the messages it cites, the version it replaced, and what was built from it."""

    memory: MemoryRecord
    messages: tuple[Message, ...]
    replaced: tuple[MemoryRecord, ...]
    scenes: tuple[Document, ...]
    persona: Document | None


@dataclass(frozen=True, slots=True)
class LayerStatus:
    """One layer of one scope: what waits, when it is due, how the last run ended."""

    pending: int
    state: Literal["idle", "waiting", "running", "dead"]
    next_due_at: Instant | None = None
    last_run_at: Instant | None = None
    last_outcome: str = ""
    last_error: str = ""


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """All that waits in one scope. `pending`: undistilled messages for L1, memories not yet consumed for L2 and L3."""

    layers: Mapping[JobKind, LayerStatus]
    jobs: tuple[Job, ...]
    idle: bool
    distiller: str


@dataclass(frozen=True, slots=True)
class LayerLoad:
    """One layer across an instance: numbers only, so that no tenant sees another's session ids."""

    queued: int
    running: int
    dead: int


@dataclass(frozen=True, slots=True)
class ComponentHealth:
    """State of one part: `ok`, `reduced` (works with less, says why), or `failed`."""

    state: Literal["ok", "reduced", "failed"]
    reason: str = ""
    details: Mapping[str, int | float | str | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Health:
    """State of all parts. `status` is `ok` while every message can be stored and recalled, however reduced."""

    status: Literal["ok", "degraded"]
    uptime_seconds: float
    components: Mapping[str, ComponentHealth]
