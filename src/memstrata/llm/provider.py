"""One model at one endpoint: sends, waits when it is told to wait, stops when it must, and never asks anybody else.

Nothing is retried here except what teaches: a refused parameter is left out, a reply that was cut gets twice the room.
All other failures go up as errors, because the job that asked has a backoff of its own and survives a restart.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import Any

from memstrata.clock import Clock
from memstrata.endpoint.breaker import Breaker
from memstrata.endpoint.exchange import Endpoint
from memstrata.endpoint.http import Http, excerpt
from memstrata.llm.anthropic import Messages
from memstrata.llm.errors import CallFailed, ContentRefused, PromptTooLong, RequestRefused, Truncated
from memstrata.llm.openai import ChatCompletions
from memstrata.llm.protocol import ChatReply, ChatRequest, FinishReason, Usage
from memstrata.llm.roles import ModelChoice
from memstrata.llm.terms import Terms, concede
from memstrata.llm.wire import Wire, WireReply
from memstrata.records import ComponentHealth
from memstrata.text.repetition import ends_in_a_loop
from memstrata.text.tokens import count_tokens
from memstrata.text.wellformed import well_formed

__all__ = ["ROLE_HEADER", "Provider"]

ROLE_HEADER = "x-memstrata-role"
"""Sent with every call and holding the request's role: a gateway can route and account by it."""

_ABOUT_PARAMETERS = (400, 422)
_PATH = re.compile(r"/|~/|\\\\|[A-Za-z]:[/\\]|file:", re.IGNORECASE)


class Provider:
    """Implements `protocol.Chat`. Safe for concurrent calls of one event loop."""

    def __init__(self, choice: ModelChoice, http: Http, clock: Clock, *, breaker: Breaker | None = None) -> None:
        self.choice = choice
        self._endpoint = Endpoint(choice.base_url, choice.api_key, http, clock, breaker=breaker)
        self._wire: Wire = Messages() if choice.dialect.wire == "anthropic" else ChatCompletions()
        self._terms = Terms(choice.dialect, think=not choice.disable_thinking)

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply. Raises one of `errors`, whose `usage` counts what was spent on the way."""
        started = time.monotonic()
        spent: list[Usage] = []
        try:
            reply = await self._with_room(request, spent)
        except CallFailed as failure:
            failure.usage = sum(spent, Usage())
            failure.model = _model_name("", self.choice.model)
            raise
        finish: FinishReason = "tool_calls" if reply.tool_calls else "stop"
        return ChatReply(
            well_formed(reply.text),
            reply.tool_calls,
            sum(spent, Usage()),
            finish,
            _model_name(reply.model, self.choice.model),
            (time.monotonic() - started) * 1000,
            reply.carry,
            reply.reasoned,
        )

    @property
    def terms(self) -> Terms:
        """What the endpoint has turned out to accept so far."""
        return self._terms

    def health(self) -> ComponentHealth:
        """Return whether the model can be asked, and if not, why and until when."""
        return self._endpoint.health({"model": self.choice.model, "dialect": self.choice.dialect.name})

    def resume(self) -> None:
        """Ask again after key or account were refused: the operator says that it is mended."""
        self._endpoint.resume()

    async def _with_room(self, request: ChatRequest, spent: list[Usage]) -> WireReply:
        """Exchange once, and once more with twice the room if the reply was cut and more room may help."""
        reply = await self._on_terms(request, request.max_tokens, spent)
        if reply.ending == "length":
            text, limit = reply.text, request.max_tokens
            if ends_in_a_loop(_said(reply)):
                raise Truncated(f"the reply ran in a loop until its limit of {limit} tokens", text=text)
            try:
                reply = await self._on_terms(request, 2 * limit, spent)
            except (RequestRefused, PromptTooLong):  # the prompt fitted, so it is the room that does not
                raise Truncated(f"the reply did not fit {limit} tokens, and more are refused", text=text) from None
            if reply.ending == "length":
                longest = max(text, reply.text, key=len)
                raise Truncated(f"the reply did not fit {2 * limit} tokens", text=longest)
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
        return await self._endpoint.post(
            self._wire.path,
            {**self._wire.headers(self.choice.api_key), ROLE_HEADER: request.role},
            body,
            timeout_seconds=request.timeout_seconds,
            read=self._wire.reply,
        )


def _estimate(body: Mapping[str, Any], reply: WireReply) -> Usage:
    sent = json.dumps([body.get("tools"), body.get("system"), body["messages"]], ensure_ascii=False)
    return Usage(count_tokens(sent), count_tokens(_said(reply)), calls=1, estimated=True)


def _said(reply: WireReply) -> str:
    return reply.text + "".join(call.arguments for call in reply.tool_calls)


def _model_name(told: str, configured: str) -> str:
    """Return what records call a model: as the endpoint does, but never by a path on its machine."""
    told = excerpt(told)
    name = configured if not told or _PATH.match(told) else told
    return re.split(r"[/\\]", name)[-1] if _PATH.match(name) else name
