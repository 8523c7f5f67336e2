"""What a distiller is: four questions, each answered with a proposal that code validates before anything is stored.

Two implement it: `rules` (no model) and, with a model configured, the one that calls it. Neither touches the store.
A distiller reports failure as a value, because "failed" must never look like "nothing to remember".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

from memstrata.clock import Instant
from memstrata.records import (
    CustomPrompt,
    Document,
    MemoryDraft,
    MemoryRecord,
    Message,
    Origin,
    Poison,
    Profile,
    Provenance,
    Retry,
    Scope,
)
from memstrata.records.generation import NO_PROVENANCE

__all__ = [
    "Decision",
    "Decisions",
    "Distiller",
    "Extraction",
    "MessageBatch",
    "PersonaDraft",
    "PersonaRequest",
    "Poison",
    "ResolveRequest",
    "Retry",
    "SceneDraft",
    "SceneRequest",
    "SceneView",
    "SceneWrite",
]


@dataclass(frozen=True, slots=True)
class MessageBatch:
    """What L1 looks at: the messages to distill, in `seq` order, and some before them for understanding only."""

    scope: Scope
    session_id: str
    previous_scene: str
    background: tuple[Message, ...]
    messages: tuple[Message, ...]
    user_name: str = ""  # from identity, never guessed; empty when it is not known
    custom: CustomPrompt | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """Drafts in order of appearance; empty means there was truly nothing to keep."""

    drafts: tuple[MemoryDraft, ...]
    scene_name: str
    provenance: Provenance = NO_PROVENANCE


@dataclass(frozen=True, slots=True)
class ResolveRequest:
    """What is decided on: the drafts of one batch, and the live memories of the scope that may concern them.

    `candidates[i]` were found for `drafts[i]`; any of them may be a target of any draft. `alike` are pairs of places of
    drafts that are similar to each other. Where both are empty there is nothing to decide.
    """

    scope: Scope
    language: str  # of the drafts' text: "zh", "en", …
    drafts: tuple[MemoryDraft, ...]
    candidates: tuple[tuple[MemoryRecord, ...], ...]
    alike: tuple[tuple[int, int], ...] = ()

    @property
    def pool(self) -> tuple[MemoryRecord, ...]:
        """Every candidate once, in the order of `seq`."""
        rows = {row.seq: row for rows in self.candidates for row in rows}
        return tuple(rows[seq] for seq in sorted(rows))


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one draft. `draft` is its final form (merged text and all).

    store: new. update: takes the place of `target_seqs`. merge: joins them. revise: the memory in `target_seqs` holds a
    value that a draft of the batch has changed; `draft` is that memory in its new words, citing what changed it. skip:
    adds nothing; its sources are united with the first target's. Targets must be among the candidates that were shown.
    `note` tells what else was proposed and refused.
    """

    action: Literal["store", "update", "merge", "revise", "skip"]
    draft: MemoryDraft
    target_seqs: tuple[int, ...] = ()
    note: str = ""

    def with_targets(self, target_seqs: tuple[int, ...]) -> Decision:
        """Return the same decision about other targets. Without any, an update or merge is a plain new memory, and a
        revision nothing at all.
        """
        if target_seqs or self.action == "skip":
            return replace(self, target_seqs=target_seqs)
        return replace(self, action="skip" if self.action == "revise" else "store", target_seqs=())


@dataclass(frozen=True, slots=True)
class Decisions:
    """One decision per draft, in the order of the drafts; revisions of other memories follow."""

    items: tuple[Decision, ...]
    provenance: Provenance = NO_PROVENANCE


@dataclass(frozen=True, slots=True)
class SceneView:
    """A live scene and the live memories it was built from."""

    document: Document
    memories: tuple[MemoryRecord, ...]


@dataclass(frozen=True, slots=True)
class SceneRequest:
    """What L2 looks at: memories not yet consumed, in `seq` order, and every scene of the profile."""

    profile: Profile
    language: str  # of the memories' text: "zh", "en", …
    memories: tuple[MemoryRecord, ...]
    scenes: tuple[SceneView, ...]
    max_scenes: int
    now: Instant
    custom: CustomPrompt | None = None


@dataclass(frozen=True, slots=True)
class SceneWrite:
    """A scene to create, or to replace when its path exists. `absorbs` are paths that it takes over and that go."""

    path: str
    body: str
    summary: str
    memory_seqs: tuple[int, ...]
    absorbs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SceneDraft:
    """A whole new state is never given: only what changes. Heat, times and META are written by code.

    `unseen`: memories of the request that were not shown after all and wait for the next run.
    """

    writes: tuple[SceneWrite, ...]
    removals: tuple[str, ...] = ()
    persona_request: str = ""  # why the portrait should be renewed now; empty when it need not be
    unseen: tuple[int, ...] = ()
    provenance: Provenance = NO_PROVENANCE


@dataclass(frozen=True, slots=True)
class PersonaRequest:
    """What L3 looks at: the scenes, hottest first, and the portrait so far (empty at the first time).

    `changed` are the paths of scenes whose version no portrait has seen; `reason` says why a new one is due.
    """

    profile: Profile
    language: str
    scenes: tuple[SceneView, ...]
    previous_body: str
    now: Instant
    reason: str = ""
    changed: frozenset[str] = frozenset()
    custom: CustomPrompt | None = None


@dataclass(frozen=True, slots=True)
class PersonaDraft:
    """The whole portrait, at most 2000 characters, and the memories it rests on."""

    body: str
    memory_seqs: tuple[int, ...]
    provenance: Provenance = NO_PROVENANCE


class Distiller(Protocol):
    """Turns messages into memories, memories into scenes, scenes into a portrait."""

    origin: Origin

    async def extract(self, batch: MessageBatch) -> Extraction | Retry | Poison: ...
    async def resolve(self, request: ResolveRequest) -> Decisions | Retry | Poison: ...
    async def consolidate(self, request: SceneRequest) -> SceneDraft | Retry | Poison: ...
    async def portray(self, request: PersonaRequest) -> PersonaDraft | Retry | Poison: ...
