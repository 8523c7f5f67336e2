"""A line of one user's export as a line of another user."""

from __future__ import annotations

import msgspec

from memstrata.records.archive import (
    DocumentLine,
    LayerLine,
    MemoryLine,
    MessageLine,
    ProfileLine,
    RunLine,
    SessionLine,
    TombstoneLine,
)
from memstrata.records.archive_directory import TableLine

__all__ = ["mapped"]


def mapped(line: TableLine | LayerLine, user: str, as_user: str) -> TableLine | LayerLine | None:
    """Return the line with `as_user` where it names `user`; None for a row of the directory, which is about the person.

    A profile that all users of an agent share stays shared.
    """
    match line:
        case MemoryLine():
            profile_user = as_user if line.profile_user == user else line.profile_user
            return msgspec.structs.replace(line, user=as_user, profile_user=profile_user)
        case MessageLine() | SessionLine() | TombstoneLine():
            return msgspec.structs.replace(line, user=as_user)
        case ProfileLine() | DocumentLine() | RunLine():
            return msgspec.structs.replace(line, user=as_user) if line.user == user else line
        case _:
            return None
