"""What the proxy keeps, one repository per noun. Every method takes the session it is about; see `records.proxy`.

What decides between two proxies on one store is the store: a binding is put by its version, a snapshot and a ledger entry
are put only where there is none, a turn has an id that follows from the question. Whoever loses uses what the winner put.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from memstrata.clock import Instant
from memstrata.records.proxy import (
    Bound,
    DefaultBinding,
    LedgerEntry,
    MainPrompt,
    NewTurn,
    ProxySession,
    ProxySnapshot,
    ProxyTokens,
    ProxyUsage,
    RateKey,
    RateSum,
    Turn,
    TurnCounts,
)

__all__ = [
    "ProxyBindings",
    "ProxyLedger",
    "ProxyRates",
    "ProxyRepositories",
    "ProxySessions",
    "ProxySnapshots",
    "ProxyTurns",
    "ProxyUsages",
]


class ProxySessions(Protocol):
    """How long a session is kept: it goes as a whole or not at all."""

    def touch(self, session: ProxySession, now: Instant) -> None:
        """Let a session that is known live on from now. Every write to it does so too."""
        ...

    def remove(self, session: ProxySession) -> bool: ...
    def sweep(self, before: Instant, limit: int) -> int:
        """Remove at most `limit` sessions that nobody touched since and that owe the core no turn; return how many."""
        ...


class ProxyBindings(Protocol):
    """What sessions are bound to."""

    def read(self, session: ProxySession) -> Bound | None: ...
    def put(self, session: ProxySession, bound: Bound, expected_version: int, now: Instant) -> bool:
        """Put a binding in the place of the one with that version, 0 where there is none; False if another came first.

        `main` is left as it is: `note_main` keeps it.
        """
        ...

    def note_main(self, session: ProxySession, main: MainPrompt, now: Instant) -> None:
        """Keep what the last main request looked like. The version stays."""
        ...

    def default(self, instance: str, user: str) -> DefaultBinding | None: ...
    def put_default(self, instance: str, user: str, binding: DefaultBinding | None) -> None: ...


class ProxySnapshots(Protocol):
    """The one system block of a session."""

    def read(self, session: ProxySession) -> ProxySnapshot | None: ...
    def put_if_absent(self, session: ProxySession, snapshot: ProxySnapshot) -> ProxySnapshot:
        """Keep it unless there is one; return the one that holds now."""
        ...

    def replace(self, session: ProxySession, snapshot: ProxySnapshot) -> None:
        """Put another in its place, because the user asked for it."""
        ...


class ProxyLedger(Protocol):
    """What was put into which message."""

    def entries(self, session: ProxySession, chains: Collection[bytes]) -> Mapping[bytes, LedgerEntry]: ...
    def elsewhere(self, session: ProxySession, chains: Sequence[bytes], since: Instant) -> Mapping[bytes, LedgerEntry]:
        """Return the entries of the one other session that shares most of this conversation, created since.

        `chains` are in the order of the conversation. Only sessions of the same instance, user, client, team and agent.
        """
        ...

    def open(
        self, session: ProxySession, entries: Collection[LedgerEntry], turn: NewTurn | None, now: Instant
    ) -> Mapping[bytes, LedgerEntry]:
        """Put every entry that is not there yet, and the turn if it is new; return the entries that hold now.

        A new turn ends those that are still open in the session.
        """
        ...

    def cut(self, session: ProxySession, memory_ids: Collection[str] | None) -> int:
        """Empty the entries that show any of these memories, None: all of them; return how many.

        They stay as entries, so that nothing else takes their place.
        """
        ...


class ProxyTurns(Protocol):
    """Turns on their way to the core: the outbox. Nothing brings a turn back that is no longer open."""

    def read(self, session: ProxySession, turn_id: str) -> Turn | None: ...
    def current(self, session: ProxySession) -> Turn | None:
        """Return the turn that is open and was opened last."""
        ...

    def progress(self, session: ProxySession, turn_id: str, answer: str, now: Instant) -> bool:
        """Keep what is there of the answer so far, if anything; False if the turn is not open."""
        ...

    def close(self, session: ProxySession, turn_id: str, answer: str, now: Instant, *, complete: bool) -> bool:
        """Let the turn be sent; False if it is not open."""
        ...

    def close_idle(self, before: Instant, now: Instant) -> int:
        """End all open turns in which nothing happened since, incomplete; return how many."""
        ...

    def due(self, now: Instant, limit: int) -> tuple[Turn, ...]:
        """Return turns to be sent now, at most one of each session: the oldest that waits there."""
        ...

    def next_due(self) -> Instant | None:
        """Return when the next turn is to be sent, None if none waits."""
        ...

    def oldest_open(self) -> Instant | None:
        """Return when anything happened last in the open turn that is idle longest."""
        ...

    def deliver(self, session: ProxySession, turn_id: str) -> None:
        """Note that the core has it, and wipe its text; the id stays, so that it is never sent again."""
        ...

    def retry(self, session: ProxySession, turn_id: str, due_at: Instant, error: str) -> None: ...
    def park(self, session: ProxySession, turn_id: str, error: str) -> None:
        """Put a turn aside that the core will never accept as things are; those behind it go on."""
        ...

    def revive(self, instance: str, now: Instant) -> int:
        """Let what was put aside be sent again; return how many."""
        ...

    def counts(self, instance: str | None = None) -> TurnCounts:
        """Count what is not delivered, of one instance or of all."""
        ...


class ProxyUsages(Protocol):
    """Tokens by user, model and day."""

    def add(self, instance: str, user: str, model: str, day: str, tokens: ProxyTokens) -> None: ...
    def lines(
        self, instance: str, first_day: str, last_day: str, user: str | None = None
    ) -> tuple[ProxyUsage, ...]: ...


class ProxyRates(Protocol):
    """What went through lately. Asked and added to in one unit of work, a limit holds between several proxies."""

    def add(self, key: RateKey, at: Instant, requests: int, input_tokens: int) -> None: ...
    def sum(self, key: RateKey, after: Instant) -> RateSum: ...
    def prune(self, before: Instant) -> int: ...


class ProxyRepositories(Protocol):
    """All nouns of the proxy."""

    @property
    def sessions(self) -> ProxySessions: ...
    @property
    def bindings(self) -> ProxyBindings: ...
    @property
    def snapshots(self) -> ProxySnapshots: ...
    @property
    def ledger(self) -> ProxyLedger: ...
    @property
    def turns(self) -> ProxyTurns: ...
    @property
    def usage(self) -> ProxyUsages: ...
    @property
    def rates(self) -> ProxyRates: ...
