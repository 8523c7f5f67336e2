"""One model at one endpoint: sends, waits when it is told to wait, stops when it must, and never asks anybody else.

Nothing is retried here except what teaches: a refused parameter is left out, a reply that was cut gets twice the room.
All other failures go up as errors, because the job that asked has a backoff of its own and survives a restart.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memstrata.clock import Clock, Instant, milliseconds, to_iso
from memstrata.llm.anthropic import Messages
from memstrata.llm.breaker import Breaker
from memstrata.llm.errors import (
    AuthRefused,
    BadReply,
    BreakerOpen,
    CallFailed,
    ContentRefused,
    RateLimited,
    RequestRefused,
    ServerFailed,
    TimedOut,
    Truncated,
    Unreachable,
)
from memstrata.llm.http import Http, HttpReply, excerpt
from memstrata.llm.openai import ChatCompletions
from memstrata.llm.protocol import ChatReply, ChatRequest, FinishReason, Usage
from memstrata.llm.roles import ModelChoice
from memstrata.llm.status import failure_of
from memstrata.llm.terms import Terms, concede
from memstrata.llm.tokens import count_tokens
from memstrata.llm.wire import Wire, WireReply
from memstrata.records import ComponentHealth

__all__ = ["ROLE_HEADER", "Provider"]

ROLE_HEADER = "x-memstrata-role"
"""Sent with every call and holding the request's role: a gateway can route and account by it."""

_ABOUT_PARAMETERS = (400, 422)


class Provider:
    """Implements `protocol.Chat`. Safe for concurrent calls of one event loop."""

    def __init__(self, choice: ModelChoice, http: Http, clock: Clock, *, breaker: Breaker | None = None) -> None:
        self.choice = choice
        self._http = http
        self._clock = clock
        self._wire: Wire = Messages() if choice.dialect.wire == "anthropic" else ChatCompletions()
        self._terms = Terms(choice.dialect, think=not choice.disable_thinking)
        self._breaker = breaker or Breaker()
        self._paused_until: Instant = 0
        self._stopped = ""

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply. Raises one of `errors`, whose `usage` counts what was spent on the way."""
        started = time.monotonic()
        spent: list[Usage] = []
        try:
            reply = await self._with_room(request, spent)
        except CallFailed as failure:
            failure.usage = sum(spent, Usage())
            raise
        finish: FinishReason = "tool_calls" if reply.tool_calls else "stop"
        return ChatReply(
            reply.text,
            reply.tool_calls,
            sum(spent, Usage()),
            finish,
            reply.model or self.choice.model,
            (time.monotonic() - started) * 1000,
            reply.carry,
        )

    def health(self) -> ComponentHealth:
        """Return whether the model can be asked, and if not, why and until when."""
        now = self._clock.now()
        about = {"model": self.choice.model, "dialect": self.choice.dialect.name}
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

    async def _with_room(self, request: ChatRequest, spent: list[Usage]) -> WireReply:
        """Exchange once, and once more with twice the room if the reply was cut."""
        reply = await self._on_terms(request, request.max_tokens, spent)
        if reply.ending == "length":
            try:
                reply = await self._on_terms(request, 2 * request.max_tokens, spent)
            except RequestRefused:
                raise Truncated(f"the reply did not fit {request.max_tokens} tokens, and more are refused") from None
        if reply.ending == "length":
            raise Truncated(f"the reply did not fit {2 * request.max_tokens} tokens")
        if reply.ending == "content_filter":
            raise ContentRefused("the endpoint's content filter withheld the reply")
        return reply

    async def _on_terms(self, request: ChatRequest, max_tokens: int, spent: list[Usage]) -> WireReply:
        """Exchange on the best terms that the endpoint accepts, and remember them once it has."""
        terms = self._terms
        while True:
            body = self._wire.body(request, self.choice.model, terms, max_tokens)
            try:
                reply = await self._send(request, body)
            except RequestRefused as refusal:
                lesser = concede(terms, request, str(refusal)) if refusal.status in _ABOUT_PARAMETERS else None
                if lesser is None:
                    raise
                terms = lesser
                continue
            self._terms = terms
            spent.append(reply.usage or _estimate(body, reply))
            return reply

    async def _send(self, request: ChatRequest, body: Mapping[str, Any]) -> WireReply:
        """Exchange one body, if the endpoint may be asked now, and learn from the outcome whether it still may be."""
        self._admit()
        self._breaker = self._breaker.sent(self._clock.now())
        heard = False
        try:
            reply = await self._http.post(
                self.choice.base_url + self._wire.path,
                {**self._wire.headers(self.choice.api_key), ROLE_HEADER: request.role},
                body,
                timeout_seconds=request.timeout_seconds,
                secret=self.choice.api_key,
            )
            decoded = self._decoded(reply)
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
        return decoded

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

    def _decoded(self, reply: HttpReply) -> WireReply:
        if reply.status != 200:
            raise failure_of(reply, self._clock.now(), self.choice.api_key)
        try:
            payload = json.loads(reply.body)
        except (ValueError, RecursionError):
            start = excerpt(reply.body[:400].decode("utf-8", "replace"), self.choice.api_key)
            raise BadReply(f"the endpoint's answer is not JSON: {start[:100]}") from None
        if not isinstance(payload, dict):
            raise BadReply("the endpoint's answer is not an object")
        error = payload.get("error")
        if isinstance(error, dict):  # gateways wrap the failure of the model behind them in a 200
            code = error.get("code")
            status = code if isinstance(code, int) and 400 <= code < 600 else 502
            raise failure_of(replace(reply, status=status), self._clock.now(), self.choice.api_key)
        return self._wire.reply(payload)


def _estimate(body: Mapping[str, Any], reply: WireReply) -> Usage:
    sent = json.dumps([body.get("tools"), body.get("system"), body["messages"]], ensure_ascii=False)
    said = reply.text + "".join(call.arguments for call in reply.tool_calls)
    return Usage(count_tokens(sent), count_tokens(said), calls=1, estimated=True)
