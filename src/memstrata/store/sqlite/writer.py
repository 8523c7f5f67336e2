"""The one thread that writes, with group commit.

Works that arrive while a commit is being made durable wait together and share the next one: thirty-two callers cost one
fsync, not thirty-two. If one of them raises, all are rolled back and run again, now each in a savepoint of its own, so that
it takes nothing of the others with it. Callers hear back only after the commit.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import apsw

from memstrata.errors import MemstrataError, Misconfigured, Unavailable
from memstrata.records import ComponentHealth
from memstrata.store.protocol import Repositories
from memstrata.store.sqlite.errors import translated

__all__ = ["Writer"]

_LOG = logging.getLogger(__name__)
_MOST_PER_COMMIT = 128
_PATIENCE_SECONDS = 0.002
_QUIET_SECONDS = 0.5  # without an order, after which the file is tidied by a step
T = TypeVar("T")


@dataclass(slots=True)
class _Order:
    work: Callable[[Repositories], Any]
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class _Rewindable(Repositories, Protocol):
    def rolled_back(self) -> None:
        """Forget what was read in a transaction that did not happen."""
        ...

    def tidy(self) -> bool:
        """Do a little of what makes reading faster; return whether there is more to do."""
        ...


class Writer:
    """Runs works in transactions on a connection that no other thread touches."""

    def __init__(self, connect: Callable[[], tuple[apsw.Connection, _Rewindable]]) -> None:
        self._orders: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()
        self._connect = connect
        self._opened: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._closed = False
        self._untidy = True
        self._shared = 1  # orders in the last commit
        self._failure = ""
        self._refusal = ""
        self.commits = 0
        self.works = 0
        self.failures = 0
        self._thread = threading.Thread(target=self._run, name="memstrata-writer", daemon=True)

    def start(self) -> None:
        """Open the connection in the thread; raises what opening raised."""
        self._thread.start()
        error = self._opened.get()
        if error is not None:
            raise error

    def refuse(self, reason: str) -> None:
        """Accept no more works, because the file was found damaged."""
        self._refusal = reason

    async def write(self, work: Callable[[Repositories], T]) -> T:
        """Run `work` in a transaction and return its result once that is durable."""
        if self._refusal:
            raise Misconfigured(self._refusal)
        if self._closed:
            raise Unavailable("the store is closed")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._orders.put(_Order(work, future))
        return await future

    def health(self) -> ComponentHealth:
        counts = {"commits": self.commits, "works": self.works, "failed_commits": self.failures}
        if self._refusal or self._failure:
            return ComponentHealth("failed", self._refusal or self._failure, counts)
        return ComponentHealth("ok", details=counts)

    async def close(self) -> None:
        """Finish what was ordered, then end the thread."""
        if not self._closed:
            self._closed = True
            self._orders.put(None)
            await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        try:
            connection, repositories = self._connect()
        except BaseException as error:  # noqa: BLE001 (handed to the thread that waits in `start`, whatever it is)
            self._opened.put(error)
            return
        self._opened.put(None)
        while (orders := self._next()) is not None:
            if orders:
                self._commit(connection, repositories, orders)
                self._answer(orders)
                self._untidy = True
            elif self._untidy:
                self._untidy = self._tidied(connection, repositories)
        connection.close()

    def _next(self) -> list[_Order] | None:
        """Return the orders that wait, none after a while without any, if there is to tidy; None when the writer is to end.

        Callers that shared the last commit come back soon after it, but not at once: a moment's patience lets them share
        the next one too. A single caller never waits.
        """
        try:
            first = self._orders.get(timeout=_QUIET_SECONDS if self._untidy else None)
        except queue.Empty:
            return []
        if first is None:
            return None
        orders = [first]
        until = time.monotonic() + _PATIENCE_SECONDS
        while len(orders) < _MOST_PER_COMMIT:
            patience = until - time.monotonic() if len(orders) < self._shared else 0.0
            try:
                order = self._orders.get(timeout=patience) if patience > 0 else self._orders.get_nowait()
            except queue.Empty:
                break
            if order is None:
                self._orders.put(None)  # seen again once these are done
                break
            orders.append(order)
        self._shared = len(orders)
        return orders

    def _commit(self, connection: apsw.Connection, repositories: _Rewindable, orders: list[_Order]) -> None:
        try:
            with translated("write"):
                if not self._run_together(connection, repositories, orders):
                    self._run_apart(connection, repositories, orders)
        except (MemstrataError, apsw.Error) as error:
            # Disk full, I/O error, damage: nothing of this commit holds, for nobody.
            self._roll_back(connection, repositories)
            self.failures += 1
            self._failure = str(error)
            _LOG.error("commit of %d works failed: %s", len(orders), error)
            for order in orders:
                order.error = order.error or error
        else:
            self.commits += 1
            self.works += len(orders)
            self._failure = ""

    def _run_together(self, connection: apsw.Connection, repositories: _Rewindable, orders: list[_Order]) -> bool:
        """Run all works in one transaction without savepoints, which cost a fifth; False if one of them raised."""
        connection.execute("BEGIN IMMEDIATE")
        for order in orders:
            try:
                order.result = order.work(repositories)
            except apsw.ConstraintError:
                break
            except apsw.Error:
                raise
            except Exception:  # noqa: BLE001 (raised again when the works run apart, and then handed to its caller)
                break
        else:
            connection.execute("COMMIT")
            return True
        self._roll_back(connection, repositories)
        return False

    def _run_apart(self, connection: apsw.Connection, repositories: _Rewindable, orders: list[_Order]) -> None:
        """Run all works again, each in a savepoint, so that those that raise take nothing of the others with them."""
        connection.execute("BEGIN IMMEDIATE")
        for order in orders:
            connection.execute("SAVEPOINT work")
            try:
                order.result = order.work(repositories)
            except apsw.ConstraintError as error:  # a bug of ours, but of this work alone
                order.error = error
            except apsw.Error:
                raise
            except Exception as error:  # noqa: BLE001 (goes to the caller of this work, who awaits it)
                order.error = error
            if order.error is not None:
                connection.execute("ROLLBACK TO work")
                repositories.rolled_back()
            connection.execute("RELEASE work")
        connection.execute("COMMIT")

    def _tidied(self, connection: apsw.Connection, repositories: _Rewindable) -> bool:
        """Tidy by a step in a transaction of its own; return whether to go on. A failure costs speed alone.

        At last the log is written back, which otherwise some later writer would wait for: 0.1 s on a large file.
        """
        try:
            with translated("tidy"):
                connection.execute("BEGIN IMMEDIATE")
                more = repositories.tidy()
                connection.execute("COMMIT")
                if not more:
                    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                return more
        except (MemstrataError, apsw.Error) as error:
            self._roll_back(connection, repositories)
            _LOG.warning("the file was not tidied: %s", error)
            return False

    def _roll_back(self, connection: apsw.Connection, repositories: _Rewindable) -> None:
        repositories.rolled_back()
        if connection.in_transaction:  # SQLite itself rolls back on some errors
            try:
                connection.execute("ROLLBACK")
            except apsw.Error as error:
                _LOG.error("rollback failed: %s", error)

    def _answer(self, orders: list[_Order]) -> None:
        """Hand the results back, one wake-up per event loop and commit."""
        loops: dict[asyncio.AbstractEventLoop, list[_Order]] = {}
        for order in orders:
            loops.setdefault(order.future.get_loop(), []).append(order)
        for loop, its in loops.items():
            try:
                loop.call_soon_threadsafe(_settle, its)
            except RuntimeError:
                _LOG.warning("%d callers were gone when their write became durable", len(its))


def _settle(orders: list[_Order]) -> None:
    for order in orders:
        if order.future.done():  # the caller was cancelled; the write holds all the same
            continue
        if order.error is not None:
            order.future.set_exception(order.error)
        else:
            order.future.set_result(order.result)
