"""L2 scenes and the L3 persona: Markdown in versions, each with the memories it was built from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memstrata.clock import Instant
from memstrata.records.memory import Origin

__all__ = ["PERSONA_PATH", "Document", "DocumentKind", "NewDocument"]

DocumentKind = Literal["scene", "persona"]
PERSONA_PATH = "persona.md"


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A version about to be written. `body` holds no META block and no navigation: those are rendered."""

    kind: DocumentKind
    path: str
    body: str
    summary: str
    heat: int
    origin: Origin
    created_at: Instant
    updated_at: Instant
    memory_seqs: tuple[int, ...]  # the L1 versions it was built from


@dataclass(frozen=True, slots=True)
class Document:
    """One stored version of a scene or a persona. The live one of a path is the last that was written, not only proposed."""

    seq: int
    kind: DocumentKind
    path: str
    version: int
    body: str
    summary: str
    heat: int
    origin: Origin
    created_at: Instant
    updated_at: Instant
