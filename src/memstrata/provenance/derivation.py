"""How one version came about, read from the runs that wrote or touched it: a model and a prompt, or rules; what was decided.

What a person wrote by hand has no run, and nothing is made up for it.
"""

from __future__ import annotations

from memstrata.records import Derivation, Document, Generation, Layer, MemoryRecord, VersionRef
from memstrata.store.protocol import Repositories

__all__ = ["document_derivations", "memory_derivations"]


def memory_derivations(r: Repositories, instance: str, memory: MemoryRecord) -> tuple[Derivation, ...]:
    """Return what runs did to a version of a memory, newest first."""
    subject = VersionRef(memory.memory_id, memory.version)
    return _derivations(r.generations.of_output(instance, "l1", memory.seq), subject)


def document_derivations(r: Repositories, instance: str, document: Document) -> tuple[Derivation, ...]:
    """Return what runs did to a version of a scene or a portrait, newest first."""
    layer: Layer = "l2" if document.kind == "scene" else "l3"
    subject = VersionRef(document.path, document.version)
    return _derivations(r.generations.of_output(instance, layer, document.seq), subject)


def _derivations(generations: tuple[Generation, ...], subject: VersionRef) -> tuple[Derivation, ...]:
    return tuple(
        Derivation(
            subject=subject,
            run_id=one.run_id,
            at=one.run.finished_at,
            action=output.action,
            model=one.run.provenance.model,
            mode=one.run.provenance.mode,
            prompt=one.run.provenance.prompt,
            note=output.note,
            notes=one.run.provenance.notes,
        )
        for one in generations
        for output in one.run.outputs
    )
