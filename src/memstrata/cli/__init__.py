"""The command line. This module alone works in the base install, where it can only say what is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("typer", "rich", "apsw", "filelock", "httptools", "msgspec", "prometheus_client", "starlette", "uvicorn")


def main() -> int:
    """Run `memstrata` with the arguments of this process and return its exit code (see `memstrata.cli.failures`)."""
    if any(find_spec(name) is None for name in _NEEDED):
        sys.stderr.write(
            'memstrata: the command line is not part of the base install: pip install "memstrata[server]"\n'
        )
        return 2
    from memstrata.cli.run import run

    return run(sys.argv[1:])
