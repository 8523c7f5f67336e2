"""What setup does to one file, and the command that it makes clients run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

__all__ = ["Change", "Launch", "Seat", "is_hook_command"]

_OURS = re.compile(r"""memstrata(?:\.cli|\.exe)?["']?\s+hook\s+(?:claude-code|codex)(?:\s|$)""")


@dataclass(frozen=True, slots=True)
class Seat:
    """A place that holds one value, ours or somebody else's.

    `theirs` reads what stands there of somebody else's, empty for nothing; `give_back` puts such a value there. Both raise
    ValueError as a `Change` does.
    """

    theirs: Callable[[str], str]
    give_back: Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class Change:
    """Two pure functions over the text of a file: `put` our part in, `take` it out again.

    Each returns the text itself where nothing is to do, and raises ValueError where the text is not what it must be.
    `empty` is what a file that does not exist is taken for. `seat` is where ours takes the place of another value.
    """

    path: Path
    put: Callable[[str], str]
    take: Callable[[str], str]
    empty: str = ""
    seat: Seat | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """How a client reaches us: the program with its own arguments, the flags that say which server and whose memory.

    `url` and `instance` are for the proxy, `user_key` for a server with keys.
    """

    program: tuple[str, ...]
    flags: tuple[str, ...]
    url: str = ""
    instance: str = "default"
    user_key: str = field(default="", repr=False)

    def proxied(self, agent: str) -> str:
        """Return the base URL at which the proxy speaks to an agent."""
        return f"{self.url.rstrip('/')}/{agent}/{quote(self.instance, safe='')}"

    def line(self, *words: str) -> str:
        """Return a command for a shell."""
        return shlex.join((*self.program, *words, *self.flags))

    def arguments(self, *words: str) -> list[str]:
        """Return what follows the program where no shell is asked."""
        return [*self.program[1:], *words, *self.flags]


def is_hook_command(command: object) -> bool:
    """Whether a command is one of ours, of this installation or another."""
    return isinstance(command, str) and _OURS.search(command) is not None
