"""The record of one generation: who it was for, what made it, what it rests on, what it wrote. References, no contents.

Runs refer to rows by number; a record names them as they are known outside. Source: wire contract §4.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memstrata.provenance.log_ids import GenerationStatus, LogId, status_of
from memstrata.records import Generation, Layer, OutputAction, PromptRef, RunOutput
from memstrata.store.evidence import BELOW, EvidenceLayer, rows_of
from memstrata.store.protocol import Generations
from memstrata.store.shapes import RowName

__all__ = ["GenerationRecord", "GenerationStatus", "Names", "OutputRecord", "RowRef", "describe", "names_of"]

Names = Mapping[EvidenceLayer, Mapping[int, RowName]]
"""What rows are called, by layer and number."""

_CODE = re.compile(r"[a-z_]+")


@dataclass(frozen=True, slots=True)
class RowRef:
    """A message (l0), a memory (l1), a scene (l2) or a persona (l3)."""

    layer: EvidenceLayer
    record_id: str


@dataclass(frozen=True, slots=True)
class OutputRecord:
    """One record that the run wrote or touched, with what this one rests on and what it took the place of."""

    ref: RowRef
    version: int
    action: OutputAction
    inputs: tuple[RowRef, ...]
    replaced: tuple[RowRef, ...]
    note: str


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    """A run as the log shows it. `anchor` is the first record that it wrote; codes and texts are empty without error."""

    log_id: LogId
    generation: Generation
    status: GenerationStatus
    prompt: PromptRef
    anchor: str | None
    outputs: tuple[OutputRecord, ...]
    input_refs: tuple[RowRef, ...]
    output_refs: tuple[RowRef, ...]
    error_code: str
    error_message: str

    @property
    def generation_id(self) -> str:
        return self.log_id.generation_id(self.generation.instance)


def names_of(r: Generations, instance: str, generations: Iterable[Generation]) -> Names:
    """Return the names of all rows that these generations refer to."""
    referred = rows_of(output for one in generations for output in one.run.outputs)
    return {layer: r.names(instance, layer, seqs) for layer, seqs in referred.items()}


def describe(generation: Generation, names: Names, only: tuple[Layer, int] | None = None) -> GenerationRecord:
    """Return the record of a generation; with `only`, its references are those of that output row alone."""
    run = generation.run
    outputs = [_output(one, names) for one in run.outputs if only in (None, (one.layer, one.seq))]
    anchor = names[run.outputs[0].layer][run.outputs[0].seq].record_id if run.outputs else None
    status = status_of(run)
    code, message = _error(run.error) if status == "failed" else ("", "")
    return GenerationRecord(
        log_id=LogId.of(generation.run_id, run, anchor),
        generation=generation,
        status=status,
        prompt=run.provenance.prompt or PromptRef(f"builtin:{run.kind}"),
        anchor=anchor,
        outputs=tuple(outputs),
        input_refs=_each_once(ref for one in outputs for ref in one.inputs),
        output_refs=_each_once(one.ref for one in outputs),
        error_code=code,
        error_message=message,
    )


def _output(output: RunOutput, names: Names) -> OutputRecord:
    def refs(layer: EvidenceLayer, seqs: Iterable[int]) -> tuple[RowRef, ...]:
        return _each_once(RowRef(layer, names[layer][seq].record_id) for seq in seqs)

    name = names[output.layer][output.seq]
    return OutputRecord(
        ref=RowRef(output.layer, name.record_id),
        version=name.version,
        action=output.action,
        inputs=refs(BELOW[output.layer], output.inputs),
        replaced=refs(output.layer, output.replaced),
        note=output.note,
    )


def _error(text: str) -> tuple[str, str]:
    code, found, message = text.partition(": ")
    return (code, message) if found and _CODE.fullmatch(code) else ("failed", text)


def _each_once(refs: Iterable[RowRef]) -> tuple[RowRef, ...]:
    """A record in several versions is one reference."""
    return tuple(dict.fromkeys(refs))
