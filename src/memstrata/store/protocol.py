"""What a store is: repositories, one per noun, used inside a unit of work.

`Store.write(work)` calls `work` with the repositories inside one transaction: all of it is durable when the call
returns, or none of it happened. Works of many callers may share one commit. `Store.read(work)` runs beside the writer on
a snapshot. A work is a plain function: it must not wait for anything but the repositories, and it may be run again, so
it must not act on anything else.

Every method takes the scope or the profile it acts for, in itself or inside a target; a query without one does not
exist. Every backend passes the same tests (`tests/contract`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from memstrata.clock import Instant
from memstrata.records import (
    ComponentHealth,
    CustomPrompt,
    Deletion,
    Document,
    DocumentKind,
    Generation,
    Job,
    JobKind,
    Layer,
    LayerLoad,
    Lease,
    MemoryPrompt,
    MemoryRecord,
    Message,
    Neighbours,
    NewDocument,
    NewMemory,
    NewMessage,
    Profile,
    ProfileTarget,
    PromptSetting,
    PromptSettingChange,
    PromptTarget,
    RunRecord,
    Scope,
    SessionTarget,
    Spending,
    Target,
)
from memstrata.store.evidence import EvidenceLayer

__all__ = [
    "Conversations",
    "Coverage",
    "Erasure",
    "GenerationFilter",
    "Generations",
    "Jobs",
    "Memories",
    "MemoryFilter",
    "MessageFilter",
    "MirrorRows",
    "MirroredMemory",
    "MirroredProfile",
    "MirroredProgress",
    "ProfileState",
    "Profiles",
    "PromptFilter",
    "Prompts",
    "Repositories",
    "RowName",
    "SessionProgress",
    "Spendings",
    "StaleFile",
    "Store",
    "StoredReceipt",
    "VectorKind",
    "VectorText",
    "Vectors",
]

T = TypeVar("T")


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

    `marks` counts how often that was said. Clearing a file takes back the marks that were read and no later one.
    """

    kind: str  # "conversations", "records", "progress" or "profile"
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


class Conversations(Protocol):
    """L0."""

    def receipt(self, scope: Scope, session_id: str, key: str) -> StoredReceipt | None: ...
    def keep_receipt(
        self, target: SessionTarget, key: str, payload: bytes, message_ids: Sequence[str], now: Instant
    ) -> None: ...
    def by_id(self, scope: Scope, session_id: str, message_ids: Collection[str]) -> Mapping[str, Message]: ...
    def append(
        self, scope: Scope, session_id: str, task_id: str, messages: Sequence[NewMessage], now: Instant
    ) -> SessionTarget: ...
    def target(self, scope: Scope, session_id: str) -> SessionTarget | None: ...
    def progress(self, target: SessionTarget, count_up_to: int) -> SessionProgress: ...
    def undistilled(self, target: SessionTarget, limit: int) -> tuple[Message, ...]: ...
    def before(self, target: SessionTarget, seq: int, limit: int) -> tuple[Message, ...]: ...
    def advance(self, target: SessionTarget, cursor: int, warmup: int, scene_name: str) -> None: ...
    def distilled_by_rules(self, target: SessionTarget, first_seq: int) -> None:
        """Remember from which message on rules distilled the session; an earlier one that is remembered stays."""
        ...

    def start_again_from_rules(self) -> int:
        """Set every session back to where rules began, so that it is distilled again; return how many."""
        ...

    def park(self, target: SessionTarget, message_seq: int, reason: str, now: Instant) -> None:
        """Put a message aside that cannot be distilled; it counts as distilled until it is revived."""
        ...

    def revive(self, scope: Scope) -> tuple[SessionTarget, ...]:
        """Let every parked message of the scope be distilled again; return the sessions concerned."""
        ...

    def unpark(self, target: SessionTarget, message_seqs: Collection[int]) -> None: ...
    def parked_count(self, scope: Scope, session_id: str | None) -> int: ...
    def parked_reason(self, scope: Scope, session_id: str | None) -> str:
        """Return why the message that was put aside last was, empty if none is."""
        ...

    def pending_sessions(self, scope: Scope, session_id: str | None) -> tuple[SessionTarget, ...]: ...
    def pending_count(self, scope: Scope, session_id: str | None) -> int: ...
    def page(self, scope: Scope, where: MessageFilter, limit: int, offset: int) -> tuple[Message, ...]: ...
    def count(self, scope: Scope, where: MessageFilter) -> int: ...
    def by_seq(self, scope: Scope, seqs: Collection[int]) -> tuple[Message, ...]: ...
    def around(self, scope: Scope, seq: int, before: int, after: int) -> Neighbours:
        """Return up to so many messages of its own session before and after one; none of one that is not there."""
        ...

    def chosen(self, scope: Scope, seqs: Collection[int], where: MessageFilter) -> tuple[Message, ...]:
        """Return those of the messages that the filter lets through."""
        ...

    def seqs(self, scope: Scope, where: MessageFilter) -> tuple[int, ...]: ...
    def size(self, scope: Scope) -> int: ...
    def frequencies(self, scope: Scope, terms: Collection[str]) -> Mapping[str, int]: ...
    def match(
        self, scope: Scope, terms: Sequence[str], where: MessageFilter, limit: int
    ) -> tuple[tuple[Message, float], ...]: ...


