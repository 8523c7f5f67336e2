"""SQLite's errors in the house's words: what the caller can do about each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from memstrata.errors import MemstrataError, Misconfigured, Unavailable

__all__ = ["translated"]

_TRANSIENT = (apsw.BusyError, apsw.LockedError, apsw.ProtocolError, apsw.NoMemError)
_DAMAGED = (apsw.CorruptError, apsw.NotADBError)
_UNUSABLE = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError)


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn errors of SQLite inside the block into errors of the house. Errors of our own SQL are bugs and stay as they are."""
    try:
        yield
    except apsw.Error as error:
        raise _translate(error, what) from error


def _translate(error: apsw.Error, what: str) -> MemstrataError | apsw.Error:
    if isinstance(error, apsw.FullError):
        return Unavailable(f"{what}: the disk is full; nothing was stored", retry_after=30)
    if isinstance(error, apsw.IOError):
        return Unavailable(f"{what}: the disk reports an error ({error}); nothing was stored", retry_after=30)
    if isinstance(error, apsw.InterruptError):
        return Unavailable(f"{what}: took longer than it may", retry_after=1)
    if isinstance(error, _TRANSIENT):
        return Unavailable(f"{what}: the database is locked by another program; nothing was stored", retry_after=1)
    if isinstance(error, _DAMAGED):
        return Misconfigured(
            f"{what}: the database file is damaged ({error}). It was left as it is; restore a backup, or move it away"
            " and run `memstrata rebuild --from-files`"
        )
    if isinstance(error, _UNUSABLE):
        return Misconfigured(f"{what}: the database file cannot be used: {error}")
    return error
