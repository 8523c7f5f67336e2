"""What the four questions to a model share: settings, names instead of numbers, fences, and the record of how it went.

A model sees short aliases and never a real id (invariant 5). What people wrote stands behind marks that a text cannot
forge, because they carry a number drawn for this call alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Final

from memstrata.records import CustomPrompt, Layer, Mode, Poison, PromptRef, Provenance, Retry, Usage

__all__ = ["BUILTIN_VERSIONS", "Aliases", "CallSettings", "failed", "new_mark", "prompt_ref", "provenance"]

BUILTIN_VERSIONS: Final[Mapping[Layer, int]] = {"l1": 1, "l2": 1, "l3": 1}
"""Raised whenever a built-in prompt changes in what it asks for, so that a trace can tell them apart."""


@dataclass(frozen=True, slots=True)
class CallSettings:
    """How models are asked. `zone` is the users' time zone; `max_tokens` bounds one reply."""

    zone: tzinfo
    mode: Mode = "chat"
    max_tokens: int = 4_096
    timeout_seconds: float = 180.0


class Aliases:
    """Short names for row numbers, in the order given: c1, c2 … What a model names must be one of them."""

    def __init__(self, letter: str, seqs: Iterable[int]) -> None:
        self._seqs = {f"{letter}{place}": seq for place, seq in enumerate(seqs, start=1)}
        self._names = {seq: name for name, seq in self._seqs.items()}

    def name(self, seq: int) -> str:
        return self._names[seq]

    def read(self, names: Iterable[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Return the numbers that the names stand for, each once and in order, and the names that stand for none.

        Brackets, spaces and case do not matter: `[C2]` is c2.
        """
        known: dict[int, None] = {}
        unknown: list[str] = []
        for name in names:
            seq = self._seqs.get(str(name).strip(" []()<>#`'\"").casefold())
            if seq is None:
                unknown.append(str(name)[:40])
            else:
                known[seq] = None
        return tuple(known), tuple(unknown)


def new_mark() -> str:
    """Return what marks the edges of other people's text in one prompt; nobody can have written it before.

    It holds a letter and a digit, so it is neither a word nor a year: where it comes back, it is the mark and nothing else.
    """
    mark = secrets.token_hex(2)
    while mark.isdigit() or mark.isalpha():
        mark = secrets.token_hex(2)
    return mark


def prompt_ref(layer: Layer, custom: CustomPrompt | None) -> PromptRef:
    """Return which prompt is in force: the custom one, or the built-in one of this program's version."""
    return custom.ref if custom else PromptRef(f"builtin:{layer}", BUILTIN_VERSIONS[layer])


def provenance(
    layer: Layer,
    settings: CallSettings,
    custom: CustomPrompt | None,
    model: str,
    usage: Usage,
    notes: Sequence[str] = (),
) -> Provenance:
    """Return the record of one question."""
    return Provenance(model, settings.mode, prompt_ref(layer, custom), usage, tuple(notes))


def failed(outcome: Retry | Poison, made: Provenance) -> Retry | Poison:
    """Return a failure that tells how it came about."""
    return replace(outcome, provenance=made)
