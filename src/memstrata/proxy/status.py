"""How the proxy is doing, in numbers and one line: what `/health` and `/metrics` show of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memstrata.proxy.bridge import Bridge
from memstrata.proxy.keeping import Keeping
from memstrata.proxy.memory_step import MemoryStep
from memstrata.proxy.outbox import Outbox
from memstrata.proxy.replay import Replay
from memstrata.proxy.usage import UsageBook
from memstrata.records import ComponentHealth

__all__ = ["ProxyStatus"]

_MOST_REASONS = 5

Details = Mapping[str, int | float | str | bool]


class ProxyStatus:
    """Gathers what the parts count. Names are fixed; nothing that a request brought is among them."""

    def __init__(
        self, step: MemoryStep, replay: Replay, outbox: Outbox, keeping: Keeping, usage: UsageBook, bridge: Bridge
    ) -> None:
        self._step = step
        self._replay = replay
        self._outbox = outbox
        self._keeping = keeping
        self._usage = usage
        self._bridge = bridge

    def health(self, stopped: Sequence[str], requests: Mapping[str, int]) -> ComponentHealth:
        """Return the whole proxy's state. `stopped` names parts that ended; `requests` is what the transport counts."""
        parts = (self._outbox.health(), self._keeping.health())
        reasons = [*(part.reason for part in parts if part.reason), *stopped]
        counts: dict[str, int | float | str | bool] = {name.replace(" ", "_"): one for name, one in requests.items()}
        counts |= self._requests()
        for part, health in zip(("turns", "sessions"), parts, strict=True):
            counts |= {f"{part}_{name}": value for name, value in health.details.items()}
        return ComponentHealth("reduced" if reasons else "ok", "; ".join(reasons), counts)

    def _requests(self) -> Details:
        replay, tokens = self._replay.counts, self._usage.totals
        read = tokens.input + tokens.cache_read + tokens.cache_write
        return {
            **{f"kind_{kind}": count for kind, count in sorted(self._step.kinds.items())},
            "without_memory": self._step.bypasses.total(),
            "reasons": "; ".join(
                f"{reason} ({count})" for reason, count in self._step.bypasses.most_common(_MOST_REASONS)
            ),
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
