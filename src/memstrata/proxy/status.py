"""How the proxy is doing, in numbers and one line: what `/health` and `/metrics` show of it.

What is counted here begins anew with the process; what waits to be delivered is counted in the store, where it lies.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence

from memstrata.clock import Clock
from memstrata.proxy.bridge import Bridge
from memstrata.proxy.keeping import Keeping
from memstrata.proxy.memory_step import MemoryStep
from memstrata.proxy.outbox import Outbox
from memstrata.proxy.replay import Replay
from memstrata.proxy.usage import UsageBook
from memstrata.records import ComponentHealth
from memstrata.records.proxy import TurnState
from memstrata.store.protocol import Store

__all__ = ["ProxyStatus"]

_log = logging.getLogger(__name__)

_MOST_REASONS = 30
_SHOWN_STATES: tuple[TurnState, ...] = ("open", "ready", "parked")
_NO_NAME = re.compile(r"[^0-9A-Za-z]+")

Details = Mapping[str, int | float | str | bool]


class ProxyStatus:
    """Gathers what the parts count. Names are ours; nothing that a request brought is among them."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        step: MemoryStep,
        replay: Replay,
        outbox: Outbox,
        keeping: Keeping,
        usage: UsageBook,
        bridge: Bridge,
    ) -> None:
        self._store = store
        self._clock = clock
        self._step = step
        self._replay = replay
        self._outbox = outbox
        self._keeping = keeping
        self._usage = usage
        self._bridge = bridge

    async def health(self, stopped: Sequence[str], requests: Mapping[str, int]) -> ComponentHealth:
        """Return the whole proxy's state. `stopped` names parts that ended; `requests` is what the transport counts."""
        parts = (self._outbox.health(), self._keeping.health())
        reasons = [*(part.reason for part in parts if part.reason), *stopped]
        counts: dict[str, int | float | str | bool] = {_name(name): one for name, one in requests.items()}
        counts |= self._requests()
        for part, health in zip(("turns", "sessions"), parts, strict=True):
            counts |= {f"{part}_{name}": value for name, value in health.details.items()}
        try:
            counts |= await self._turns()
        except Exception as error:  # noqa: BLE001 (whatever ails the store, the rest is told; logged and shown)
            _log.warning("turns that wait could not be counted: %s", type(error).__name__)
            reasons.append("turns that wait could not be counted")
        return ComponentHealth("reduced" if reasons else "ok", "; ".join(reasons), counts)

    async def _turns(self) -> Details:
        """Return how many turns are in each state, and for how many seconds the oldest of those to be sent has waited."""
        found = await self._store.read(lambda r: r.proxy.turns.counts())
        oldest = found.oldest_ready_at
        age = 0.0 if oldest is None else max(0.0, (self._clock.now() - oldest) / 1_000)
        return {
            **{f"turns_waiting_{state}": found.by_state.get(state, 0) for state in _SHOWN_STATES},
            "turns_oldest_seconds": age,
        }

    def _requests(self) -> Details:
        replay, tokens = self._replay.counts, self._usage.totals
        read = tokens.input + tokens.cache_read + tokens.cache_write
        reasons = self._step.bypasses.most_common(_MOST_REASONS)
        return {
            **{f"kind_{kind}": count for kind, count in sorted(self._step.kinds.items())},
            "without_memory": self._step.bypasses.total(),
            **{f"without_memory_{_name(reason)}": count for reason, count in sorted(reasons)},
            "forms": self._step.forms,
            "commands": self._step.commands,
            "recalled": replay.asked,
            "recall_failed": replay.recall_failed,
            "recall_timed_out": replay.recall_timed_out,
            "recall_empty": replay.empty,
            "blocks_put_back": replay.replayed_blocks,
            "store_failed": replay.store_failed,
            **{f"bridge_{outcome}": count for outcome, count in self._bridge.counts.items()},
            "input_tokens": read,
            "output_tokens": tokens.output,
            "cache_read_ratio": round(tokens.cache_read / read, 4) if read else 0.0,
            "usage_failed": self._usage.failures,
        }


def _name(words: str) -> str:
    return _NO_NAME.sub("_", words).strip("_")
