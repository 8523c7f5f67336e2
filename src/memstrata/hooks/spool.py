"""What hooks remember from one process to the next: prompts of turns that have not ended, and turns on their way.

One file a prompt, written under another name and renamed, so that hooks that run at once need no lock. Names are made of
what is in the files: the same event twice is one file. The folder is for its owner alone, because it holds what was said.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from memstrata.client.turn.fingerprints import digest

__all__ = ["Prompt", "Spool", "write_whole"]

_FIELDS = ("id", "session", "text", "said_at")


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a user said. `id` is unique in its place; `said_at` is ISO 8601 in UTC."""

    id: str
    session: str
    text: str
    said_at: str


class Spool:
    """A folder of one place: sessions with their open prompts, and an outbox."""

    def __init__(self, folder: Path) -> None:
        """Nothing is made before something is written."""
        self.folder = folder
        self._sessions = folder / "sessions"
        self._outbox = folder / "outbox"

    def turns_ended(self, session: str) -> int:
        """Return how many turns of a session have ended, as far as is known here."""
        try:
            return int(self._turns(session).read_text("ascii"))
        except (FileNotFoundError, ValueError):
            return 0

    def end_turn(self, session: str, number: int) -> None:
        """Note that so many turns have ended."""
        write_whole(self._turns(session), str(number))

    def record(self, prompt: Prompt) -> None:
        """Keep a prompt; once, however often."""
        file = self._session(prompt.session) / f"{prompt.id}.json"
        if not file.exists():
            write_whole(file, json.dumps(asdict(prompt)))

    def prompts(self, session: str) -> list[Prompt]:
        """Return the open prompts of a session, in the order in which they were said."""
        return _prompts(self._session(session))

    def remove(self, prompts: list[Prompt]) -> None:
        """Forget prompts that were parked."""
        for prompt in prompts:
            (self._session(prompt.session) / f"{prompt.id}.json").unlink(missing_ok=True)

    def abandoned(self, before: float) -> Iterator[tuple[str, list[Prompt]]]:
        """Yield sessions in which nothing was said or ended since `before`, seconds since 1970, but a prompt is open."""
        for folder in sorted(self._sessions.glob("*")):
            if folder.is_dir() and _touched(folder) < before and (prompts := _prompts(folder)):
                yield prompts[0].session, prompts

    def drop_sessions(self, before: float) -> None:
        """Forget sessions without an open prompt in which nothing has happened since `before`, seconds since 1970."""
        for folder in sorted(self._sessions.glob("*")):
            if folder.is_dir() and _touched(folder) < before and not list(folder.glob("*.json")):
                for file in folder.iterdir():
                    file.unlink(missing_ok=True)
                folder.rmdir()

    def park(self, name: str, text: str) -> None:
        """Keep a turn until the server has it."""
        write_whole(self._outbox / f"{name}.json", text)

    def parked(self) -> list[Path]:
        """Return the turns that wait, the oldest first."""
        return sorted(self._outbox.glob("*.json"))

    def set_aside(self, file: Path) -> None:
        """Keep a turn that will never be accepted out of the way of the others."""
        file.replace(file.with_suffix(".refused"))

    def refused(self) -> int:
        """Return how many turns were set aside."""
        return sum(1 for _ in self._outbox.glob("*.refused"))

    def _session(self, session: str) -> Path:
        return self._sessions / digest(session)

    def _turns(self, session: str) -> Path:
        return self._session(session) / "turns"


def write_whole(file: Path, text: str) -> None:
    """Write a file that is there whole or not at all, in a folder for its owner alone."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # `tempfile` would do this too, and load three compression libraries for it.
    unfinished = file.parent / f".{os.getpid()}-{time.time_ns()}"
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8", "surrogatepass"))
        unfinished.replace(file)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _touched(folder: Path) -> float:
    return max(one.stat().st_mtime for one in (folder, *folder.iterdir()))


def _prompts(folder: Path) -> list[Prompt]:
    read = [prompt for file in folder.glob("*.json") if (prompt := _prompt(file))]
    return sorted(read, key=lambda prompt: (prompt.said_at, prompt.id))


def _prompt(file: Path) -> Prompt | None:
    """Return a prompt; one that cannot be read is set aside, where `memstrata hook status` does not look past it."""
    try:
        fields = json.loads(file.read_bytes())
        values = [fields[name] for name in _FIELDS]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, RecursionError):
        values = []
    if not values or not all(isinstance(value, str) for value in values):
        file.replace(file.with_suffix(".unreadable"))
        return None
    return Prompt(*values)
