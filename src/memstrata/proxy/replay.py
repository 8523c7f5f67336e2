"""The ledger at work: memory is asked for once a message, stored before anything goes out, and put back ever after.

Whoever stores first decides what a message holds; a second proxy, or a retry that runs beside the first try, uses what is
there. A core that fails or takes too long costs this message its memory and nothing else: the entry is empty then, so that
later requests stay equal to this one. A store that cannot be written gives nothing new; what is known is put back still.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

from memstrata.clock import Clock, Instant, milliseconds
from memstrata.errors import MemstrataError
from memstrata.proxy.clients.client import Client
from memstrata.proxy.ledger import Link, TypedMemo, chain_of, plan, shown_before, turn_id
from memstrata.proxy.recalled import RecalledMemory, RecalledRules, render_recalled
from memstrata.proxy.wire.request import ProxyRequest, Wire
from memstrata.records.proxy import LedgerEntry, NewTurn, ProxySession
from memstrata.store.protocol import Repositories, Store

__all__ = ["Known", "Recall", "Replay", "ReplayCounts", "Replayed", "TurnOwner"]

T = TypeVar("T")
Recall: TypeAlias = Callable[[str], Awaitable[Sequence[RecalledMemory]]]
"""Asks the core for what bears on a text; may raise anything."""
Fault = Literal["", "recall failed", "recall timed out", "store failed"]

_LOG = logging.getLogger(__name__)
_MOST_QUERY = 2_048  # characters
_MOST_BARE = 10_000  # links that are remembered because no store could
_MOST_FLIGHTS = 1_000
_RESUMED_DAYS = 30


@dataclass(frozen=True, slots=True)
class TurnOwner:
    """Whose turn a main request is part of."""

    team: str
    agent: str
    task: str = ""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The blocks to place, by message. `turn` is the turn that the request is part of, "" for none.

    `asked`: memory was asked for with this request. `fault` names what kept it from being complete.
    """

    blocks: tuple[tuple[int, bytes], ...] = ()
    turn: str = ""
    asked: bool = False
    fault: Fault = ""


@dataclass(slots=True)
class ReplayCounts:
    """For status and metrics."""

    asked: int = 0
    replayed_blocks: int = 0
    empty: int = 0
    recall_failed: int = 0
    recall_timed_out: int = 0
    store_failed: int = 0


@dataclass(frozen=True, slots=True)
class Known:
    """What the store says of a request. `resumed` are those of the entries that another session has."""

    entries: Mapping[bytes, LedgerEntry]
    resumed: tuple[LedgerEntry, ...]
    turn: str
    turn_is_new: bool


