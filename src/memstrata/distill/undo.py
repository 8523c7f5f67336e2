"""Taking a change back: what held before holds again, as new versions in a person's name. Nothing is edited or lost.

Works for the store, as those of `distill.edits`. A version that holds again cites the messages that it cited before. The
one that is taken back keeps its own in the history: what was said to bring the change about is no evidence for what was
there before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memstrata.clock import Instant
from memstrata.distill.edits import refusal, version_by_hand
from memstrata.distill.scenes.names import check_path
from memstrata.errors import Conflict, NotFound
from memstrata.records import (
    PERSONA_PATH,
    Document,
    DocumentKind,
    MemoryRecord,
    NewDocument,
    Profile,
    Scope,
)
from memstrata.store.protocol import Repositories

__all__ = ["restored_persona", "restored_scene", "undone_memory"]


@dataclass(frozen=True, slots=True)
class _Change:
    """The last change of a memory: the live versions that it made, and those whose place they took."""

    made: tuple[MemoryRecord, ...]
    replaced: tuple[MemoryRecord, ...]


def undone_memory(
    scope: Scope, profile: Profile, memory_id: str, now: Instant
) -> Callable[[Repositories], tuple[MemoryRecord, ...]]:
    """Return the work that takes back the last change of a memory and returns what holds again.

    A merge comes apart into the memories that it was made of, and undoing that makes it whole again. Undoing the same
    memory twice brings back the change; it does not go further into the past. The work raises NotFound or Forbidden as
    a correction does, and Conflict if the memory never took another's place, or if what was taken apart has changed
    since.
    """

    def work(r: Repositories) -> tuple[MemoryRecord, ...]:
        live = r.memories.live(scope, memory_id)
        if live is None:
            raise refusal(r, scope, memory_id)
        change = _last_change(r, scope, live)
        twins = _twins(r, scope, change)
        restored = tuple(_again(r, scope, profile, old, live, twins.get(old.seq), now) for old in change.replaced)
        for made in change.made:
            r.memories.retire(scope, made.seq, now, restored[0].seq)
        for old, new in zip(change.replaced, restored, strict=True):
            if old.seq in twins:
                r.memories.retire(scope, twins[old.seq].seq, now, new.seq)
        return restored

    return work


def restored_scene(profile: Profile, path: str, version: int, now: Instant) -> Callable[[Repositories], Document]:
    """Return the work that writes an old version of a scene anew, removed or not. It raises NotFound."""
    check_path(path)
    return lambda r: _restored(r, profile, "scene", path, version, now)


def restored_persona(profile: Profile, version: int, now: Instant) -> Callable[[Repositories], Document]:
    """Return the work that writes an old version of the portrait anew. It raises NotFound."""
    return lambda r: _restored(r, profile, "persona", PERSONA_PATH, version, now)


def _last_change(r: Repositories, scope: Scope, live: MemoryRecord) -> _Change:
    """Return what is to be taken back. Raises Conflict if there is nothing, or if a part of it has moved on."""
    versions = r.memories.versions(scope, live.memory_id)
    replaced = _replaced_by(live, versions)
    if not replaced:
        return _last_change(r, scope, _first_part(r, scope, live, versions))
    made = [live]
    for whole in replaced:
        if whole.memory_id == live.memory_id:
            continue
        # It was a merge that an undo took apart: the other parts came back together with this one.
        for part in _replaced_by(whole, versions):
            back = _came_back(r, scope, part.memory_id, after=whole)
            if part.memory_id == live.memory_id or back is None:
                continue
            if back.valid_to is not None:
                raise Conflict(f"memory {part.memory_id[:64]}, a part of the same merge, has changed since")
            made.append(back)
    return _Change(tuple(made), replaced)


def _first_part(r: Repositories, scope: Scope, live: MemoryRecord, versions: Sequence[MemoryRecord]) -> MemoryRecord:
    """Return the part of a merge that came back together with this one, and that is said to have taken the merge's place.

    Raises Conflict if this is no such part: then it never took another's place.
    """
    earlier = [one for one in versions if one.memory_id == live.memory_id and one.seq < live.seq]
    last = max(earlier, key=lambda one: one.seq, default=None)
    if last is not None and last.superseded_by is not None:
        names = r.generations.names(scope.instance, "l1", [last.superseded_by])
        for name in names.values():
            whole = next(one for one in r.memories.versions(scope, name.record_id) if one.seq == last.superseded_by)
            successor = whole.superseded_by
            if (
                successor is not None
                and whole.seq < successor
                and (found := r.memories.live_by_seq(scope, [successor]))
            ):
                return found[0]
    raise Conflict(f"nothing to undo: memory {live.memory_id[:64]} took no other version's place")


def _replaced_by(version: MemoryRecord, versions: Sequence[MemoryRecord]) -> tuple[MemoryRecord, ...]:
    """Return the versions whose place one took, in the order they were written.

    Later rows that point to it never held: they came too late, or were proposed only.
    """
    rows = [one for one in versions if one.superseded_by == version.seq and one.seq < version.seq]
    return tuple(sorted(rows, key=lambda one: one.seq))


def _came_back(r: Repositories, scope: Scope, memory_id: str, after: MemoryRecord) -> MemoryRecord | None:
    """Return the version in which a part of a merge came back, None if it did not."""
    later = [one for one in r.memories.versions(scope, memory_id) if one.memory_id == memory_id and one.seq > after.seq]
    return min(later, key=lambda one: one.seq, default=None)


def _twins(r: Repositories, scope: Scope, change: _Change) -> dict[int, MemoryRecord]:
    """Return, by the seq of what comes back, the live memory that has come to say the same; one must not stand twice."""
    made = {one.seq for one in change.made}
    found = {old.seq: r.memories.by_content(scope, old.content) for old in change.replaced}
    return {seq: twin for seq, twin in found.items() if twin is not None and twin.seq not in made}


def _again(
    r: Repositories,
    scope: Scope,
    profile: Profile,
    old: MemoryRecord,
    undone: MemoryRecord,
    twin: MemoryRecord | None,
    now: Instant,
) -> MemoryRecord:
    """Write a version that says what `old` said; the messages that a twin cites are its evidence as well."""
    numbers = [one.version for one in r.memories.versions(scope, old.memory_id) if one.memory_id == old.memory_id]
    rows = (old,) if twin is None else (old, twin)
    sources = {message.seq for row in rows for message in r.memories.sources(scope, row.seq)}
    version = version_by_hand(old, max(numbers) + 1, old.content, undone.content, sources, now)
    return r.memories.add(scope, profile, version)


def _restored(r: Repositories, profile: Profile, kind: DocumentKind, path: str, version: int, now: Instant) -> Document:
    """Write an old version anew. A proposal may be restored like any other: that is how a person accepts it."""
    versions = [document for document, _ in r.profiles.versions(profile, kind, path)]
    old = next((document for document in versions if document.version == version), None)
    if old is None:
        raise NotFound(f"{path} has no version {version}" if versions else f"no such document: {path}")
    live = r.profiles.document(profile, kind, path)
    sources = tuple(memory.seq for memory in r.profiles.sources(profile, old.seq))
    document = NewDocument(
        kind=kind,
        path=path,
        body=old.body,
        summary=old.summary,
        heat=live.heat if live else old.heat,
        origin="human",
        created_at=old.created_at,
        updated_at=now,
        memory_seqs=sources,
    )
    return r.profiles.write(profile, document)
