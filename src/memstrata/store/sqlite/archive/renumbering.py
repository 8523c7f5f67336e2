"""Which row of this database is which of the exporting one: sixteen bytes a row, for as long as an import takes.

A work of the writer may be rolled back and run again, so what was added can be taken back to where it was.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

import apsw

from memstrata.store.sqlite.connection import query

__all__ = ["Numbers", "Renumbering", "free_number"]


class Renumbering:
    """Of one table. Pairs are added in rising order of the exported number, as the lines of a file are."""

    def __init__(self) -> None:
        self._exported = array("q")
        self._here = array("q")

    def __len__(self) -> int:
        return len(self._exported)

    def add(self, exported: int, here: int) -> None:
        """Add a pair. Raises ValueError for a number that is not above the last."""
        if self._exported and exported <= self._exported[-1]:
            raise ValueError(f"seq {exported} does not rise")
        self._exported.append(exported)
        self._here.append(here)

    def rewind(self, length: int) -> None:
        """Take back all but the first `length` pairs."""
        del self._exported[length:]
        del self._here[length:]

    def of(self, exported: int) -> int | None:
        """Return the number here, None for a row that did not come."""
        at = bisect_left(self._exported, exported)
        return self._here[at] if at < len(self) and self._exported[at] == exported else None

    def near(self, exported: int) -> int:
        """Return the number, or for a row that is gone the one that it would have beside the row before it."""
        at = bisect_right(self._exported, exported) - 1
        return exported if at < 0 else self._here[at] + exported - self._exported[at]


class Numbers:
    """Of all tables whose rows others refer to. `refused` are users of the file who are not the users here."""

    def __init__(self) -> None:
        self.messages = Renumbering()
        self.memories = Renumbering()
        self.documents = Renumbering()
        self.refused: set[str] = set()

    def mark(self) -> tuple[int, int, int]:
        """Return where they are, for `rewind`."""
        return len(self.messages), len(self.memories), len(self.documents)

    def rewind(self, mark: tuple[int, int, int]) -> None:
        for table, length in zip((self.messages, self.memories, self.documents), mark, strict=True):
            table.rewind(length)


def free_number(connection: apsw.Connection, table: str, wanted: int) -> int:
    """Return the number for a row that is added at the end of a table: the wanted one if it is past all given out."""
    rows = query(connection, "SELECT seq FROM sqlite_sequence WHERE name = ?", (table,))
    last = int(rows[0][0]) if rows else 0
    return wanted if wanted > last else last + 1
