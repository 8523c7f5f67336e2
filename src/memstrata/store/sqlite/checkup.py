"""Is the file sound? Asked at every start.

Looking at every page takes about a second for 100 MB. A small file is looked at before it is used; a large one while it is
used already, and if it turns out damaged, writing ends there and health says why.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import apsw

from memstrata.errors import MemstrataError, Misconfigured
from memstrata.store.sqlite.connection import open_reader, query
from memstrata.store.sqlite.errors import translated

__all__ = ["LARGE_BYTES", "Checkup", "check"]

LARGE_BYTES = 32 * 1024 * 1024
_STEPS_BETWEEN_LOOKS = 1_000
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
        self._stopped = False
        self._task = asyncio.create_task(self._run(), name="checkup")

    async def stop(self) -> None:
        """End it and wait until its thread is done; a check that was not finished says nothing."""
        self._stopped = True
        await self._task

    async def _run(self) -> None:
        try:
            await asyncio.to_thread(self._look)
        except Misconfigured as error:
            _LOG.error("%s", error)
            self._on_damage(str(error))
        except MemstrataError as error:
            if not self._stopped:
                _LOG.warning("the file could not be looked at: %s", error)

    def _look(self) -> None:
        with translated(f"look at {self._file}"):
            connection = open_reader(self._file)
        try:
            connection.set_progress_handler(lambda: self._stopped, _STEPS_BETWEEN_LOOKS)
            check(connection, self._file)
        finally:
            connection.close()
