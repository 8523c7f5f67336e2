"""Why a memory, a scene or a portrait is as it is: the chain down to what was said.

Pure assembly over the repositories of one read. Scenes and portraits may be shared by an agent's users; what they rest
on is shown only as far as it is the asking scope's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from memstrata.provenance.derivation import document_derivations, memory_derivations
from memstrata.provenance.history import is_proposal
from memstrata.records import (
    PERSONA_PATH,
    Document,
    Evidence,
    MemoryRecord,
    PersonaEvidence,
    Profile,
    SceneEvidence,
    Scope,
    Support,
)
from memstrata.store.protocol import Repositories
from memstrata.text.analyser import index_terms, query_terms

__all__ = ["memory_evidence", "persona_evidence", "scene_evidence", "supporting"]


def memory_evidence(r: Repositories, scope: Scope, profile: Profile, memory_id: str) -> Evidence | None:
    """Return why a memory exists and what was built from it; None if the scope has no live one of that id."""
    memory = r.memories.live(scope, memory_id)
    if memory is None:
        return None
    replaced = tuple(old for old in r.memories.replaced(scope, memory.seq) if not is_proposal(old))
    personas = r.profiles.built_from(profile, "persona", memory.seq)
    return Evidence(
        memory=memory,
        messages=r.memories.sources(scope, memory.seq),
        replaced=replaced,
        scenes=r.profiles.built_from(profile, "scene", memory.seq),
        persona=personas[0] if personas else None,
        derivations=tuple(
            derivation for one in (memory, *replaced) for derivation in memory_derivations(r, scope.instance, one)
        ),
    )


def scene_evidence(r: Repositories, scope: Scope, profile: Profile, path: str) -> SceneEvidence | None:
    """Return what a live scene rests on; None if there is none of that path."""
    scene = r.profiles.document(profile, "scene", path)
    if scene is None:
        return None
    return SceneEvidence(
        scene=scene,
        supports=_supports(r, scope, _rests_on(r, scope, profile, scene)),
        derivations=document_derivations(r, scope.instance, scene),
    )


def persona_evidence(r: Repositories, scope: Scope, profile: Profile, line: str) -> PersonaEvidence | None:
    """Return what the portrait, or a line of it, rests on; None if there is no portrait."""
    persona = r.profiles.document(profile, "persona", PERSONA_PATH)
    if persona is None:
        return None
    memories = _rests_on(r, scope, profile, persona)
    if line.strip():
        memories = supporting(line, memories)
    scenes = {scene.seq: scene for one in memories for scene in r.profiles.built_from(profile, "scene", one.seq)}
    return PersonaEvidence(
        persona=persona,
        line=line,
        scenes=tuple(sorted(scenes.values(), key=lambda scene: (-scene.heat, scene.path))),
        supports=_supports(r, scope, memories),
        derivations=document_derivations(r, scope.instance, persona),
    )


def supporting(line: str, memories: Iterable[MemoryRecord]) -> tuple[MemoryRecord, ...]:
    """Return the memories that share words with a line, the closest first; none when none does.

    A word counts the more the fewer of the memories have it. Single characters count only where a line has nothing else:
    two statements in Chinese nearly always share one.
    """
    terms = query_terms(line)
    telling = {term for term in terms if len(term) > 1} or set(terms)
    shared = [(memory, telling.intersection(index_terms(memory.content))) for memory in memories]
    holders = Counter(term for _, found in shared for term in found)
    ranked = [(sum(1 / holders[term] for term in found), memory) for memory, found in shared if found]
    return tuple(memory for _, memory in sorted(ranked, key=lambda one: (-one[0], -one[1].seq)))


def _rests_on(r: Repositories, scope: Scope, profile: Profile, document: Document) -> tuple[MemoryRecord, ...]:
    """Return the live memories of this scope that a document was built from."""
    return r.memories.live_by_seq(scope, [memory.seq for memory in r.profiles.sources(profile, document.seq)])


def _supports(r: Repositories, scope: Scope, memories: Iterable[MemoryRecord]) -> tuple[Support, ...]:
    return tuple(Support(memory, r.memories.sources(scope, memory.seq)) for memory in memories)
