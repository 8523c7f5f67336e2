"""Turn capture for code that blocks: `AsyncTurnRecorder` in a thread of its own, under the same rules."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterable
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from memstrata.client._sync import MemoryClient
from memstrata.client.turn.formats import Views, view_plain
from memstrata.client.turn.journal import WAIT_SECONDS
from memstrata.client.turn.recorder import AsyncTurnRecorder, TurnIds
from memstrata.client.turn.slicing import CaptureRules
from memstrata.client.turn.status import Outcome, RecorderStatus
from memstrata.client.turn.store import WatermarkStore
from memstrata.client.turn.watermark import Turn

__all__ = ["TurnRecorder"]

T = TypeVar("T")

_log = logging.getLogger(__name__)

MARGIN_SECONDS = 1.0


class TurnRecorder:
    """`AsyncTurnRecorder` without coroutines; may be used from any thread. It never raises into the agent.

    It has a thread, so it is made after a fork. Close it where the program ends, also on SIGTERM: what is not delivered
    within that time waits in the store, or is gone if there is none.
    """

    def __init__(
        self,
        client: MemoryClient,
        *,
        view: Views = view_plain,
        store: WatermarkStore | None = None,
        rules: CaptureRules | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        store_wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        """As `AsyncTurnRecorder`. An asynchronous store is used in the recorder's own event loop."""
        self._recorder = AsyncTurnRecorder(
            client, view=view, store=store, rules=rules, now=now, store_wait_seconds=store_wait_seconds
        )
        self._patience = store_wait_seconds + MARGIN_SECONDS
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="memstrata-turn-recorder", daemon=True)
        self._thread.start()

    @property
    def status(self) -> RecorderStatus:
        """What was captured, what waits, what failed."""
        return self._recorder.status

    def begin(self, messages: Iterable[object], ids: TurnIds | None = None) -> Turn | None:
        """Place the watermark of the turn that the list ends with; None where nothing begins."""
        return self._run(self._recorder.begin(messages, ids), self._patience, None)

    def capture(
        self,
        messages: Iterable[object],
        ids: TurnIds | None = None,
        turn: Turn | None = None,
        *,
        blocked: bool = False,
    ) -> Outcome:
        """Hand over what the turn added to the list, and return without waiting for the server."""
        return self._run(self._recorder.capture(messages, ids, turn, blocked=blocked), self._patience, "failed")

    def drain(self, seconds: float = 5.0) -> int:
        """Deliver what waits; return how many turns still wait after that time."""
        self._run(self._recorder.drain(seconds), seconds + MARGIN_SECONDS, 0)
        return self.status.waiting

    def close(self, seconds: float = 5.0) -> None:
        """Deliver what can be delivered in that time and stop. The client stays open."""
        if self._loop.is_closed():
            return
        self._run(self._recorder.aclose(seconds), seconds + self._patience, None)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(self._patience)
        if not self._thread.is_alive():
            self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, T], seconds: float, otherwise: T) -> T:
        try:
            running = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
            _log.warning("turn capture was called after close; the agent goes on")
            return otherwise
        try:
            return running.result(seconds)
        except TimeoutError:
            running.cancel()
            _log.warning("turn capture took too long; the agent goes on")
            return otherwise
