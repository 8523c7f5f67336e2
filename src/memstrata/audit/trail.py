"""The trail while it grows: what was injected gets its rows behind the answer, the end is noted, and both can be looked at.

Changes bring their rows with them (`store.audit.audited`). A recall must not wait for a commit, so its row waits here for
at most a second; a process that is killed meanwhile loses it, a store that cannot write keeps the newest and counts the
rest, in health and in the trail.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from memstrata.audit.chain import CUT_OFF, HEAD_MISSING, AuditReport, ChainCheck
from memstrata.audit.changes import injected
from memstrata.audit.head import read_head, write_head
from memstrata.clock import Clock, Instant, milliseconds
from memstrata.errors import MemstrataError, Misconfigured
from memstrata.records import ComponentHealth, Profile, Recall, Scope, Shown
from memstrata.records.audit import PIPELINE, Actor, AuditFilter, AuditHead, AuditRow, Change
from memstrata.store.audit import actor
from memstrata.store.protocol import Repositories, Store

__all__ = ["AuditTrail"]

_LOG = logging.getLogger(__name__)
_EVERY_SECONDS = 1.0
_MOST_WAITING = 10_000
_PORTION = 2_000  # rows of a verification in one reading
_LOST = "recall.lost"


@dataclass(frozen=True, slots=True)
class _Injection:
    scope: Scope
    profile: Profile
    shown: Shown
    actor: Actor
    at: Instant


class AuditTrail:
    """Runs until stopped. `start` before the first change, `flush` after the last."""

    def __init__(self, store: Store, clock: Clock, folder: Path) -> None:
        self._store = store
        self._clock = clock
        self._folder = folder
        self._stop = asyncio.Event()
        self._flushing = asyncio.Lock()
        self._waiting: list[_Injection] = []
        self._noted: AuditHead | None = None
        self._unsaid = 0  # lost rows that the trail does not tell of yet
        self._lost = 0
        self._failures = 0
        self._failure = ""

    def health(self) -> ComponentHealth:
        counts = {"waiting": len(self._waiting), "lost": self._lost, "failures": self._failures}
        return ComponentHealth("reduced" if self._failure else "ok", self._failure, counts)

    async def start(self) -> None:
        """Compare the end with the one that was noted. What does not fit gets a row, so that it is never forgotten.

        Raises Misconfigured for a file that cannot be read.
        """
        noted = await asyncio.to_thread(read_head, self._folder)

        def look(r: Repositories) -> Change | None:
            if noted is None:
                return None if r.audit.head().seq == 0 else Change("", HEAD_MISSING)
            if _is_there(r, noted):
                return None
            return Change("", CUT_OFF, counts={"noted": noted.seq, "found": r.audit.head().seq})

        found, now = await self._store.read(look), self._clock.now()
        if found is not None:
            _LOG.error("the audit trail does not end as noted (%s); `memstrata audit verify` says more", found.action)
            await self._store.write(lambda r: r.audit.append(found.entry(PIPELINE, now)))
        await self.flush()

    async def run(self) -> None:
        """Write and note what has come, every second."""
        while not self._stop.is_set():
            await self._clock.wait(self._stop, self._clock.now() + milliseconds(_EVERY_SECONDS))
            await self.flush()

    def stop(self) -> None:
        self._stop.set()

    def injected(self, scope: Scope, profile: Profile, recall: Recall) -> None:
        """Take a row for what was put into a prompt, to be written soon; of too many the oldest go, and are counted."""
        if recall.shown.memories or recall.shown.documents:
            self._waiting.append(_Injection(scope, profile, recall.shown, actor(), self._clock.now()))
            self._drop_oldest()

    async def flush(self) -> None:
        """Write the rows that wait, and note the end. A failure is logged, shown in health, and tried again."""
        async with self._flushing:
            try:
                await self._write()
                await self._note()
                self._failure = ""
            except (MemstrataError, OSError) as error:
                self._failures += 1
                before, self._failure = self._failure, f"the audit trail is behind: {error}"
                if self._failure != before:  # tried every second, told once
                    _LOG.warning("%s; %d rows wait", self._failure, len(self._waiting))

    async def page(self, where: AuditFilter, *, before: int | None = None, limit: int = 50) -> tuple[AuditRow, ...]:
        """Return rows of an instance, the newest first, of those older than the row `before`."""
        return await self._store.read(lambda r: r.audit.page(where, before, limit))

    async def verify(self, instance: str | None = None) -> AuditReport:
        """Go through the whole trail and compare its end with the noted one; `instance` is whose rows are counted."""
        await self.flush()
        check = ChainCheck(await asyncio.to_thread(read_head, self._folder), instance)

        def portion(r: Repositories) -> tuple[AuditRow, ...]:
            return r.audit.after(check.last_seq, _PORTION)

        while not check.is_broken and (rows := await self._store.read(portion)):
            await asyncio.to_thread(check.check, rows)
        return check.report()

    async def _write(self) -> None:
        waiting, unsaid = self._waiting, self._unsaid
        if not waiting and not unsaid:
            return
        self._waiting, now = [], self._clock.now()

        def work(r: Repositories) -> None:
            for one in waiting:
                r.audit.append(injected(one.scope, one.profile, one.shown).entry(one.actor, one.at))
            if unsaid:
                r.audit.append(Change("", _LOST, counts={"rows": unsaid}).entry(PIPELINE, now))

        try:
            await self._store.write(work)
            self._unsaid -= unsaid
        except MemstrataError:
            self._waiting = waiting + self._waiting
            self._drop_oldest()
            raise

    async def _note(self) -> None:
        noted = self._noted

        def look(r: Repositories) -> tuple[AuditHead, bool]:
            return r.audit.head(), noted is None or _is_there(r, noted)

        head, is_whole = await self._store.read(look)
        if noted is not None and not is_whole:
            # Somebody else wrote to the file. The note is what shows it, so it stays.
            raise Misconfigured(f"row {noted.seq} of the audit trail is gone or changed")
        if head != noted:
            await asyncio.to_thread(write_head, self._folder, head)
            self._noted = head

    def _drop_oldest(self) -> None:
        if (more := len(self._waiting) - _MOST_WAITING) > 0:
            del self._waiting[:more]
            self._lost += more
            self._unsaid += more


def _is_there(r: Repositories, noted: AuditHead) -> bool:
    rows = r.audit.after(noted.seq - 1, 1)
    return noted.seq == 0 or (bool(rows) and (rows[0].seq, rows[0].hash) == (noted.seq, noted.hash))
