"""What each error is to whoever typed the command: an exit code, and one line in their language.

0 it worked · 1 it failed · 2 wrong usage or input that cannot be read · 3 the installation must be changed ·
4 not now, the same command may work later
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memstrata import client, errors
from memstrata.cli.words import say

__all__ = ["FAILED", "MISCONFIGURED", "UNAVAILABLE", "WRONG_USAGE", "Failure", "failure_of"]

FAILED = 1
WRONG_USAGE = 2
MISCONFIGURED = 3
UNAVAILABLE = 4


@dataclass(frozen=True, slots=True)
class Failure:
    """`kind` is for programs, `line` for people. `message` is the line without what frames it."""

    code: int
    kind: str
    message: str
    line: str


# The branches of the house and those of its client that mean the same; the first that fits holds.
_KINDS: tuple[tuple[tuple[type[Exception], ...], int, str], ...] = (
    ((errors.InvalidRequest, client.InvalidRequest), WRONG_USAGE, "invalid"),
    ((errors.Misconfigured,), MISCONFIGURED, "misconfigured"),
    ((errors.Unauthorized, client.Unauthorized), MISCONFIGURED, "unauthorized"),
    ((errors.Unavailable, client.Unavailable), UNAVAILABLE, "unavailable"),
    ((errors.Conflict, client.Conflict), FAILED, "conflict"),
    ((errors.NotFound, client.NotFound), FAILED, "not_found"),
    ((errors.MemstrataError, client.MemstrataClientError), FAILED, "failed"),
    ((OSError,), FAILED, "failed"),
)


def failure_of(error: Exception) -> Failure:
    """Return what an error is at the edge. One that the house does not know is a bug and asks to be reported."""
    usage = _usage_message(error)
    if usage:
        return Failure(WRONG_USAGE, "usage", usage, say("error.usage", message=usage))
    message = _one_line(error.message if isinstance(error, client.MemstrataClientError) else str(error))
    for types, code, kind in _KINDS:
        if isinstance(error, types):
            return Failure(code, kind, message, say(f"error.{kind}", message=message))
    message = f"{type(error).__name__}: {message}"
    return Failure(FAILED, "unexpected", message, say("error.unexpected", message=message))


def _usage_message(error: Any) -> str:
    """Typer carries a private copy of click, whose class cannot be named; its usage errors are known by their method."""
    return _one_line(error.format_message()) if hasattr(error, "format_message") else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
