"""The shapes in which repositories are asked and answer, besides the records: filters, states, and views of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from memstrata.clock import Instant
from memstrata.records import Document, Layer, MemoryRecord, Profile, Scope

__all__ = [
    "Coverage",
    "GenerationFilter",
    "MemoryFilter",
    "MessageFilter",
    "MirroredMemory",
    "MirroredProfile",
    "MirroredProgress",
    "ProfileState",
    "PromptFilter",
    "RowName",
    "SessionProgress",
    "StaleFile",
    "StoredReceipt",
    "VectorKind",
    "VectorText",
]


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """Which messages of a scope. `since` and `until` are inclusive, on event time."""

    session_id: str | None = None
    task_id: str | None = None
    since: Instant | None = None
    until: Instant | None = None


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which live memories of a scope. `since` and `until` are inclusive, on the version's own time."""

    type: str | None = None
    task_id: str | None = None
    since: Instant | None = None
    until: Instant | None = None


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """What an idempotency key was used for."""

    payload: bytes
    message_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionProgress:
    """Where a session stands; counts come from its rows."""

    pending_rounds: int  # user messages past the cursor, counted up to the limit that was asked for
    pending_messages: int  # all messages past the cursor, counted likewise
    warmup: int  # rounds that start the next L1
    cursor: int
    scene_name: str
    last_message_at: Instant


@dataclass(frozen=True, slots=True)
class ProfileState:
    """Where a profile stands; counts come from its rows."""

    unconsumed: int  # live memories that no L2 has seen
    oldest_unconsumed_at: Instant | None
    scenes: int
    scenes_at: Instant  # 0: L2 never succeeded
    portrayed_at: Instant  # 0: L3 never succeeded
    persona: Document | None
    memories_since_portrait: int
    changed_scenes: int  # scene versions that no L3 has seen
    persona_request: str
    last_message_at: Instant
    portrayed_document: int  # highest seq of a scene version that the last L3 was shown
    last_memory: int  # highest seq of a memory, 0 without any
    last_document: int  # highest seq of a scene version, 0 without any


@dataclass(frozen=True, slots=True)
class MirroredMemory:
    """A memory version as the mirror writes it: with the ids it cites and the versions whose place it took."""

    scope: Scope
    memory: MemoryRecord
    sources: tuple[tuple[int, str], ...]  # seq and id
    supersedes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class MirroredProgress:
    """How far L1 is in a session, after the run of that number."""

    run: int
    scope: Scope
    session_id: str
    cursor: int
    warmup: int
    scene_name: str


@dataclass(frozen=True, slots=True)
class MirroredProfile:
    """The live documents of a profile, each with the ids of the memories it was built from."""

    profile: Profile
    documents: tuple[tuple[Document, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class StaleFile:
    """Mirror files that must be written anew: a day of an instance, its progress, or all of a profile.

    Or a folder that must go, by its path in the data folder: that of a profile whose name is gone.

    `marks` counts how often that was said. Clearing a file takes back the marks that were read and no later one.
    """

    kind: str  # "conversations", "records", "progress", "profile" or "folder"
    instance: str
    name: str
    marks: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class GenerationFilter:
    """Which runs. `failed`: only those that stored nothing because of a fault, or only the others. Times are inclusive."""

    layer: Layer | None = None
    failed: bool | None = None
    since: Instant | None = None
    until: Instant | None = None


@dataclass(frozen=True, slots=True)
class RowName:
    """What a row is called outside: a message's, a memory's or a document's id. Messages have no versions."""

    record_id: str
    version: int = 0


@dataclass(frozen=True, slots=True)
class PromptFilter:
    """Which bindings or changes of an instance. None leaves a part open; "" stands for: not that narrow."""

    instance: str
    kind: Literal["instance", "team", "agent"] | None = None
    team: str | None = None
    agent: str | None = None
    layer: Layer | None = None
    prompt_id: str | None = None
    action: str | None = None  # of changes only, as the three below
    since: Instant | None = None
    until: Instant | None = None


VectorKind = Literal["memories", "messages"]


@dataclass(frozen=True, slots=True)
class VectorText:
    """A text without a vector. `scope_key` names the index that it belongs to."""

    seq: int
    scope_key: str
    content: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many live rows there are, how many have a vector of a model, and of these how many the model refused."""

    rows: int
    present: int
    refused: int

    @property
    def missing(self) -> int:
        return max(0, self.rows - self.present)
