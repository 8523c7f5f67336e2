"""How much one key may ask of one model within a minute: requests, and tokens that the model reads.

A request counts before it goes out, its tokens once the provider has counted them, so a limit of tokens holds back the
next request, not the one that went over it. Asked and counted in one unit of work, a limit holds between several proxies.
Source: `reference/proxy.md` §9.
"""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.clock import Clock, Instant, milliseconds
from memstrata.records.proxy import RateKey
from memstrata.store.protocol import Repositories, Store

__all__ = ["WINDOW_SECONDS", "Allowance", "Limits", "RateLimits"]

WINDOW_SECONDS = 60
_KEPT_WINDOWS = 2


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Limits for every key and model, per minute; 0: none."""

    requests: int = 0
    input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether a request may go out. `exceeded` is empty or names the limit; `retry_after` is in whole seconds."""

    exceeded: str = ""
    retry_after: int = 0
    requests_left: int = 0
    tokens_left: int = 0


class Limits:
    """Counts in the store. Where no limit is set nothing is asked and nothing is written."""

    def __init__(self, store: Store, limits: RateLimits, clock: Clock) -> None:
        self._store = store
        self._limits = limits
        self._clock = clock

    @property
    def any(self) -> bool:
        """Whether there is a limit at all."""
        return bool(self._limits.requests or self._limits.input_tokens)

    async def admit(self, key: RateKey) -> Allowance:
        """Count one request if it may go out. Raises the store's errors."""
        if not self.any:
            return Allowance()
        now = self._clock.now()
        return await self._store.write(lambda r: self._admit(r, key, now))

    async def spend(self, key: RateKey, input_tokens: int) -> None:
        """Count what a request's model has read."""
        if self._limits.input_tokens and input_tokens > 0:
            now = self._clock.now()
            await self._store.write(lambda r: r.proxy.rates.add(key, now, 0, input_tokens))

    def _admit(self, r: Repositories, key: RateKey, now: Instant) -> Allowance:
        window = milliseconds(WINDOW_SECONDS)
        seen = r.proxy.rates.sum(key, now - window)
        limits = self._limits
        requests_left = max(0, limits.requests - seen.requests)
        tokens_left = max(0, limits.input_tokens - seen.input_tokens)
        exceeded = ""
        if limits.requests and not requests_left:
            exceeded = "requests"
        elif limits.input_tokens and not tokens_left:
            exceeded = "input tokens"
        if exceeded:
            free_at = (now if seen.oldest_at is None else seen.oldest_at) + window
            return Allowance(exceeded, max(1, -(-(free_at - now) // 1000)), requests_left, tokens_left)
        r.proxy.rates.add(key, now, 1, 0)
        r.proxy.rates.prune(now - _KEPT_WINDOWS * window)
        return Allowance("", 0, max(0, requests_left - 1), tokens_left)
