"""Where in a file something stands, so that every complaint about it names that place in one line."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memstrata.errors import InvalidRequest

__all__ = ["Place"]


@dataclass(frozen=True, slots=True)
class Place:
    """A file, a line of it (from 1; 0 where the file is one JSON value) and a JSON path such as `[3].messages[5]`."""

    file: str
    line: int = 0
    path: str = ""

    def __str__(self) -> str:
        line = f" line {self.line}" if self.line else ""
        return f"{self.file}{line} {self.path}".rstrip()

    def at_line(self, line: int) -> Place:
        """Return the place of a line of this file."""
        return replace(self, line=line)

    def at_index(self, index: int) -> Place:
        """Return the place of an element of the list at this place."""
        return replace(self, path=f"{self.path}[{index}]")

    def at_key(self, key: str) -> Place:
        """Return the place of a field of the object at this place."""
        if not key.isidentifier():
            return replace(self, path=f'{self.path}["{key}"]')
        return replace(self, path=f"{self.path}.{key}" if self.path else key)

    def error(self, what: str) -> InvalidRequest:
        """Return the error that says `what` is wrong here: `chat.jsonl line 17: …`."""
        return InvalidRequest(what, field=str(self))