class Replay:
    """One per process. `close` waits for what it has asked the core."""

    def __init__(self, store: Store, clock: Clock, rules: RecalledRules) -> None:
        self._store = store
        self._clock = clock
        self._rules = rules
        self._flights: OrderedDict[tuple[ProxySession, bytes], asyncio.Task[tuple[LedgerEntry, Fault]]] = OrderedDict()
        self._sent_bare: OrderedDict[tuple[ProxySession, bytes], None] = OrderedDict()
        self._typed = TypedMemo()
        self.counts = ReplayCounts()

    async def settle(
        self,
        session: ProxySession,
        request: ProxyRequest,
        wire: Wire,
        client: Client,
        *,
        recall: Recall | None = None,
        owner: TurnOwner | None = None,
        only_look: bool = False,
        seen: tuple[Sequence[Link], Known] | None = None,
    ) -> Replayed:
        """Return what to put into a request that is about to go out.

        `recall` is None where nothing new may be put in: a fork, a compaction, memory that is switched off. `owner` is
        None where the request is no part of a turn. `only_look` keeps nothing, because what is asked for is a count of
        tokens, and the message itself is yet to come. `seen` is what `looking` has found for these links a moment ago.
        When this returns, all it says is durable, or it says a fault. Raises MemstrataError where not even what was put in
        before can be read.
        """
        links = self.links(request, client) if seen is None else seen[0]
        if not links:
            return Replayed()
        try:
            known = seen[1] if seen is not None else await self.again(self.looking(session, links))
        except MemstrataError:
            if not only_look:
                self.went_bare(session, links)
            raise
        bare = {link.chain for link in links if (session, link.chain) in self._sent_bare}
        decided = plan(links, known.entries, may_ask=recall is not None, sent_bare=bare)
        if only_look:
            return Replayed(decided.blocks)
        asked = decided.ask is not None
        fault: Fault = ""
        now = self._clock.now()
        new = [LedgerEntry(link.chain, b"", (), now) for link in decided.bare]
        new += [replace(entry, created_at=now) for entry in known.resumed]
        if decided.ask is not None and recall is not None:
            entry, fault = await self._candidate(session, decided.ask, links, known.entries, wire, recall)
            new.append(entry)
        turn = _new_turn(known, links[-1], owner)
        if new or turn is not None:
            try:
                won = await self._store.write(lambda r: r.proxy.ledger.open(session, new, turn, now))
            except MemstrataError as error:
                _LOG.warning("nothing new is put into a request: the store failed (%s)", type(error).__name__)
                self.went_bare(session, links)
                return Replayed(
                    decided.blocks, known.turn if owner is not None and not turn else "", fault="store failed"
                )
            decided = plan(links, {**known.entries, **won}, may_ask=False)
        self.counts.replayed_blocks += len(decided.blocks)
        return Replayed(decided.blocks, known.turn if owner is not None else "", asked, fault)

    def links(self, request: ProxyRequest, client: Client) -> tuple[Link, ...]:
        """Return the links of a request, those of its older messages from memory."""
        return chain_of(request, client, self._typed)

    def looking(self, session: ProxySession, links: Sequence[Link]) -> Callable[[Repositories], Known]:
        """Return the work that looks up what is kept for some links, for a unit of work that reads more than that."""
        since = self._since()
        return lambda r: look(r, session, links, since)

    async def close(self) -> None:
        """Let what is under way come to its end; it is bounded by the budget."""
        await asyncio.gather(*self._flights.values(), return_exceptions=True)

    async def _candidate(
        self,
        session: ProxySession,
        link: Link,
        links: Sequence[Link],
        entries: Mapping[bytes, LedgerEntry],
        wire: Wire,
        recall: Recall,
    ) -> tuple[LedgerEntry, Fault]:
        """Ask for a message's memory, once however many requests want it at a time."""
        key = (session, link.chain)
        flight = self._flights.get(key)
        if flight is None:
            flight = asyncio.create_task(self._ask(link, links, entries, wire, recall), name="memstrata-proxy-recall")
            # It stays for a while when it has ended: a request that read the ledger before it was written comes by yet.
            self._flights[key] = flight
            if len(self._flights) > _MOST_FLIGHTS:
                self._flights.popitem(last=False)
        return await asyncio.shield(flight)

    async def _ask(
        self, link: Link, links: Sequence[Link], entries: Mapping[bytes, LedgerEntry], wire: Wire, recall: Recall
    ) -> tuple[LedgerEntry, Fault]:
        self.counts.asked += 1
        found: Sequence[RecalledMemory] = ()
        fault: Fault = ""
        try:
            async with asyncio.timeout(self._rules.budget_seconds):
                found = await recall(link.text[:_MOST_QUERY])
        except TimeoutError:
            fault = "recall timed out"
            self.counts.recall_timed_out += 1
        except Exception as error:  # noqa: BLE001 (fail open: a message without memory, logged and counted)
            fault = "recall failed"
            self.counts.recall_failed += 1
            _LOG.warning("no memory for a message: recall failed (%s)", type(error).__name__)
        text, shown = render_recalled(found, shown_before(links, entries), self._rules)
        self.counts.empty += not text
        block = wire.recalled_block(text) if text else b""
        return LedgerEntry(link.chain, block, shown, self._clock.now()), fault

    async def again(self, work: Callable[[Repositories], T]) -> T:
        """Read, and read once more if that failed: what was put in before is worth a second try."""
        try:
            return await self._store.read(work, timeout_seconds=0.1)
        except MemstrataError as error:
            _LOG.warning("reading the ledger failed and is tried once more (%s)", type(error).__name__)
            return await self._store.read(work, timeout_seconds=0.1)

    def went_bare(self, session: ProxySession, links: Sequence[Link]) -> None:
        """Remember that the newest of these messages goes out as it came, because no store can say so."""
        self.counts.store_failed += 1
        if links:
            self._sent_bare[session, links[-1].chain] = None
        while len(self._sent_bare) > _MOST_BARE:
            self._sent_bare.popitem(last=False)

    def _since(self) -> Instant:
        return self._clock.now() - milliseconds(_RESUMED_DAYS * 86_400)


def look(r: Repositories, session: ProxySession, links: Sequence[Link], since: Instant) -> Known:
    """Return what is kept for these links; of a session that has nothing yet, what the one has that it goes on from."""
    if not links:
        return Known({}, (), "", turn_is_new=False)
    entries = r.proxy.ledger.entries(session, [link.chain for link in links])
    resumed: Mapping[bytes, LedgerEntry] = {}
    history = [link.chain for link in links if not link.open]
    if history and not entries:
        entries = resumed = r.proxy.ledger.elsewhere(session, history, since)
    copied = tuple(resumed.values())
    if links[-1].summary:
        current = r.proxy.turns.current(session)
        return Known(entries, copied, current.turn_id if current is not None else "", turn_is_new=False)
    name = turn_id(session, links[-1])
    turn = r.proxy.turns.read(session, name)
    is_over = turn is not None and turn.state != "open"  # a retry: nothing that comes of it is kept
    return Known(entries, copied, "" if is_over else name, turn is None)


def _new_turn(known: Known, link: Link, owner: TurnOwner | None) -> NewTurn | None:
    if owner is None or not known.turn_is_new:
        return None
    return NewTurn(known.turn, link.text, owner.team, owner.agent, owner.task)
