"""Whose memory an agent may read besides its own. Asked anew with every recall, so that what is taken back is back at once.

A block counts while it is bound to the agent, could still be bound, is the memory of a live agent, and may be read by the
very user who asks: what is private to the owner of both agents is not shown to others who use the one.
"""

from __future__ import annotations

from memstrata.clock import Clock, Instant
from memstrata.directory.asset_access import memory_of
from memstrata.directory.bindings import MAX_BORROWED, bindable
from memstrata.records import Lender, Scope
from memstrata.store.directory import Window
from memstrata.store.protocol import Repositories, Store

__all__ = ["Lenders", "borrowed"]

_ALL = Window(1_000)


def borrowed(r: Repositories, scope: Scope, now: Instant) -> tuple[Lender, ...]:
    """Return the agents, at most two, whose memory the scope's user may read with the scope's agent."""
    borrower = r.agents.get(scope.instance, scope.agent)
    if borrower is None or borrower.team_id != scope.team or borrower.status != "active":
        return ()
    if r.agents.seen(scope.instance, scope.agent, scope.user) is None:
        return ()
    lenders: list[Lender] = []
    for _, asset in r.assets.bound(scope.instance, scope.agent, scope.user, _ALL, now).items:
        lender_id = memory_of(r, scope.instance, asset)
        if lender_id is None or lender_id == borrower.agent_id or not bindable(asset, borrower):
            continue
        lender = r.agents.get(scope.instance, lender_id)
        if lender is not None and lender.status == "active":
            lenders.append(Lender(lender.team_id, lender.agent_id, lender.name))
    return tuple(lenders[:MAX_BORROWED])


class Lenders:
    """The question of the recall, answered from a store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def of(self, scope: Scope) -> tuple[Lender, ...]:
        """Return whose memory may be read besides the scope's own."""
        now = self._clock.now()
        return await self._store.read(lambda r: borrowed(r, scope, now))
