"""Is the file sound? Asked at every start.

Looking at every page takes about a second for 100 MB. A small file is looked at before it is used; a large one while it is
used already, and if it turns out damaged, writing ends there and health says why.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path

import apsw

from memstrata.errors import Misconfigured
from memstrata.store.sqlite.connection import open_reader, query
from memstrata.store.sqlite.errors import translated

__all__ = ["LARGE_BYTES", "Checkup", "check"]

LARGE_BYTES = 32 * 1024 * 1024
_LOG = logging.getLogger(__name__)


def check(connection: apsw.Connection, file: Path) -> None:
    """Raise Misconfigured if the database of the connection is damaged."""
    with translated(f"open {file}"):
        found = query(connection, "PRAGMA quick_check(1)")
    if found != [("ok",)]:
        raise Misconfigured(
            f"{file} is damaged ({found[0][0]}). It was left as it is; restore a backup, or move it away and run"
            " `memstrata rebuild --from-files`"
        )


class Checkup:
    """A check beside the work. `on_damage` is told what is wrong, in the event loop."""

    def __init__(self, file: Path, on_damage: Callable[[str], None]) -> None:
        self._file = file
        self._on_damage = on_damage
        self._connection: apsw.Connection | None = None
        self._task = asyncio.create_task(self._run(), name="checkup")

    async def stop(self) -> None:
        """End it; a check that was not finished says nothing."""
        if self._connection is not None:
            self._connection.interrupt()
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        connection = self._connection = open_reader(self._file)
        try:
            await asyncio.to_thread(check, connection, self._file)
        except Misconfigured as error:
            _LOG.error("%s", error)
            self._on_damage(str(error))
        finally:
            self._connection = None
            connection.close()
