"""Readers: a few threads, each with a connection of its own, beside the writer and each other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import apsw

from memstrata.store.protocol import Repositories
from memstrata.store.sqlite.connection import open_reader, time_limit
from memstrata.store.sqlite.errors import translated

__all__ = ["Readers"]

T = TypeVar("T")


class Readers:
    """A pool of reading threads."""

    def __init__(self, file: Path, repositories: Callable[[apsw.Connection], Repositories], threads: int = 4) -> None:
        self._file = file
        self._repositories = repositories
        self._own = threading.local()
        self._connections: list[apsw.Connection] = []
        self._pool = ThreadPoolExecutor(threads, "memstrata-reader")

    async def read(self, work: Callable[[Repositories], T], timeout_seconds: float) -> T:
        """Run `work` on one snapshot. Raises Unavailable when it takes longer than the timeout."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._perform, work, timeout_seconds)

    def _perform(self, work: Callable[[Repositories], T], timeout_seconds: float) -> T:
        with translated("read"):
            if not hasattr(self._own, "connection"):
                self._own.connection = open_reader(self._file)
                self._own.repositories = self._repositories(self._own.connection)
                self._connections.append(self._own.connection)
            connection: apsw.Connection = self._own.connection
            repositories: Repositories = self._own.repositories
            with time_limit(connection, timeout_seconds):
                connection.execute("BEGIN")
                try:
                    return work(repositories)
                finally:
                    connection.execute("ROLLBACK")

    async def close(self) -> None:
        await asyncio.to_thread(self._pool.shutdown)
        for connection in self._connections:
            connection.close()
