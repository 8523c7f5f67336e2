"""Performs due jobs: claims them with a lease, runs their handler, and puts what failed back with a delay.

Everything that must survive is in the database; here are only tasks. A handler commits its own output together with the
end of its job, so that a crash at any point leaves the job as it was.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, assert_never

from memstrata.clock import Clock, Instant, milliseconds
from memstrata.errors import LeaseLost, MemstrataError, Unavailable
from memstrata.records import ComponentHealth, Deferred, JobKind, Lease, Poison, Retry, RunOutcome, RunRecord
from memstrata.schedule.policy import deferred_due, retry_due
from memstrata.settings import PipelineSettings
from memstrata.store.protocol import Repositories, Store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["Engine", "Handler"]

_LOG = logging.getLogger(__name__)
_PAUSE_AFTER_STORE_ERROR = 1_000
_LOOK_AGAIN_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class _Next:
    """What becomes of a job that did not work. A buried one is due never."""

    name: Literal["deferred", "retried", "buried"]
    due: Instant


Handler = Callable[[Lease], Awaitable[Retry | Poison | None]]
"""Does one job and commits it. Returns why it could not, or None; anything it raises counts as Retry."""


class Engine:
    """The workers of one process."""

    def __init__(
        self, store: Store, clock: Clock, handlers: Mapping[JobKind, Handler], settings: PipelineSettings, origin: str
    ) -> None:
        self._store = store
        self._clock = clock
        self._handlers = handlers
        self._settings = settings
        self._origin = origin
        self._worker = f"{os.getpid()}"
        self._wake = asyncio.Event()
        self._sleeps_until: Instant | None = None  # when the loop looks at the jobs again by itself
        self._changed = asyncio.Condition()
        self._stopping = False
        self._running: set[asyncio.Task[None]] = set()
        self._counts = {"done": 0, "retried": 0, "deferred": 0, "buried": 0, "lost": 0}
        self._failure = ""

    def wake(self, due: Instant = 0) -> None:
        """Say that a job was set for `due`; without a time, that something may be due now."""
        if self._sleeps_until is None or due < self._sleeps_until:
            self._wake.set()

    def health(self) -> ComponentHealth:
        details = {**self._counts, "running": len(self._running)}
        return (
            ComponentHealth("reduced", self._failure, details)
            if self._failure
            else ComponentHealth("ok", details=details)
        )

    async def run(self) -> None:
        """Work until stopped."""
        while not self._stopping:
            self._wake.clear()
            self._sleeps_until = None  # whatever is set from here on may come too late for this look
            try:
                until = await self._start_due_jobs()
                self._failure = ""
            except MemstrataError as error:
                self._failure = f"jobs cannot be claimed: {error}"
                _LOG.error("%s", self._failure)
                until = self._clock.now() + _PAUSE_AFTER_STORE_ERROR
            if not self._stopping:
                self._sleeps_until = until
                await self._clock.wait(self._wake, until)

    async def drain(self, seconds: float) -> None:
        """Let waiting messages become memories within the deadline, then stop; what is left stays in the database."""
        passing = asyncio.get_running_loop().time
        deadline = passing() + seconds
        try:
            while await self._hasten() and passing() < deadline:
                self.wake()
                await self.wait_for_change(_LOOK_AGAIN_SECONDS)
        except MemstrataError as error:
            _LOG.warning("stopping with messages undistilled: %s", error)
        self._stopping = True
        self._wake.set()
        if self._running:
            await asyncio.wait(self._running, timeout=max(0.0, deadline - passing()))
        for task in self._running:
            _LOG.warning("%s did not end in time; it is done again at the next start", task.get_name())
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)

    async def wait_for_change(self, timeout_seconds: float) -> None:
        """Return when some job has ended, or the time is over."""
        try:
            async with asyncio.timeout(timeout_seconds), self._changed:
                await self._changed.wait()
        except TimeoutError:
            return

    async def _start_due_jobs(self) -> Instant | None:
        """Start what is due and fits; return when to look again, None for: when woken."""
        while (free := self._settings.workers - len(self._running)) > 0:
            now = self._clock.now()
            due = await self._next_due(now)
            if due is None or due > now or self._stopping:
                return due
            leases = await self._claim(now, free)
            if not leases:
                return None
            for lease in leases:
                task = asyncio.create_task(self._perform(lease), name=f"{lease.kind} job {lease.job_id}")
                self._running.add(task)
                task.add_done_callback(self._ended)
        return None

    async def _next_due(self, now: Instant) -> Instant | None:
        return await self._store.read(lambda r: r.jobs.next_due(now))

    async def _claim(self, now: Instant, limit: int) -> tuple[Lease, ...]:
        until = now + milliseconds(self._settings.lease_seconds)
        return await self._store.write(lambda r: r.jobs.claim(self._worker, now, until, limit))

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._wake.set()

    async def _perform(self, lease: Lease) -> None:
        started = self._clock.now()
        try:
            async with self._renewed(lease):
                outcome = await self._handlers[lease.kind](lease)
        except LeaseLost as error:
            self._counts["lost"] += 1
            _LOG.warning("%s job %d dropped: %s", lease.kind, lease.job_id, error)
            return
        except Exception as error:  # noqa: BLE001 (the edge of a worker: whatever a step raises must not stop the others)
            _LOG.exception("%s job %d failed", lease.kind, lease.job_id)
            after = error.retry_after if isinstance(error, Unavailable) else None
            outcome = Retry(f"{type(error).__name__}: {error}", after)
        finally:
            await self._notify()
        if outcome is None:
            self._counts["done"] += 1
        else:
            await self._put_back(lease, outcome, started)
            await self._notify()

    async def _put_back(self, lease: Lease, outcome: Retry | Poison, started: Instant) -> None:
        now = self._clock.now()
        after = self._what_next(lease, outcome, now)
        kind: RunOutcome = "poison" if isinstance(outcome, Poison) else "retry"
        run = RunRecord(lease.kind, kind, 0, 0, 0, 0, self._origin, started, now, outcome.reason, outcome.provenance)

        def work(r: Repositories) -> None:
            r.jobs.hold(lease)
            if after.name != "deferred" or lease.deferrals == 0:  # an outage of a day is one line, not thousands
                r.jobs.record(lease.target, run)
            match after.name:
                case "deferred":
                    r.jobs.defer(lease, after.due, outcome.reason)
                case "retried":
                    r.jobs.fail(lease, after.due, outcome.reason)
                case "buried":
                    r.jobs.bury(lease, outcome.reason)
                case other:
                    assert_never(other)

        self._counts[after.name] += 1
        _LOG.warning("%s job %d %s: %s", lease.kind, lease.job_id, after.name, outcome.reason)
        try:
            await self._store.write(work)
        except MemstrataError as error:  # the lease runs out and the job is claimed again
            _LOG.error("%s job %d could not be put back: %s", lease.kind, lease.job_id, error)

    def _what_next(self, lease: Lease, outcome: Retry | Poison, now: Instant) -> _Next:
        match outcome:
            case Deferred():
                due = deferred_due(lease.deferrals + 1, self._settings, now, outcome.after_seconds)
                return _Next("deferred", due.at)
            case Retry():
                again = retry_due(lease.attempt, self._settings, now, outcome.after_seconds)
                return _Next("retried", again.at) if again else _Next("buried", now)
            case Poison():
                return _Next("buried", now)
            case other:
                assert_never(other)

    @asynccontextmanager
    async def _renewed(self, lease: Lease) -> AsyncIterator[None]:
        """Keep the lease alive while the block runs."""
        renewal = asyncio.create_task(self._renew(lease), name=f"renew {lease.kind} job {lease.job_id}")
        try:
            yield
        finally:
            renewal.cancel()

    async def _renew(self, lease: Lease) -> None:
        length = milliseconds(self._settings.lease_seconds)
        never = asyncio.Event()
        while True:
            await self._clock.wait(never, self._clock.now() + length // 3)
            try:
                if not await self._extend(lease, self._clock.now() + length):
                    return
            except MemstrataError as error:  # the commit checks the lease anyway
                _LOG.warning("lease of %s job %d not renewed: %s", lease.kind, lease.job_id, error)

    async def _hasten(self) -> bool:
        """Make all L1 due; return whether there is any, waiting or running."""
        now = self._clock.now()
        return await self._store.write(lambda r: r.jobs.hasten("l1", now)) > 0

    async def _extend(self, lease: Lease, until: Instant) -> bool:
        return await self._store.write(lambda r: r.jobs.renew(lease, until))

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
