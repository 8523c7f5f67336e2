"""How a memory, a scene or a portrait came about: by which model and prompt, from what, decided how.

Ids and numbers only, never contents: this is what the generation log and the trace show.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from memstrata.records.prompt import Layer, PromptRef
from memstrata.records.spending import NO_USAGE, Usage

__all__ = ["NO_PROVENANCE", "Mode", "OutputAction", "Provenance", "RunOutput"]

Mode = Literal["chat", "work"]
"""What is looked for: a person's life (chat), or what a team needs to work together (work)."""

OutputAction = Literal["store", "update", "merge", "revise", "support", "propose", "write", "remove"]
"""What a run did to a row. `support`: evidence joined an unchanged memory; `propose`: a pinned one was left as it is."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a proposal was made. Without a model it was made by rules. `notes` tell what was refused on the way."""

    model: str = ""
    mode: Mode = "chat"
    prompt: PromptRef | None = None
    usage: Usage = NO_USAGE
    notes: tuple[str, ...] = ()

    def __add__(self, other: Provenance) -> Provenance:
        return Provenance(
            self.model or other.model,
            self.mode,
            self.prompt or other.prompt,
            self.usage + other.usage,
            self.notes + other.notes,
        )


NO_PROVENANCE: Final = Provenance()
"""Of what was made by rules, or by hand."""


@dataclass(frozen=True, slots=True)
class RunOutput:
    """One row that a run wrote or touched, and the rows of the layer below that it rests on.

    `seq` and `inputs` are row numbers: l1 of a memory from messages, l2 of a document from memories, l3 of a document
    from documents. `replaced` are the rows of its own layer whose place it took.
    """

    layer: Layer
    seq: int
    action: OutputAction
    inputs: tuple[int, ...] = field(default=())
    replaced: tuple[int, ...] = field(default=())
    note: str = ""
