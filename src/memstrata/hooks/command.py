"""The command itself: an event on standard input, a JSON object or nothing on standard output, code 0, two seconds.

The work is done by a thread that the process does not wait for: a server that sends one byte a second, or a client that
never closes its end, would hold up every deadline of a socket. Output is written whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn

from memstrata.hooks.event import MAX_BYTES, read_event
from memstrata.hooks.handle import Done, handle
from memstrata.hooks.place import Place, read_place, state_folder
from memstrata.hooks.report import note
from memstrata.hooks.server import NoServer, Refused, Server
from memstrata.hooks.spool import Spool

__all__ = ["SECONDS", "hook_folder", "main"]

SECONDS = 1.7  # of two; the rest is for the start of the process and for its end
_SHARE_OF_REQUESTS = 0.85


def main(arguments: Sequence[str]) -> NoReturn:
    """Answer one event of a client and end the process with 0, whatever happened; the arguments are `CLIENT [flags]`."""
    begun = time.monotonic()
    answers: list[tuple[str, Done]] = []
    work = threading.Thread(
        target=lambda: answers.append(_answer(arguments, os.environ, sys.stdin.buffer, begun)), daemon=True
    )
    work.start()
    work.join(SECONDS)
    name, done = answers[0] if answers else ("", Done("failed", f"no answer within {SECONDS} seconds"))
    with contextlib.suppress(OSError):  # nobody reads, and so there is nobody to tell
        _tell(name, done)
    # The interpreter would wait for a stream that the thread still reads, fail again at one that is closed, and take ten
    # milliseconds to clean up what ends here anyway.
    os._exit(0)


def _tell(name: str, done: Done) -> None:
    if done.reason and os.environ.get("MEMSTRATA_LOG_LEVEL", "").lower() == "debug":
        sys.stderr.write(f"memstrata hook: {done.outcome}: {done.reason}\n")
    if done.context:
        output = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": done.context}}
        sys.stdout.write(f"{json.dumps(output)}\n")
    sys.stdout.flush()
    sys.stderr.flush()


def hook_folder(environ: Mapping[str, str]) -> Path:
    """Return where hooks keep what they must remember."""
    return state_folder(environ) / "hooks"


def _answer(arguments: Sequence[str], environ: Mapping[str, str], stream: BinaryIO, begun: float) -> tuple[str, Done]:
    """The fail-open edge: what goes wrong is noted and told, and ends nothing."""
    place: Place | None = None
    name, done = "", Done("failed")
    try:
        place = read_place(arguments, environ)
        event = read_event(stream.read(MAX_BYTES + 1))
        name = event.name
        spool = Spool(hook_folder(environ) / place.folder_name)
        server = Server(place, begun + SECONDS * _SHARE_OF_REQUESTS)
        done = handle(event, place, spool, server)
    except NoServer as error:
        done = Done("no server", str(error))
    except Refused as error:
        done = Done("refused", str(error))
    except Exception as error:  # noqa: BLE001 - an agent must never be held up by its memory
        # The message of another error may quote what was said.
        told = str(error) if isinstance(error, ValueError) and place is None else type(error).__name__
        done = Done("failed", told)
    if place is not None and name:
        try:
            note(hook_folder(environ) / place.folder_name, place, name, done, time.time())
        except OSError as error:
            done = Done(done.outcome, f"{done.reason}; no note could be kept: {type(error).__name__}", done.context)
    return name, done
