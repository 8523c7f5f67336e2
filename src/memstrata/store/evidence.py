"""What rests on what: the layers from messages up, and the rows that the outputs of runs refer to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from memstrata.records import Layer, RunOutput

__all__ = ["BELOW", "EvidenceLayer", "rows_of"]

EvidenceLayer = Literal["l0"] | Layer
"""Layers that something can rest on or be written in; l0 are messages."""

BELOW: Final[Mapping[Layer, EvidenceLayer]] = {"l1": "l0", "l2": "l1", "l3": "l2"}
"""Which layer a layer is made from."""


def rows_of(outputs: Iterable[RunOutput]) -> dict[EvidenceLayer, set[int]]:
    """Return the numbers of all rows that outputs are, rest on, or took the place of."""
    rows: dict[EvidenceLayer, set[int]] = {"l0": set(), "l1": set(), "l2": set(), "l3": set()}
    for output in outputs:
        rows[output.layer] |= {output.seq, *output.replaced}
        rows[BELOW[output.layer]] |= {*output.inputs}
    return rows
