"""The command line. This module and `words` work in the base install, where they can only say what is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("typer", "rich", "apsw", "filelock", "httptools", "msgspec", "prometheus_client", "starlette", "uvicorn")


# What people ask of `memstrata hook`; everything else after it is a coding agent's and answered without the rest of this room.
_ASKED_OF_HOOKS = ("status", "--help")


def main() -> int:
    """Run `memstrata` with the arguments of this process and return its exit code (see `memstrata.cli.failures`)."""
    if sys.argv[1:2] == ["hook"] and sys.argv[2:] and sys.argv[2] not in _ASKED_OF_HOOKS:
        from memstrata.hooks.command import main as answer

        answer(sys.argv[2:])
    if any(find_spec(name) is None for name in _NEEDED):
        from memstrata.cli.words import say

        sys.stderr.write(f"memstrata: {say('error.base_install')}\n")
        return 2
    from memstrata.cli.run import run

    return run(sys.argv[1:])
