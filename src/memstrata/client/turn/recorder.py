"""Turn capture for an agent's run hooks: begin when a run starts, capture when it ends. It never raises into the agent.

    recorder = AsyncTurnRecorder(client, view=view_langchain, store=SqliteWatermarkStore("turns.db"))
    turn = await recorder.begin(messages, TurnIds(session="thread-1"))
    ...                                                       # the run
    await recorder.capture(messages, TurnIds(session="thread-1"), turn)

A run that is resumed has no turn in hand and leaves it out. What is captured goes to the store first and then, in the
background, to the server.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from memstrata.client._async import AsyncMemoryClient
from memstrata.client._calls import wire_time
from memstrata.client._sync import MemoryClient
from memstrata.client.turn.batches import Batch, batches
from memstrata.client.turn.delivery import Delivery
from memstrata.client.turn.fingerprints import digest
from memstrata.client.turn.formats import Views, view_plain
from memstrata.client.turn.journal import WAIT_SECONDS, Journal, Wait
from memstrata.client.turn.messages import MessageView
from memstrata.client.turn.parcel import Address, Parcel
from memstrata.client.turn.slicing import CaptureRules, cut
from memstrata.client.turn.status import Counts, Outcome, RecorderStatus
from memstrata.client.turn.store import MemoryWatermarkStore, WatermarkStore, in_daemon_thread
from memstrata.client.turn.watermark import Turn, fits, place

__all__ = ["AsyncTurnRecorder", "TurnIds"]

_log = logging.getLogger(__name__)

MAX_THREADS = 10_000


@dataclass(frozen=True, slots=True)
class TurnIds:
    """Whose run it is. What is None is as the recorder's client has it.

    `nested`: the run is a step inside another agent's run, under that agent's session.
    """

    session: str | None = None
    user: str | None = None
    agent: str | None = None
    team: str | None = None
    task: str | None = None
    nested: bool = False


class AsyncTurnRecorder:
    """Captures each turn once, for any number of threads, through one client. Used in one event loop at a time."""

    def __init__(
        self,
        client: AsyncMemoryClient | MemoryClient,
        *,
        view: Views = view_plain,
        store: WatermarkStore | None = None,
        rules: CaptureRules | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        store_wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        """Without a `store`, turns and what waits for the server are kept in this process alone.

        `view` reads the framework's messages. A hook waits at most `store_wait_seconds` for the store.
        """
        self._client = client
        self._view = view
        self._rules = rules or CaptureRules()
        self._now = now
        self._counts = Counts()
        self._journal = Journal(store or MemoryWatermarkStore(), self._counts, store_wait_seconds)
        self._delivery = Delivery(self._send, self._journal, self._counts)
        self._begun: OrderedDict[str, Turn] = OrderedDict()
        self._finished: OrderedDict[str, None] = OrderedDict()

    @property
    def status(self) -> RecorderStatus:
        """What was captured, what waits, what failed."""
        return self._counts.status(self._delivery.waiting)

    async def begin(self, messages: Iterable[object], ids: TurnIds | None = None) -> Turn | None:
        """Place the watermark of the turn that the list ends with. Call it when the user's message is in the list.

        None means that nothing begins: the list does not end with a user's message, the run is nested, or this failed.
        """
        try:
            return await self._begin(self._view(messages), ids or TurnIds())
        except Exception as error:  # noqa: BLE001 - never into the agent
            self._failed("begin", error)
            return None

    async def capture(
        self,
        messages: Iterable[object],
        ids: TurnIds | None = None,
        turn: Turn | None = None,
        *,
        blocked: bool = False,
    ) -> Outcome:
        """Hand over what the turn added to the list, and return without waiting for the server.

        `turn` is what `begin` returned; without it the thread's last turn is looked up and must fit the list.
        `blocked`: a guard answered instead of the model.
        """
        try:
            outcome = await self._capture(self._view(messages), ids or TurnIds(), turn, blocked=blocked)
        except Exception as error:  # noqa: BLE001 - never into the agent
            self._failed("capture", error)
            outcome = "failed"
        self._counts.outcomes[outcome] += 1
        return outcome

    async def drain(self, seconds: float = 5.0) -> int:
        """Deliver what waits, also what an earlier process left; return how many turns still wait after that time."""
        return await self._delivery.drain(seconds)

    async def aclose(self, seconds: float = 5.0) -> None:
        """Deliver what can be delivered in that time and stop. The client stays open."""
        await self._delivery.drain(seconds)
        await self._delivery.stop()

    async def _begin(self, messages: tuple[MessageView, ...], ids: TurnIds) -> Turn | None:
        if ids.nested and not self._rules.capture_nested:
            return None
        address = self._address(ids)
        thread = _thread(address)
        wait = self._journal.wait()
        unfinished = self._begun.get(thread) or await self._open_turn(thread, wait)
        turn = place(messages, address.user, thread, self._time(), unfinished)
        if turn is None:
            return None
        self._begun[thread] = turn
        self._begun.move_to_end(thread)
        if len(self._begun) > MAX_THREADS:
            self._begun.popitem(last=False)
        await self._journal.begin(thread, turn, wait)
        self._delivery.start()
        return turn

    async def _capture(
        self, messages: tuple[MessageView, ...], ids: TurnIds, turn: Turn | None, *, blocked: bool
    ) -> Outcome:
        if ids.nested and not self._rules.capture_nested:
            return "nested"
        address = self._address(ids)
        thread = _thread(address)
        wait = self._journal.wait()
        if turn is None:
            turn = await self._recovered(thread, messages, address.user, wait)
        if turn is None or turn.id in self._finished:
            return "not begun"
        if blocked and not self._rules.store_blocked:
            await self._finish(thread, turn, wait)
            return "blocked"
        said = cut(turn, messages, self._time(), self._rules)
        if said is None:
            return "no watermark"
        if not said:
            await self._finish(thread, turn, wait)
            return "nothing said"
        parcel = self._parcel(address, thread, turn, batches(said))
        durable = await self._journal.park(parcel, wait)
        self._delivery.hand_over(parcel, durable=durable)
        if durable:
            await self._finish(thread, turn, wait)
        else:
            self._close(thread, turn)
        return "captured"

    async def _recovered(self, thread: str, messages: tuple[MessageView, ...], user: str, wait: Wait) -> Turn | None:
        """Return the thread's open turn, from memory or from the store, if the list bears it out."""
        turn = self._begun.get(thread)
        if turn is not None and fits(turn, messages, user):
            return turn
        turn = await self._open_turn(thread, wait)
        return turn if turn is not None and fits(turn, messages, user) else None

    async def _open_turn(self, thread: str, wait: Wait) -> Turn | None:
        turn = await self._journal.unfinished(thread, wait)
        return None if turn is None or turn.id in self._finished else turn

    async def _finish(self, thread: str, turn: Turn, wait: Wait) -> None:
        self._close(thread, turn)
        await self._journal.finish(thread, turn.id, wait)

    def _close(self, thread: str, turn: Turn) -> None:
        self._finished[turn.id] = None
        if len(self._finished) > MAX_THREADS:
            self._finished.popitem(last=False)
        begun = self._begun.get(thread)
        if begun is not None and begun.id == turn.id:
            del self._begun[thread]

    def _parcel(self, address: Address, thread: str, turn: Turn, sent: tuple[Batch, ...]) -> Parcel:
        milliseconds = int(self._now().timestamp() * 1000)
        name = f"{milliseconds:013d}-{digest(thread, turn.id, *(batch.key for batch in sent))}"
        return Parcel(name, address, thread, turn.id, sent)

    async def _send(self, address: Address, batch: Batch) -> None:
        scope = {"team": address.team, "agent": address.agent, "user": address.user}
        messages = [
            {"id": one.id, "role": one.role, "content": one.content, "timestamp": one.timestamp}
            for one in batch.messages
        ]
        client = self._client.with_scope(**scope, session=address.session, task=address.task)
        if isinstance(client, MemoryClient):
            await in_daemon_thread(lambda: client.add(messages, idempotency_key=batch.key))
        else:
            await client.add(messages, idempotency_key=batch.key)

    def _address(self, ids: TurnIds) -> Address:
        own = self._client._calls.narrowed(ids.team, ids.agent, ids.user, ids.session or ..., ids.task or ...)
        if not own.session:
            raise ValueError("turn capture needs a session: give one in the ids or to the client")
        return Address(own.team, own.agent, own.user, own.session, own.task)

    def _time(self) -> str:
        return wire_time(self._now())

    def _failed(self, hook: str, error: Exception) -> None:
        self._counts.last_error = f"{hook}: {type(error).__name__}"
        _log.warning("turn capture failed in %s: %s; the agent goes on", hook, type(error).__name__)


def _thread(address: Address) -> str:
    return digest(address.team, address.agent, address.user, address.session)
