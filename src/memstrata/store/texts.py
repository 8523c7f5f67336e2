"""Every text that is kept, whosever it is: what the scan for secrets reads, and writes over.

The one place where a stored text is changed and not replaced by a newer version: a version that holds a secret must not stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from memstrata.records import Profile

__all__ = ["TEXT_LAYERS", "StoredText", "TextLayer", "Texts"]

TextLayer = Literal["message", "memory", "document", "prompt"]
TEXT_LAYERS: tuple[TextLayer, ...] = ("message", "memory", "document", "prompt")
"""In the order in which one is made from the other."""


@dataclass(frozen=True, slots=True)
class StoredText:
    """The texts of one row, whose it is, and what it is called: the id of a message, memory or prompt, a scene's path.

    `texts` are the content of a message; content, scene name and replaced content of a memory; body and summary of a
    document; the text of a prompt. `version` is 0 for a message.
    """

    layer: TextLayer
    seq: int
    owner: Profile
    record_id: str
    version: int
    texts: tuple[str, ...]


class Texts(Protocol):
    """Crosses all scopes, so it is for the operator's scan alone."""

    def page(self, layer: TextLayer, after_seq: int, limit: int) -> tuple[StoredText, ...]:
        """Return the next rows of a layer in all their versions."""
        ...

    def overwrite(self, row: StoredText, texts: Sequence[str], terms: Sequence[str]) -> None:
        """Write other texts in the place of a row's, in every copy; `terms` are those of the first.

        Its vector goes and is made anew, readable files are marked, and what was noted about runs that had seen it goes.
        """
        ...

    def index_keys(self, row: StoredText) -> tuple[str, ...]:
        """Return the keys of the vector indexes that know the row."""
        ...
