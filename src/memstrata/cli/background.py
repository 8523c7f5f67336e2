"""A server as a process of its own: who serves a data folder, starting one that outlives us, stopping it.

The folder's lock says whether it is open, and the note beside it says where its server listens, so nothing is kept in a
pid file that could be stale.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from memstrata.cli.failures import MISCONFIGURED
from memstrata.cli.words import say
from memstrata.errors import MemstrataError, Misconfigured, Unavailable
from memstrata.store.sqlite.store import LOCK_NAME, lock_owner

__all__ = ["LOG_NAME", "owner_of", "running_server", "start_server", "stop_server"]

LOG_NAME = "server.log"
_POLL_SECONDS = 0.05
# A database of many gigabytes is checked before the first answer; a fresh one takes a second.
_START_SECONDS = 120.0
_ANNOUNCE_SECONDS = 2.0


class NotStarted(MemstrataError):
    """The server ended before it was ready."""


def owner_of(folder: Path) -> Mapping[str, str | int] | None:
    """Return who has the folder open, None when nobody has. Unlike `lock_owner` it never creates the folder."""
    return lock_owner(folder) if (folder / LOCK_NAME).exists() else None


def running_server(folder: Path) -> str:
    """Return the URL of the server that has the folder open; empty when nobody has it.

    Raises Unavailable when a program that serves nothing has it: another command, or an agent in library mode.
    """
    if not _waited(lambda: _is_free_or_announced(folder), _ANNOUNCE_SECONDS):
        raise Unavailable(say("in_use", folder=folder, pid=(owner_of(folder) or {}).get("pid", "?")))
    return str((owner_of(folder) or {}).get("url", ""))


def start_server(folder: Path, port: int, config: Path | None) -> str:
    """Start a server that outlives this process and return its URL. It logs to `server.log` in the folder.

    Raises Misconfigured or NotStarted with its reason if it ends, Unavailable if it takes too long.
    """
    folder.mkdir(0o700, parents=True, exist_ok=True)
    log = folder / LOG_NAME
    with log.open("ab") as output:
        server = _detached(_serve_command(folder, port, config), output)
    assert server.stdout is not None
    # It announces itself in one line. Looking at the lock until then could take it from under the server's nose.
    announcement = _first_line(server.stdout, _START_SECONDS)
    if announcement is None:
        raise Unavailable(say("server.start_slow", seconds=_START_SECONDS, log=log))
    if not announcement:
        raise NotStarted(say("server.start_failed", reason=_last_line(log), log=log))
    announced = json.loads(announcement)
    if "error" in announced:
        kind = Misconfigured if announced["error"]["code"] == MISCONFIGURED else NotStarted
        raise kind(say("server.start_failed", reason=announced["error"]["message"], log=log))
    return str(announced["url"])


def stop_server(folder: Path, wait_seconds: float) -> tuple[int, str] | None:
    """Stop the server of a folder and return its process and URL once it has closed; None when there is none.

    Raises Unavailable when it takes longer, or when the folder's owner is no server.
    """
    owner = owner_of(folder)
    if owner is None:
        return None
    url = running_server(folder)
    pid = owner.get("pid")
    if not url or not isinstance(pid, int):
        return None
    os.kill(pid, signal.SIGTERM)
    if not _waited(lambda: _is_free_or_of_another(folder, pid), wait_seconds):
        raise Unavailable(say("server.not_stopped", pid=pid, seconds=wait_seconds))
    return pid, url


def _is_free_or_announced(folder: Path) -> bool:
    owner = owner_of(folder)
    return owner is None or bool(owner.get("url"))


def _is_free_or_of_another(folder: Path, pid: int) -> bool:
    owner = owner_of(folder)
    # A server that closes takes its note away before it lets the lock go.
    return owner is None or owner.get("pid", pid) != pid


def _serve_command(folder: Path, port: int, config: Path | None) -> list[str]:
    command = [sys.executable, "-m", "memstrata.cli", "serve", "--json"]
    command += ["--data-dir", str(folder.resolve()), "--port", str(port)]
    return command if config is None else [*command, "--config", str(config.resolve())]


def _detached(command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    nothing, pipe = subprocess.DEVNULL, subprocess.PIPE
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        return subprocess.Popen(command, stdin=nothing, stdout=pipe, stderr=log, creationflags=flags)  # noqa: S603
    return subprocess.Popen(command, stdin=nothing, stdout=pipe, stderr=log, start_new_session=True)  # noqa: S603


def _first_line(stream: IO[bytes], seconds: float) -> bytes | None:
    """Return the first line, empty at the end of the stream, None when it has not come in time."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=lambda: lines.put(stream.readline()), name="await-server", daemon=True).start()
    try:
        return lines.get(timeout=seconds)
    except queue.Empty:
        return None


def _waited(holds: Callable[[], bool], seconds: float) -> bool:
    """Wait until something holds; return whether it does. A process has no event that another one could wait for."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "?"
