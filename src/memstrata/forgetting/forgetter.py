"""Forgetting on request: one transaction for the rows and the receipt, then everything that lies outside of it.

The dry run reads by the same statements as the deletion, so that it cannot promise something else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memstrata.clock import Clock
from memstrata.errors import MemstrataError, NotFound
from memstrata.forgetting.scrubbing import Scrubbing
from memstrata.ids import forgetting_id
from memstrata.records import ComponentHealth, Profile
from memstrata.records.audit import Change
from memstrata.records.forgetting import Forgetting, ForgettingReceipt, Forgotten
from memstrata.search import Meaning
from memstrata.store.audit import audited
from memstrata.store.mirror import Mirror
from memstrata.store.protocol import ForgetfulStore, Repositories

__all__ = ["Forgetter"]

_PATIENCE_SECONDS = 1.0  # for the answer to say that it is complete; longer work goes on behind it


class Forgetter:
    """`fill_gap` sets the jobs that write anew what a profile lost; it runs inside the transaction."""

    def __init__(
        self,
        store: ForgetfulStore,
        meaning: Meaning,
        mirror: Mirror,
        clock: Clock,
        fill_gap: Callable[[Repositories, Profile], None],
    ) -> None:
        self._store = store
        self._meaning = meaning
        self._mirror = mirror
        self._clock = clock
        self._fill_gap = fill_gap
        self._scrubbing = Scrubbing(store, clock, self._clean_files)
        self._keys: set[str] = set()  # of indexes that hold what was deleted
        self._inherits = False  # a process before this one left work, and took its keys with it

    def health(self) -> ComponentHealth:
        return self._scrubbing.health()

    async def run(self) -> None:
        """Take the last bytes out of all files, until stopped."""
        self._inherits = bool(await self._store.read(lambda r: r.forgettings.unfinished()))
        await self._scrubbing.run()

    def stop(self) -> None:
        self._scrubbing.stop()

    async def foresee(self, what: Forgetting) -> Forgotten:
        """Return what would go."""
        return await self._store.read(lambda r: r.erasure.forget(what, dry_run=True))

    async def forget(self, what: Forgetting, actor: str) -> ForgettingReceipt:
        """Let it go, and return the receipt; complete, unless the files take longer than a second."""
        name, now = forgetting_id(), self._clock.now()

        def work(r: Repositories) -> tuple[ForgettingReceipt, Forgotten]:
            gone = r.erasure.forget(what)
            for profile in gone.profiles:
                self._fill_gap(r, profile)
            receipt = ForgettingReceipt(name, what.instance, what.told(), gone.counts, actor, now, complete=False)
            r.forgettings.add(receipt)
            return receipt, gone

        change = Change(
            what.instance,
            "memory.forget",
            what.team or "",
            what.agent or "",
            what.user or "",
            {"forgetting": [name]},
        )
        receipt, gone = await self._store.write(
            audited(work, now, lambda done: replace(change, counts=done[1].counts.by_layer()))
        )
        self.told(gone)
        await self._scrubbing.complete(what.instance, name, _PATIENCE_SECONDS)
        return await self.receipt(what.instance, receipt.forgetting_id)

    async def receipt(self, instance: str, forgetting_id: str) -> ForgettingReceipt:
        """Return a receipt as it is now. Raises NotFound."""
        found = await self._store.read(lambda r: r.forgettings.one(instance, forgetting_id))
        if found is None:
            raise NotFound(f"no such receipt: {forgetting_id[:64]}")
        return found

    def told(self, gone: Forgotten) -> None:
        """Hear of rows that went, with a receipt that is not complete."""
        self._keys.update(gone.index_keys)
        self._scrubbing.wake()

    async def completed(self, instance: str, forgetting_id: str, within_seconds: float) -> bool:
        """Wait until no byte is left of what a receipt is about, or the time is over; return whether none is."""
        return await self._scrubbing.complete(instance, forgetting_id, within_seconds)

    async def _clean_files(self) -> bool:
        """Take what went out of indexes, caches and readable files."""
        if self._inherits:
            await self._meaning.drop_files()
            self._inherits = False
        keys, self._keys = self._keys, set()
        try:
            await self._meaning.reconcile(sorted(keys))
        except MemstrataError:
            self._keys |= keys
            raise
        return await self._mirror.clean()
