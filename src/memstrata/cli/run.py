"""One run of the command line: arguments in, exit code out, and every error as one line.

Typer's standalone mode is off, because it answers a mistyped option with a box of five lines and an exit code of its own.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence

import typer
from typer.main import get_command

from memstrata.cli.screen import write_json
from memstrata.cli.words import say

__all__ = ["run"]

INTERRUPTED = 130  # what a shell expects of a program that Ctrl-C ended


def run(arguments: Sequence[str]) -> int:
    """Perform one command and return its exit code. Without arguments it is `--help`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show 中文 shows a question mark; that is no reason to fail.
            stream.reconfigure(errors="replace")
    try:
        from memstrata.cli.commands import app

        code = get_command(app).main([*(arguments or ("--help",))], prog_name="memstrata", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write(f"\n{say('interrupted')}\n")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone. What is still buffered goes nowhere, or Python would complain at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001 (the outermost edge: nobody who types a command is shown a stack trace)
        return _fail(error, as_json="--json" in arguments)
    return code if isinstance(code, int) else 0


def _fail(error: Exception, *, as_json: bool) -> int:
    if os.environ.get("MEMSTRATA_LOG_LEVEL", "").lower() == "debug":
        traceback.print_exception(error)
    from memstrata.cli.failures import failure_of

    failure = failure_of(error)
    if as_json:
        write_json({"error": {"code": failure.code, "kind": failure.kind, "message": failure.message}})
    else:
        sys.stderr.write(f"memstrata: {failure.line}\n")
    return failure.code
