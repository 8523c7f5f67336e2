"""The audit trail as a store keeps it, and how a change gets its row: in the same transaction, or the change is not.

Who acts is set where a request comes in and read where a work is made, so that not every verb of every room carries an
argument that all pass on and none looks at. Inside of a work, which runs in the store's thread, nobody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol, TypeVar

from memstrata.clock import Instant
from memstrata.records.audit import LIBRARY, Actor, AuditEntry, AuditFilter, AuditHead, AuditRow, Change

if TYPE_CHECKING:
    from memstrata.store.protocol import Repositories

__all__ = ["Audit", "acting", "actor", "audited"]

T = TypeVar("T")
_ACTOR: ContextVar[Actor] = ContextVar("memstrata_actor", default=LIBRARY)


class Audit(Protocol):
    """Rows that are added and read, never changed. The chain is of all instances; a page is of one."""

    def append(self, entry: AuditEntry) -> None: ...
    def head(self) -> AuditHead:
        """Return where the trail ends; seq 0 where it has not begun."""
        ...

    def after(self, seq: int, limit: int) -> tuple[AuditRow, ...]:
        """Return the next rows of all instances, in their order."""
        ...

    def page(self, where: AuditFilter, before: int | None, limit: int) -> tuple[AuditRow, ...]:
        """Return rows of an instance, the newest first, older than the row `before`."""
        ...


def actor() -> Actor:
    """Return who acts here: the library's caller where nobody said otherwise."""
    return _ACTOR.get()


@contextmanager
def acting(who: Actor) -> Iterator[None]:
    """Let what is done in a block be done by somebody."""
    token = _ACTOR.set(who)
    try:
        yield
    finally:
        _ACTOR.reset(token)


def audited(
    work: Callable[[Repositories], T], now: Instant, change: Change | Callable[[T], Change | None]
) -> Callable[[Repositories], T]:
    """Return the work with its row: `change`, or what that makes of the work's result; None for nothing was changed."""
    who = actor()

    def both(r: Repositories) -> T:
        done = work(r)
        told = change if isinstance(change, Change) else change(done)
        if told is not None:
            r.audit.append(told.entry(who, now))
        return done

    return both
