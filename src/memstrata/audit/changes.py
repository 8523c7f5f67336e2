"""What the verbs of `Memory` tell the trail: whose, which rows by id and version, how many. None where nothing changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from memstrata.ids import document_id
from memstrata.records import Deletion, Document, DocumentKind, MemoryRecord, Profile, Receipt, Scope, Shown
from memstrata.records.audit import Change

__all__ = ["added", "cleared", "deleted", "documented", "injected", "remembered", "removed_scenes"]


def added(scope: Scope, session_id: str, receipt: Receipt) -> Change | None:
    """Tell of messages that were stored; a replay stores none."""
    if receipt.replayed:
        return None
    ids = {"session": (session_id,), "message": receipt.message_ids}
    return Change.of(scope, "message.add", ids, {"messages": len(receipt.message_ids)})


def deleted(
    scope: Scope, action: str, asked: Collection[str], sessions: Collection[str], done: Deletion
) -> Change | None:
    """Tell of a deletion: what was asked for, and what went."""
    noun = action.partition(".")[0]
    counts = {"messages": done.messages, "memories": done.memories, "documents": done.documents}
    return Change.of(scope, action, {noun: asked, "session": sessions}, counts) if any(counts.values()) else None


def remembered(scope: Scope, action: str, *records: MemoryRecord) -> Change:
    """Tell of memories that a person changed, by the versions that hold now."""
    return Change.of(scope, action, {"memory": [(one.memory_id, one.version) for one in records]})


def documented(profile: Profile, action: str, document: Document) -> Change:
    """Tell of a scene or a portrait that a person wrote."""
    return Change.of(profile, action, {document.kind: [_version(profile, document)]})


def removed_scenes(profile: Profile, paths: Sequence[str]) -> Change | None:
    """Tell of scenes that a person removed."""
    ids = [_document(profile, "scene", path) for path in paths]
    return Change.of(profile, "scene.remove", {"scene": ids}) if ids else None


def cleared(instance: str, asset_ids: Sequence[str], deletions: Sequence[Deletion]) -> Change:
    """Tell of agents whose memory was emptied."""
    counts = {
        "messages": sum(one.messages for one in deletions),
        "memories": sum(one.memories for one in deletions),
        "documents": sum(one.documents for one in deletions),
    }
    return Change(instance, "agent.clear", ids={"asset": asset_ids}, counts=counts)


def injected(scope: Scope, profile: Profile, shown: Shown) -> Change:
    """Tell of what stands in a recall's blocks, borrowed memory too."""
    ids: dict[str, list[str | tuple[str, int]]] = {
        "memory": [(one.memory_id, one.version) for one in shown.memories],
        "scene": [],
        "persona": [],
    }
    for lender, document in shown.documents:
        owner = profile if lender is None else Profile(scope.instance, lender.team, lender.agent, profile.user)
        ids[document.kind].append(_version(owner, document))
    return Change.of(scope, "recall.inject", ids)


def _version(profile: Profile, document: Document) -> tuple[str, int]:
    return _document(profile, document.kind, document.path), document.version


def _document(profile: Profile, kind: DocumentKind, path: str) -> str:
    return document_id(profile.instance, profile.team, profile.agent, profile.user, kind, path)
