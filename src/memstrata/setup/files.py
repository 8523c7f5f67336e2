"""Files of others, written whole or not at all, each with a backup that is kept until it is undone.

Backups hold what configuration holds, keys among it, and are for their owner alone.
"""

from __future__ import annotations

import base64
import json
import os
import stat
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from memstrata.errors import Conflict, Misconfigured
from memstrata.setup.plan import Backup, Edit, digest_of

__all__ = ["Backups", "perform"]


class Backups:
    """The backups of one client, in one file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def read(self) -> Mapping[Path, Backup]:
        """Return the backups by file. Raises Misconfigured where they cannot be read: undoing would not be exact."""
        try:
            kept = json.loads(self.file.read_bytes())
            return {Path(path): Backup(_decoded(one["original"]), str(one["left"])) for path, one in kept.items()}
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Misconfigured(f"{self.file}: the backups cannot be read; move the file away to go on") from error

    def write(self, backups: Mapping[Path, Backup]) -> None:
        """Keep these and no others."""
        if not backups:
            self.file.unlink(missing_ok=True)
            return
        kept = {str(path): {"original": _encoded(one.original), "left": one.left} for path, one in backups.items()}
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(self.file, json.dumps(kept, indent=2).encode(), 0o600)


def perform(edits: Sequence[Edit], backups: Backups, *, undoes: bool = False) -> None:
    """Write what was planned; the backup of a file before the file. Raises Conflict for a file that has changed since."""
    for edit in edits:
        if _content(edit.path) != edit.before:
            raise Conflict(f"{edit.path} has changed while you looked at it; nothing was written to it")
        kept = dict(backups.read())
        if not undoes:
            backups.write({**kept, edit.path: Backup(edit.original, digest_of(edit.after))})
        _write(edit.path, edit.after)
        if undoes:
            kept.pop(edit.path, None)
            backups.write(kept)
    if undoes:
        backups.write({})


def _write(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.resolve()  # a link into somebody's dotfiles stays a link
    mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else 0o600
    _replace(file, content, mode)


def _replace(file: Path, content: bytes, mode: int) -> None:
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(mode)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _encoded(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()


def _decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)