class Memories(Protocol):
    """L1, in versions."""

    def add(self, scope: Scope, profile: Profile, memory: NewMemory) -> MemoryRecord: ...
    def retire(self, scope: Scope, seq: int, now: Instant, superseded_by: int | None) -> bool: ...
    def add_sources(self, scope: Scope, seq: int, message_seqs: Collection[int]) -> None: ...
    def live(self, scope: Scope, memory_id: str) -> MemoryRecord | None: ...
    def kept_elsewhere(self, scope: Scope, memory_id: str) -> Literal["user", "agent"] | None: ...
    def live_by_seq(self, scope: Scope, seqs: Collection[int]) -> tuple[MemoryRecord, ...]: ...
    def by_content(self, scope: Scope, content: str) -> MemoryRecord | None: ...
    def by_slot(self, scope: Scope, slot: str) -> tuple[MemoryRecord, ...]: ...
    def citing(self, scope: Scope, message_seqs: Collection[int]) -> tuple[MemoryRecord, ...]:
        """Return the live memories that rest on any of these messages."""
        ...

    def versions(self, scope: Scope, memory_id: str) -> tuple[MemoryRecord, ...]:
        """Return every version of a memory, the newest first, and those of others that these took the place of."""
        ...

    def buried(self, scope: Scope, content: str, newest_source: int) -> bool:
        """Return whether this was deleted on purpose and nobody has said it since."""
        ...

    def spent(self, scope: Scope, message_seqs: Collection[int]) -> frozenset[int]:
        """Return those of the messages that a deleted memory rested on: they are no evidence any more."""
        ...

    def page(self, scope: Scope, where: MemoryFilter, limit: int, offset: int) -> tuple[MemoryRecord, ...]: ...
    def count(self, scope: Scope, where: MemoryFilter) -> int: ...
    def chosen(self, scope: Scope, seqs: Collection[int], where: MemoryFilter) -> tuple[MemoryRecord, ...]:
        """Return those of the memories that are live and that the filter lets through."""
        ...

    def seqs(self, scope: Scope, where: MemoryFilter) -> tuple[int, ...]: ...
    def sources(self, scope: Scope, seq: int) -> tuple[Message, ...]: ...
    def replaced(self, scope: Scope, seq: int) -> tuple[MemoryRecord, ...]: ...
    def size(self, scope: Scope) -> int: ...
    def frequencies(self, scope: Scope, terms: Collection[str]) -> Mapping[str, int]: ...
    def match(
        self, scope: Scope, terms: Sequence[str], where: MemoryFilter, limit: int
    ) -> tuple[tuple[MemoryRecord, float], ...]: ...


class Profiles(Protocol):
    """L2 and L3, in versions."""

    def target(self, profile: Profile) -> ProfileTarget | None: ...
    def ensure(self, profile: Profile) -> ProfileTarget: ...
    def state(self, profile: Profile) -> ProfileState | None: ...
    def unconsumed(self, profile: Profile, limit: int) -> tuple[MemoryRecord, ...]: ...
    def known(self, profile: Profile, memory_seqs: Collection[int]) -> frozenset[int]:
        """Return which of these versions still exist, live or retired."""
        ...

    def mark_consumed(self, profile: Profile, memory_seqs: Collection[int]) -> None: ...
    def documents(self, profile: Profile, kind: DocumentKind) -> tuple[Document, ...]: ...
    def document(self, profile: Profile, kind: DocumentKind, path: str) -> Document | None: ...
    def sources(self, profile: Profile, document_seq: int) -> tuple[MemoryRecord, ...]: ...
    def versions(self, profile: Profile, kind: DocumentKind, path: str) -> tuple[tuple[Document, Instant | None], ...]:
        """Return every version of a document, the newest first, each with the time it was retired (None: live)."""
        ...

    def built_from(self, profile: Profile, kind: DocumentKind, memory_seq: int) -> tuple[Document, ...]: ...
    def write(self, profile: Profile, document: NewDocument) -> Document: ...
    def propose(self, profile: Profile, document: NewDocument) -> Document:
        """Keep a version that is not to take the live one's place: it is in the history, retired from the start."""
        ...

    def add_sources(self, profile: Profile, document_seq: int, memory_seqs: Collection[int]) -> None: ...
    def retire(self, profile: Profile, kind: DocumentKind, path: str, now: Instant) -> bool: ...
    def request_persona(self, profile: Profile, reason: str) -> None: ...
    def scenes_done(self, profile: Profile, now: Instant) -> None: ...
    def portrait_done(self, profile: Profile, now: Instant, last_memory: int, last_document: int) -> None: ...


