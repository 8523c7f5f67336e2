"""The versions of a memory, a scene or a portrait, newest first: what held when, who wrote it, and what was only proposed.

Row numbers stay inside: a version is told by the name that callers know and its number.
"""

from __future__ import annotations

from memstrata.clock import Instant
from memstrata.provenance.derivation import document_derivations, memory_derivations
from memstrata.records import (
    Derivation,
    Document,
    DocumentKind,
    DocumentVersion,
    MemoryRecord,
    MemoryVersion,
    Profile,
    Scope,
    VersionRef,
)
from memstrata.store.protocol import Repositories

__all__ = ["document_history", "is_proposal", "memory_history"]


def memory_history(r: Repositories, scope: Scope, memory_id: str) -> tuple[MemoryVersion, ...]:
    """Return every version of a memory and of those it absorbed; nothing if the scope never had one of that id."""
    versions = r.memories.versions(scope, memory_id)
    successors = {version.superseded_by for version in versions if version.superseded_by is not None}
    # What a memory was merged into may be no version of it.
    named = r.generations.names(scope.instance, "l1", successors)
    names = {seq: VersionRef(one.record_id, one.version) for seq, one in named.items()}
    return tuple(
        MemoryVersion(
            memory=version,
            superseded_by=None if version.superseded_by is None else names.get(version.superseded_by),
            message_ids=tuple(message.message_id for message in r.memories.sources(scope, version.seq)),
            proposal=is_proposal(version),
            derivations=memory_derivations(r, scope.instance, version),
        )
        for version in versions
    )


def document_history(r: Repositories, profile: Profile, kind: DocumentKind, path: str) -> tuple[DocumentVersion, ...]:
    """Return every version of a document, removed ones too; nothing if there never was one of that path."""
    found = []
    for document, valid_to in r.profiles.versions(profile, kind, path):
        derivations = document_derivations(r, profile.instance, document)
        found.append(DocumentVersion(document, valid_to, _was_proposed(document, valid_to, derivations), derivations))
    return tuple(found)


def is_proposal(memory: MemoryRecord) -> bool:
    """Whether a version never held: it was retired as it was written, beside what a person had written.

    The mark alone would not do, because a distiller may put anything into what it proposes.
    """
    return memory.metadata.get("proposal") is True and memory.valid_to == memory.updated_at


def _was_proposed(document: Document, valid_to: Instant | None, derivations: tuple[Derivation, ...]) -> bool:
    """A document carries no mark: it tells by its end, unless a run or a person wrote it and lost it in the same instant."""
    written = document.origin == "human" or any(one.action == "write" for one in derivations)
    return valid_to == document.updated_at and not written
