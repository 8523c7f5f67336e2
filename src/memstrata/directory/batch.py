"""What became of a list of things that were to be deleted."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Batch", "NotDeleted"]


@dataclass(frozen=True, slots=True)
class NotDeleted:
    """One that was not, and the contract's code for why."""

    item_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Batch:
    """The ids that went and those that did not, each once, in the order they were asked for."""

    deleted_ids: tuple[str, ...]
    failed: tuple[NotDeleted, ...] = ()
