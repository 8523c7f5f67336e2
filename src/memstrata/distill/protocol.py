"""What a distiller is: four questions, each answered with a proposal that code validates before anything is stored.

Two implement it: `rules` (no model) and, with a model configured, the one that calls it. Neither touches the store.
A distiller reports failure as a value, because "failed" must never look like "nothing to remember".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from memstrata.clock import Instant
from memstrata.records import Document, MemoryDraft, MemoryRecord, Message, Origin, Poison, Profile, Retry, Scope

__all__ = [
    "Decision",
    "Decisions",
    "Distiller",
    "Extraction",
    "MessageBatch",
    "PersonaDraft",
    "PersonaRequest",
    "Poison",
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


@dataclass(frozen=True, slots=True)
class Extraction:
    """Drafts in order of appearance; empty means there was truly nothing to keep."""

    drafts: tuple[MemoryDraft, ...]
    scene_name: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one draft. `draft` is its final form (merged text and all).

    store: new. update: takes the place of `target_seqs`. merge: joins them. skip: adds nothing; its sources are
    united with the first target's. Targets must be among the candidates that were shown.
    """

    action: Literal["store", "update", "merge", "skip"]
    draft: MemoryDraft
    target_seqs: tuple[int, ...] = ()

    def with_targets(self, target_seqs: tuple[int, ...]) -> Decision:
        """Return the same decision about other targets; without any, an update or merge is a plain new memory."""
        action = self.action if target_seqs or self.action == "skip" else "store"
        return Decision(action, self.draft, target_seqs)


@dataclass(frozen=True, slots=True)
class Decisions:
    """One decision per draft, in the order of the drafts."""

    items: tuple[Decision, ...]


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
    """A whole new state is never given: only what changes. Heat, times and META are written by code."""

    writes: tuple[SceneWrite, ...]
    removals: tuple[str, ...] = ()
    persona_request: str = ""  # why the portrait should be renewed now; empty when it need not be


@dataclass(frozen=True, slots=True)
class PersonaRequest:
    """What L3 looks at: the scenes, hottest first, and the portrait so far (empty at the first time)."""

    profile: Profile
    language: str
    scenes: tuple[SceneView, ...]
    previous_body: str
    now: Instant


@dataclass(frozen=True, slots=True)
class PersonaDraft:
    """The whole portrait, at most 2000 characters, and the memories it rests on."""

    body: str
    memory_seqs: tuple[int, ...]


class Distiller(Protocol):
    """Turns messages into memories, memories into scenes, scenes into a portrait."""

    origin: Origin

    async def extract(self, batch: MessageBatch) -> Extraction | Retry | Poison: ...
    async def resolve(
        self, drafts: Sequence[MemoryDraft], candidates: Sequence[Sequence[MemoryRecord]]
    ) -> Decisions | Retry | Poison:
        """Decide about each draft; `candidates[i]` are the live memories that may concern `drafts[i]`."""
        ...

    async def consolidate(self, request: SceneRequest) -> SceneDraft | Retry | Poison: ...
    async def portray(self, request: PersonaRequest) -> PersonaDraft | Retry | Poison: ...
