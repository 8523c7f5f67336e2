"""Whether a message is a command, and which. Pure. Source: `reference/proxy.md` §10.1."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

__all__ = ["COMMANDS", "Command", "CommandName", "parse"]

CommandName: TypeAlias = Literal["help", "status", "sync", "bind", "off", "on", "forget", "why"]
COMMANDS: tuple[CommandName, ...] = get_args(CommandName)
_WITH_ARGUMENTS = frozenset({"bind", "forget"})
_COMMAND = re.compile(r"mem[:：][ \t]*([^\s]*)[ \t]*(.*)\Z", re.IGNORECASE | re.DOTALL)
_MOST_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Command:
    """`name` is None for a word that is no command; `arguments` is the rest of the line, stripped."""

    name: CommandName | None
    word: str
    arguments: str


def parse(text: str) -> Command | None:
    """Return the command that a message is, None for an ordinary message.

    A command with words behind it that takes none is an ordinary message: somebody writes about it.
    """
    found = _COMMAND.match(text.strip()) if len(text) <= _MOST_CHARACTERS else None
    if found is None:
        return None
    word, arguments = found[1].lower(), found[2].strip()
    name = next((name for name in COMMANDS if name == (word or "help")), None)
    if arguments and name not in _WITH_ARGUMENTS:
        return None
    return Command(name, word, arguments)
