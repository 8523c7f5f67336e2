"""What is kept for so many days only: older messages and memories go, by the path of all deletions.

Counted from when a message was recorded, not from when it was said: history that is imported is kept as long as any.
Memories go with the messages that support them. Scenes and portraits stay, and rest on what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memstrata.clock import Instant, milliseconds, to_iso
from memstrata.ids import forgetting_id
from memstrata.records import Scope
from memstrata.records.audit import PIPELINE, Change
from memstrata.records.forgetting import ForgettingReceipt, Forgotten, ForgottenCounts
from memstrata.store.protocol import Repositories, Store

__all__ = ["Retention", "RetentionRun"]

_BATCH = 500  # messages in one transaction: others write in between


@dataclass(frozen=True, slots=True)
class RetentionRun:
    """One run: when it began, in how many scopes rows expired, and how many."""

    at: Instant
    scopes: int
    counts: ForgottenCounts


class Retention:
    """`days` is what holds where no policy says otherwise, 0 for ever. `told` hears what went, batch by batch."""

    def __init__(self, store: Store, days: int, told: Callable[[Forgotten], None]) -> None:
        self._store = store
        self._days = days
        self._told = told
        self._stopping = False
        self.last: RetentionRun | None = None

    async def run(self, now: Instant) -> RetentionRun:
        """Let all expire that is older than its scope's days. Raises what the store raises; what went before stays gone."""
        counts, expired = ForgottenCounts(), 0
        for scope, days in await self._store.read(lambda r: r.policies.retained(self._days)):
            gone = await self._expire(scope, days, now)
            expired += gone != ForgottenCounts()
            counts += gone
        self.last = RetentionRun(now, expired, counts)
        return self.last

    def details(self) -> Mapping[str, int | str]:
        """Return what the last run did, for health; nothing before the first."""
        if self.last is None:
            return {}
        return {
            "retention_at": to_iso(self.last.at),
            "expired_scopes": self.last.scopes,
            "expired_messages": self.last.counts.messages,
            "expired_memories": self.last.counts.memories,
        }

    def stop(self) -> None:
        self._stopping = True

    async def _expire(self, scope: Scope, days: int, now: Instant) -> ForgottenCounts:
        before = now - milliseconds(days * 86_400)
        total = ForgottenCounts()
        while not self._stopping:
            gone = await self._store.write(lambda r: _expire_batch(r, scope, before, days, now))
            if not gone.rows:
                break
            total += gone.counts
            self._told(gone)
        return total


def _expire_batch(r: Repositories, scope: Scope, before: Instant, days: int, now: Instant) -> Forgotten:
    gone = r.erasure.expire(scope, before, _BATCH)
    if gone.rows:
        name, selector = forgetting_id(), {"retention_days": days, "until": before}
        r.forgettings.add(
            ForgettingReceipt(name, scope.instance, selector, gone.counts, "retention", now, complete=False)
        )
        expired = Change.of(scope, "memory.expire", {"forgetting": [name]}, gone.counts.by_layer())
        r.audit.append(expired.entry(PIPELINE, now))
    return gone
