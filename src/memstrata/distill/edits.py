"""What a person changes by hand: a new version in their name, never an edit in place.

Works for the store; each returns the version it wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from memstrata.clock import Instant
from memstrata.distill.scenes.meta import one_line, parse_scene
from memstrata.distill.scenes.names import MAX_NAME_LENGTH, check_path, fold_path
from memstrata.distill.scenes.navigation import strip_navigation
from memstrata.distill.validate import MAX_SUMMARY
from memstrata.errors import Conflict, Forbidden, InvalidRequest, NotFound
from memstrata.records import PERSONA_PATH, Document, MemoryRecord, NewDocument, NewMemory, Profile, Scope
from memstrata.store.protocol import Repositories
from memstrata.text.analyser import index_terms
from memstrata.text.graphemes import cut
from memstrata.text.wellformed import well_formed

__all__ = ["corrected_memory", "created_scene", "edited_persona", "edited_scene", "refusal", "version_by_hand"]

MAX_CONTENT = 8_192


def refusal(r: Repositories, scope: Scope, memory_id: str) -> Forbidden | NotFound:
    """Return why a memory that a scope does not have cannot be used: another's of the team, or nobody's."""
    owner = r.memories.kept_elsewhere(scope, memory_id)
    if owner is not None:
        return Forbidden(f"memory {memory_id[:64]} belongs to a different {owner}")
    return NotFound(f"Atomic note not found: {memory_id[:64]}")


def corrected_memory(
    scope: Scope, profile: Profile, memory_id: str, content: str, scene_name: str | None, now: Instant
) -> Callable[[Repositories], MemoryRecord]:
    """Return the work that replaces a memory's text. It raises NotFound, or Forbidden if the memory is not the caller's."""
    if len(content) > MAX_CONTENT:
        raise InvalidRequest(f"at most {MAX_CONTENT} characters, got {len(content)}", field="content")

    text = well_formed(content)

    def work(r: Repositories) -> MemoryRecord:
        old = r.memories.live(scope, memory_id)
        if old is None:
            raise refusal(r, scope, memory_id)
        named = old if scene_name is None else replace(old, scene_name=one_line(well_formed(scene_name)))
        sources = {message.seq for message in r.memories.sources(scope, old.seq)}
        new = r.memories.add(scope, profile, version_by_hand(named, old.version + 1, text, old.content, sources, now))
        r.memories.retire(scope, old.seq, now, new.seq)
        return new

    return work


def version_by_hand(
    old: MemoryRecord, number: int, content: str, replaced: str, source_seqs: Collection[int], now: Instant
) -> NewMemory:
    """Return a version in a person's name that is like `old` but for its text. `replaced` is the text that it ends."""
    return NewMemory(
        memory_id=old.memory_id,
        version=number,
        content=content,
        type=old.type,
        priority=old.priority,
        scene_name=old.scene_name,
        applies_to=old.applies_to,
        slot=old.slot,
        session_id=old.session_id,
        task_id=old.task_id,
        origin="human",
        happened_from=old.happened_from,
        happened_to=old.happened_to,
        metadata={**old.metadata, "replaced": replaced},  # L2 takes the old value out of its scenes by this
        created_at=old.created_at,
        updated_at=now,
        source_seqs=tuple(sorted(source_seqs)),
        terms=index_terms(content),
    )


def edited_scene(
    profile: Profile, path: str, content: str, summary: str | None, now: Instant
) -> Callable[[Repositories], Document]:
    """Return the work that replaces a scene's text; META in `content` is taken off. It raises NotFound."""
    check_path(path)
    parsed = parse_scene(well_formed(content))

    def work(r: Repositories) -> Document:
        old = r.profiles.document(profile, "scene", path)
        if old is None:
            raise NotFound(f"Scenario file not found: {path}")
        said = cut(
            one_line(well_formed(summary) if summary is not None else parsed.summary or old.summary), MAX_SUMMARY, "…"
        )
        sources = tuple(memory.seq for memory in r.profiles.sources(profile, old.seq))
        document = NewDocument(
            "scene", path, parsed.body, said, old.heat, "human", old.created_at, now, sources
        )  # fmt: skip
        return r.profiles.write(profile, document)

    return work


def created_scene(
    profile: Profile, path: str, content: str, summary: str | None, now: Instant
) -> Callable[[Repositories], Document]:
    """Return the work that writes a scene which is not there yet.

    It raises Conflict where the path is taken, as a scene or as a folder of some, also for a file system that takes two
    spellings for one. Raises InvalidRequest for a path that names no file.
    """
    check_path(path)
    if any(not part.strip(". ") or len(part) > MAX_NAME_LENGTH for part in path.split("/")):
        raise InvalidRequest(f"each part must be a name of at most {MAX_NAME_LENGTH} characters", field="path")
    parsed = parse_scene(well_formed(content))
    said = cut(one_line(well_formed(summary if summary is not None else parsed.summary or "")), MAX_SUMMARY, "…")
    folded = fold_path(path)

    def work(r: Repositories) -> Document:
        for other in (fold_path(scene.path) for scene in r.profiles.documents(profile, "scene")):
            if folded == other or folded.startswith(f"{other}/") or other.startswith(f"{folded}/"):
                raise Conflict(f"Scenario file exists already: {path}")
        return r.profiles.write(profile, NewDocument("scene", path, parsed.body, said, 1, "human", now, now, ()))

    return work


def edited_persona(profile: Profile, content: str, now: Instant) -> Callable[[Repositories], Document]:
    """Return the work that replaces the portrait; a scene navigation at the end of `content` is cut off."""
    body = strip_navigation(well_formed(content)).strip()

    def work(r: Repositories) -> Document:
        old = r.profiles.document(profile, "persona", PERSONA_PATH)
        created = old.created_at if old else now
        return r.profiles.write(profile, NewDocument("persona", PERSONA_PATH, body, "", 1, "human", created, now, ()))

    return work
