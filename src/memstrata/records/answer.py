"""What the verbs of `Memory` answer with, beyond the records themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from memstrata.clock import Instant
from memstrata.records.document import Document
from memstrata.records.generation import Mode, OutputAction
from memstrata.records.job import Job, JobKind, RunRecord
from memstrata.records.memory import MemoryRecord
from memstrata.records.message import Message
from memstrata.records.prompt import PromptRef
from memstrata.records.spending import BudgetState

__all__ = [
    "BorrowedMemory",
    "ComponentHealth",
    "Deletion",
    "Derivation",
    "DocumentVersion",
    "Evidence",
    "Found",
    "Generation",
    "Health",
    "Hit",
    "LayerLoad",
    "LayerStatus",
    "Lender",
    "MemoryVersion",
    "Neighbours",
    "Page",
    "PersonaEvidence",
    "PipelineStatus",
    "Recall",
    "Receipt",
    "SceneEvidence",
    "Shown",
    "Support",
    "VersionRef",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A slice of an ordered list, and how long the whole list is."""

    items: tuple[T, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """An accepted write. `replayed` says that the same key had been accepted before and nothing was stored now.

    `redacted` names the kind of each secret that was taken out of what was stored.
    """

    message_ids: tuple[str, ...]
    replayed: bool = False
    redacted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Deletion:
    """What really went. Counts are of rows removed, never of ids asked for."""

    messages: int = 0
    memories: int = 0
    documents: int = 0


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What was said around a message in its own session, both in the order of the conversation."""

    before: tuple[Message, ...] = ()
    after: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit(Generic[T]):
    """One search result: 0 ≤ score ≤ 1, and which leg found it with which score of its own.

    `neighbours` are of a message, where they were asked for.
    """

    item: T
    score: float
    legs: Mapping[str, float]
    neighbours: Neighbours | None = None


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """Search results, best first. `degraded` names every leg that did not take part and why."""

    hits: tuple[Hit[T], ...]
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lender:
    """Another agent whose memory an agent may read besides its own."""

    team: str
    agent: str
    name: str


@dataclass(frozen=True, slots=True)
class BorrowedMemory:
    """What a lender's memory has for a question: memories of the asking user, the lender's persona and scenes."""

    lender: Lender
    hits: tuple[Hit[MemoryRecord], ...]
    persona: Document | None
    scenes: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """What stands in the blocks of a recall, in the versions that it was read in. A lender of None is the agent itself."""

    memories: tuple[MemoryRecord, ...] = ()
    documents: tuple[tuple[Lender | None, Document], ...] = ()


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
    borrowed: tuple[BorrowedMemory, ...] = ()  # of other agents, rendered after the agent's own
    shown: Shown = field(default=Shown())


@dataclass(frozen=True, slots=True)
class VersionRef:
    """One version by the name that callers know: a memory's id, or a document's path."""

    name: str
    version: int


@dataclass(frozen=True, slots=True)
class Derivation:
    """What one run did to one version, and how it came to do so. Without a model it was done by rules.

    `note` is the reason given for this version, `notes` tell what the run refused on the way. `run_id` is the run's
    number in the generation log.
    """

    subject: VersionRef
    run_id: int
    at: Instant
    action: OutputAction
    model: str
    mode: Mode
    prompt: PromptRef | None
    note: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Support:
    """A memory that a document rests on, with the messages that it cites itself."""

    memory: MemoryRecord
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a memory exists: the messages it cites, the versions it replaced, and what was built from it.

    `derivations` are of the memory and of what it replaced, newest first; what a person wrote has none.
    """

    memory: MemoryRecord
    messages: tuple[Message, ...]
    replaced: tuple[MemoryRecord, ...]
    scenes: tuple[Document, ...]
    persona: Document | None
    derivations: tuple[Derivation, ...] = ()


@dataclass(frozen=True, slots=True)
class SceneEvidence:
    """Why a scene reads as it does: the live memories of the asking scope that it rests on, and how it was made."""

    scene: Document
    supports: tuple[Support, ...]
    derivations: tuple[Derivation, ...]


@dataclass(frozen=True, slots=True)
class PersonaEvidence:
    """Why a portrait, or one line of it, reads as it does.

    With a `line`, `supports` are the memories that share words with it, the closest first, and `scenes` those that were
    built from them. Both are empty when none does: that the line rests on any of them cannot be shown.
    """

    persona: Document
    line: str
    scenes: tuple[Document, ...]
    supports: tuple[Support, ...]
    derivations: tuple[Derivation, ...]


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """One version in a memory's history. It held from `memory.updated_at` until `memory.valid_to` (None: it still does).

    `proposal`: it never held. The pipeline would have written it, and left what a person had written.
    """

    memory: MemoryRecord
    superseded_by: VersionRef | None
    message_ids: tuple[str, ...]
    proposal: bool
    derivations: tuple[Derivation, ...]


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """One version in a scene's or the portrait's history. `valid_to` is None while it is live; `proposal` as of memories."""

    document: Document
    valid_to: Instant | None
    proposal: bool
    derivations: tuple[Derivation, ...]


@dataclass(frozen=True, slots=True)
class Generation:
    """One run with its number and whose rows it was about; `user` and `session_id` are empty where a profile has none."""

    run_id: int
    instance: str
    team: str
    agent: str
    user: str
    session_id: str
    run: RunRecord


@dataclass(frozen=True, slots=True)
class LayerStatus:
    """One layer of one scope: what waits, when it is due, how the last run ended."""

    pending: int
    state: Literal["idle", "waiting", "running", "dead"]
    next_due_at: Instant | None = None
    last_run_at: Instant | None = None
    last_outcome: str = ""
    last_error: str = ""
    parked: int = 0  # messages put aside because no model takes them


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """All that waits in one scope. `pending`: undistilled messages for L1, memories not yet consumed for L2 and L3.

    `budget` is how the instance's tokens of today stand, None where no model is configured.
    """

    layers: Mapping[JobKind, LayerStatus]
    jobs: tuple[Job, ...]
    idle: bool
    distiller: str
    budget: BudgetState | None = None


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
