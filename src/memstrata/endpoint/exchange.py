"""One endpoint: asked when it may be asked, left alone when it must be, and never replaced by another.

What an outcome means for the next call is decided here once, for chat and embeddings alike: failures in a row open the
breaker, a rate limit is a pause of known length, a refused key or account stops everything until the operator acts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from memstrata.clock import Clock, Instant, milliseconds, to_iso
from memstrata.endpoint.breaker import Breaker
from memstrata.endpoint.errors import (
    AuthRefused,
    BadReply,
    BreakerOpen,
    CallFailed,
    RateLimited,
    ServerFailed,
    TimedOut,
    Unreachable,
)
from memstrata.endpoint.http import Http, HttpReply, excerpt
from memstrata.endpoint.status import failure_of
from memstrata.records import ComponentHealth

__all__ = ["Endpoint"]

T = TypeVar("T")


class Endpoint:
    """One base address with one key. Safe for concurrent calls of one event loop."""

    def __init__(
        self, base_url: str, api_key: str, http: Http, clock: Clock, *, breaker: Breaker | None = None
    ) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._http = http
        self._clock = clock
        self._breaker = breaker or Breaker()
        self._paused_until: Instant = 0
        self._stopped = ""

    async def post(
        self,
        path: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any],
        *,
        timeout_seconds: float,
        read: Callable[[Mapping[str, Any]], T],
    ) -> T:
        """Exchange one body and return what `read` makes of the answer's object. Raises one of `errors`.

        `read` raises BadReply for what is no answer of its protocol; that counts as a failure of the endpoint.
        """
        self._admit()
        self._breaker = self._breaker.sent(self._clock.now())
        heard = False
        try:
            reply = await self._http.post(
                self._base_url + path, headers, body, timeout_seconds=timeout_seconds, secret=self._api_key
            )
            answer = read(self._payload(reply))
            heard = True
        except RateLimited as failure:
            heard = True
            self._paused_until = max(self._paused_until, self._clock.now() + milliseconds(failure.retry_after))
            raise
        except AuthRefused as failure:
            heard = True
            self._stopped = str(failure)
            raise
        except (Unreachable, TimedOut, ServerFailed, BadReply):
            self._breaker = self._breaker.failed(self._clock.now())
            raise
        except CallFailed:
            heard = True
            raise
        finally:
            self._breaker = self._breaker.answered() if heard else self._breaker.abandoned()
        return answer

    def health(self, about: Mapping[str, int | float | str | bool]) -> ComponentHealth:
        """Return whether the endpoint can be asked, and if not, why and until when. `about` are the details."""
        now = self._clock.now()
        if self._stopped:
            return ComponentHealth("failed", self._stopped, about)
        if now < self._paused_until:
            return ComponentHealth("reduced", f"rate limited until {to_iso(self._paused_until)}", about)
        if (wait := self._breaker.wait_ms(now)) is not None:
            return ComponentHealth(
                "reduced", f"{self._breaker.failures} calls failed, next try {to_iso(now + wait)}", about
            )
        return ComponentHealth("ok", details=about)

    def resume(self) -> None:
        """Ask again after key or account were refused: the operator says that it is mended."""
        self._stopped = ""

    def _admit(self) -> None:
        now = self._clock.now()
        if self._stopped:
            raise AuthRefused(f"not asked again: {self._stopped}")
        if now < self._paused_until:
            raise RateLimited(
                "not asked before the pause that it wants is over", retry_after=(self._paused_until - now) / 1000
            )
        if (wait := self._breaker.wait_ms(now)) is not None:
            raise BreakerOpen(f"not asked: the last {self._breaker.failures} calls failed", retry_after=wait / 1000)

    def _payload(self, reply: HttpReply) -> Mapping[str, Any]:
        if reply.status != 200:
            raise failure_of(reply, self._clock.now(), self._api_key)
        try:
            payload = json.loads(reply.body)
        except (ValueError, RecursionError):
            start = excerpt(reply.body[:400].decode("utf-8", "replace"), self._api_key)
            raise BadReply(f"the endpoint's answer is not JSON: {start[:100]}") from None
        if not isinstance(payload, dict):
            raise BadReply("the endpoint's answer is not an object")
        error = payload.get("error")
        if isinstance(error, dict):  # gateways wrap the failure of the model behind them in a 200
            code = error.get("code")
            status = code if isinstance(code, int) and 400 <= code < 600 else 502
            raise failure_of(replace(reply, status=status), self._clock.now(), self._api_key)
        return payload
