"""What setup or its undoing would do to files: decided from what they hold now, before anything is written."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memstrata.errors import Misconfigured
from memstrata.setup.change import Change, Seat

__all__ = ["Backup", "Edit", "digest_of", "displaced", "plan", "plan_undo", "stand_in", "unified"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One file. None: it does not exist, before or after. `original` is what undoing brings back."""

    path: Path
    before: bytes | None
    after: bytes | None
    original: bytes | None


@dataclass(frozen=True, slots=True)
class Backup:
    """What a file was before setup touched it, and the digest of what setup left there."""

    original: bytes | None
    left: str


def plan(changes: Sequence[Change], all_changes: Sequence[Change], backups: Mapping[Path, Backup]) -> tuple[Edit, ...]:
    """Return the edits that put changes in; none for a file that has them.

    What undoing brings back is the backup, as long as nobody else has written the file since; then it is the file as it
    is without `all_changes`. Raises Misconfigured for a file that is not what its client reads.
    """
    edits = []
    for path in _paths(changes):
        before, empty = _read(path), _empty(changes, path)
        text = _text(path, before, empty)
        after = _through(path, text, [change.put for change in changes if change.path == path])
        if after == text:
            continue
        backup = backups.get(path)
        if backup is not None and backup.left == digest_of(before):
            original = backup.original
        elif before is None:
            original = None
        else:
            original = _undone(path, text, all_changes, backup).encode()
        edits.append(Edit(path, before, after.encode(), original))
    return tuple(edits)


def plan_undo(all_changes: Sequence[Change], backups: Mapping[Path, Backup]) -> tuple[Edit, ...]:
    """Return the edits that take all changes out: to the byte where nobody has written the file since.

    Raises Misconfigured as `plan`.
    """
    edits = []
    for path in _paths(all_changes):
        before, backup = _read(path), backups.get(path)
        if before is None:
            continue
        if backup is not None and backup.left == digest_of(before):
            after = backup.original
        else:
            text, empty = _text(path, before, ""), _empty(all_changes, path)
            taken = _undone(path, text, all_changes, backup)
            was_made = backup is not None and backup.original is None
            after = None if was_made and taken.strip() == empty.strip() else taken.encode()
        if after != before:
            edits.append(Edit(path, before, after, after))
    return tuple(edits)


def displaced(changes: Sequence[Change]) -> tuple[tuple[Path, str], ...]:
    """Return what of somebody else's the changes would take the place of, each with its file. Raises as `plan`."""
    found = []
    for change in changes:
        text = _text(change.path, _read(change.path), change.empty)
        theirs = "" if change.seat is None else _through(change.path, text, [change.seat.theirs])
        if theirs:
            found.append((change.path, theirs))
    return tuple(found)


def stand_in(changes: Sequence[Change]) -> bool:
    """Return whether any of the changes has been made already. Raises as `plan`."""
    texts = ((one, _text(one.path, _read(one.path), one.empty)) for one in changes)
    return any(_through(one.path, text, [one.take]) != text for one, text in texts)


def unified(edit: Edit) -> str:
    """Return an edit as a unified diff; a file that is not there has the name /dev/null, as `diff` has it."""
    before, after = (
        [line.decode() for line in (side or b"").splitlines(keepends=True)] for side in (edit.before, edit.after)
    )
    old, new = ("/dev/null" if side is None else str(edit.path) for side in (edit.before, edit.after))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(before, after, old, new)
    )


def digest_of(content: bytes | None) -> str:
    """Return the SHA-256 of a file's content, empty of a file that is not there."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _undone(path: Path, text: str, all_changes: Sequence[Change], backup: Backup | None) -> str:
    """Return a text without our parts; what they had taken the place of stands there again, unless something else does."""
    changes = [change for change in all_changes if change.path == path]
    taken = _through(path, text, [change.take for change in changes])
    if backup is None or backup.original is None:
        return taken
    for change in changes:
        was = _text(path, backup.original, change.empty)
        taken = _through(path, taken, [partial(_given_back, change.seat, was)])
    return taken


def _given_back(seat: Seat | None, was: str, text: str) -> str:
    theirs = "" if seat is None else seat.theirs(was)
    return text if seat is None or not theirs or seat.theirs(text) else seat.give_back(text, theirs)


def _paths(changes: Iterable[Change]) -> list[Path]:
    return list(dict.fromkeys(change.path for change in changes))


def _empty(changes: Iterable[Change], path: Path) -> str:
    return next(change.empty for change in changes if change.path == path)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _text(path: Path, content: bytes | None, empty: str) -> str:
    try:
        text = "" if content is None else content.decode()
    except UnicodeDecodeError:
        raise Misconfigured(f"{path}: no UTF-8; nothing was changed") from None
    return text if text.strip() else empty


def _through(path: Path, text: str, steps: Iterable[Callable[[str], str]]) -> str:
    try:
        for step in steps:
            text = step(text)
    except ValueError as error:
        raise Misconfigured(f"{path}: {error}; nothing was changed") from error
    return text