class Jobs(Protocol):
    """Durable timers with leases. One job per (kind, target)."""

    def arm(self, kind: JobKind, target: Target, due_at: Instant, *, only_earlier: bool = False) -> None: ...
    def hurry(self, kind: JobKind, target: Target) -> None:
        """Let what is left when a running job ends be due at once."""
        ...

    def disarm(self, kind: JobKind, target: Target) -> None: ...
    def claim(self, worker: str, now: Instant, until: Instant, limit: int) -> tuple[Lease, ...]: ...
    def renew(self, lease: Lease, until: Instant) -> bool: ...
    def hold(self, lease: Lease) -> None:
        """Raise LeaseLost unless the lease is still the current one. Called first in every commit of a job."""
        ...

    def finish(self, lease: Lease, next_due: Instant | None) -> None: ...
    def fail(self, lease: Lease, due_at: Instant, error: str) -> None: ...
    def defer(self, lease: Lease, due_at: Instant, error: str) -> None:
        """Put a job off without counting a failed try."""
        ...

    def bury(self, lease: Lease, error: str) -> None: ...
    def revive(self, scope: Scope, profile: Profile, now: Instant) -> int: ...
    def next_due(self, now: Instant) -> Instant | None: ...
    def of(self, scope: Scope, profile: Profile) -> tuple[Job, ...]: ...
    def load(self, instance: str) -> Mapping[JobKind, LayerLoad]: ...
    def forgotten(self) -> tuple[Target, ...]:
        """Return sessions with undistilled messages, and profiles with unconsumed memories, that have no job."""
        ...

    def record(self, target: Target, run: RunRecord) -> None: ...
    def last_run(self, kind: JobKind, scope: Scope, profile: Profile) -> RunRecord | None: ...
    def hasten(self, kind: JobKind, now: Instant) -> int:
        """Make every waiting job of a kind due, whosever it is: for a shutdown."""
        ...


class Prompts(Protocol):
    """Custom prompts of an instance, what they are bound to, and the history of the bindings."""

    def add(self, instance: str, prompt: MemoryPrompt) -> None: ...
    def get(self, instance: str, prompt_id: str) -> MemoryPrompt | None: ...
    def count(self, instance: str) -> int: ...
    def page(
        self, instance: str, layer: Layer | None, limit: int, offset: int, *, newest_first: bool
    ) -> tuple[MemoryPrompt, ...]: ...
    def replace(self, instance: str, prompt: MemoryPrompt) -> None: ...
    def remove(self, instance: str, prompt_id: str) -> None: ...
    def bound(self, target: PromptTarget, layer: Layer) -> PromptSetting | None: ...
    def bound_to(self, instance: str, prompt_id: str) -> tuple[PromptSetting, ...]: ...
    def bind(self, setting: PromptSetting) -> None: ...
    def unbind(self, target: PromptTarget, layer: Layer) -> None: ...
    def settings(
        self, where: PromptFilter, limit: int, offset: int, *, newest_first: bool
    ) -> tuple[PromptSetting, ...]: ...
    def note_change(self, change: PromptSettingChange) -> None: ...
    def changes(
        self, where: PromptFilter, limit: int, offset: int, *, newest_first: bool
    ) -> tuple[PromptSettingChange, ...]: ...
    def effective(self, target: PromptTarget, layer: Layer) -> CustomPrompt | None:
        """Return the prompt in force: the agent's, else its team's, else the instance's; None: the built-in alone."""
        ...


class Generations(Protocol):
    """How rows came about: the runs, newest first. It names rows and owners, and holds no contents."""

    def page(
        self, instance: str, where: GenerationFilter, before: tuple[Instant, int] | None, limit: int
    ) -> tuple[Generation, ...]: ...
    def one(self, instance: str, run_id: int) -> Generation | None: ...
    def of_output(self, instance: str, layer: Layer, seq: int) -> tuple[Generation, ...]:
        """Return the runs that wrote or touched a row, newest first, each with its output of that row alone."""
        ...

    def names(self, instance: str, layer: EvidenceLayer, seqs: Collection[int]) -> Mapping[int, RowName]:
        """Return what rows are called; those that are gone or another instance's are left out."""
        ...

    def rows(self, instance: str, layer: Layer, record_id: str) -> tuple[int, ...]:
        """Return the rows of a memory or a document in all its versions, the newest first."""
        ...

    def prune(self, before: Instant) -> int:
        """Forget failed runs that ended before; return how many went."""
        ...


class Spendings(Protocol):
    """What models cost, by instance, day, owner and role."""

    def add(self, spending: Spending) -> None: ...
    def used_tokens(self, instance: str, day: str) -> int: ...
    def lines(self, instance: str, first_day: str, last_day: str) -> tuple[Spending, ...]: ...


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


class Vectors(Protocol):
    """Vectors of memories and messages, one per row, of one model at a time. Like the mirror it crosses scopes to fill gaps."""

    def model(self, name: str, dimensions: int) -> int:
        """Return the number of a model, giving it one if need be."""
        ...

    def scope_key(self, kind: VectorKind, scope: Scope) -> str | None: ...
    def agent_keys(self, kind: VectorKind, instance: str, chat_memory_id: str) -> tuple[str, ...]:
        """Return the keys of all scopes of an agent, named as in `Erasure.agent`."""
        ...

    def missing(self, kind: VectorKind, model: int, after_seq: int, limit: int) -> tuple[VectorText, ...]: ...
    def put(
        self, kind: VectorKind, model: int, texts: Mapping[int, str], vectors: Mapping[int, bytes]
    ) -> frozenset[int]:
        """Store vectors (float16 bytes, empty for a refused text) of rows that are still live; return which."""
        ...

    def newest(self, kind: VectorKind) -> int:
        """Return the highest seq that was ever given: a row above it came after what this transaction sees."""
        ...

    def ask_again(self, kind: VectorKind, model: int) -> tuple[int, ...]:
        """Forget that the model refused texts, so that they lack a vector again; return their seqs in order."""
        ...

    def coverage(self, kind: VectorKind, model: int) -> Coverage: ...


class Erasure(Protocol):
    """The one delete path. It reaches every copy: rows, terms, sources, documents, receipts, jobs and mirror files."""

    def messages(
        self, scope: Scope, message_ids: Collection[str], session_ids: Collection[str], task_id: str | None
    ) -> Deletion: ...
    def memories(self, scope: Scope, memory_ids: Collection[str], task_id: str | None) -> Deletion: ...
    def agent(self, instance: str, chat_memory_id: str) -> Deletion | None: ...
    def old_receipts(self, before: Instant) -> int: ...


class MirrorRows(Protocol):
    """What the readable mirror copies and how far it is. The one repository that crosses scopes: it copies all of them."""

    def position(self, name: str) -> int: ...
    def keep_position(self, name: str, position: int) -> None: ...
    def file_bytes(self, path: str) -> int: ...
    def keep_file(self, path: str, size: int) -> None: ...
    def messages_after(self, seq: int, limit: int) -> tuple[tuple[Scope, Message], ...]: ...
    def messages_of_day(self, instance: str, start: Instant, up_to: int) -> tuple[tuple[Scope, Message], ...]: ...
    def memories_after(self, seq: int, limit: int) -> tuple[MirroredMemory, ...]: ...
    def memories_of_day(self, instance: str, start: Instant, up_to: int) -> tuple[MirroredMemory, ...]: ...
    def progress_after(self, run: int, limit: int) -> tuple[MirroredProgress, ...]: ...
    def profile(self, name: str) -> MirroredProfile | None: ...
    def stale(self, limit: int) -> tuple[StaleFile, ...]: ...
    def mark_stale(self, stale: StaleFile) -> None: ...
    def clear_stale(self, stale: StaleFile) -> None: ...


class Repositories(Protocol):
    """All nouns of one unit of work."""

    @property
    def conversations(self) -> Conversations: ...
    @property
    def memories(self) -> Memories: ...
    @property
    def profiles(self) -> Profiles: ...
    @property
    def jobs(self) -> Jobs: ...
    @property
    def prompts(self) -> Prompts: ...
    @property
    def generations(self) -> Generations: ...
    @property
    def spending(self) -> Spendings: ...
    @property
    def vectors(self) -> Vectors: ...
    @property
    def erasure(self) -> Erasure: ...
    @property
    def mirror(self) -> MirrorRows: ...


class Store(Protocol):
    """A database. Errors: Unavailable (nothing was stored, try again), Misconfigured (damaged or not usable)."""

    async def write(self, work: Callable[[Repositories], T]) -> T: ...
    async def read(self, work: Callable[[Repositories], T], *, timeout_seconds: float = 10.0) -> T: ...
    def health(self) -> ComponentHealth: ...
    async def close(self) -> None: ...
