"""A scripted `/v1/embeddings` as a real HTTP server on one port of the loopback.

    async with ScriptedEmbeddings(dimensions=8) as endpoint:
        endpoint.script(EmbeddingStatus(400, "dimensions is not supported"), HANG)
        ...  # point an embedder at endpoint.base_url
        assert endpoint.requests[0].texts == ("hello",)

Without a script it answers well: with the vectors of `HashEmbedder`. An answer is a status, a function that changes the good
payload, raw bytes, or `HANG`.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from aiohttp import web

from memstrata.testing.hash_embedder import HashEmbedder

__all__ = ["HANG", "EmbeddingAnswer", "EmbeddingRequest", "EmbeddingStatus", "ScriptedEmbeddings"]

HANG: Literal["hang"] = "hang"
"""No answer as long as the server lives."""

Payload = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """One request as it came. Header names are in lower case."""

    texts: tuple[str, ...]
    body: Mapping[str, Any]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class EmbeddingStatus:
    """An answer other than 200, with the usual error object."""

    status: int
    message: str = "scripted failure"
    retry_after: str = ""


EmbeddingAnswer = EmbeddingStatus | Callable[[Payload], Payload] | bytes | Literal["hang"]
Rule = Callable[[EmbeddingRequest], EmbeddingAnswer | None]


class ScriptedEmbeddings:
    """The server. `script` queues answers for the next requests; a rule of `always` answers whatever it does not pass by
    with None.
    """

    def __init__(self, dimensions: int = 16) -> None:
        self.requests: list[EmbeddingRequest] = []
        self._embedder = HashEmbedder(dimensions)
        self._queue: deque[EmbeddingAnswer] = deque()
        self._rules: list[Rule] = []
        self._closing = asyncio.Event()
        self._arrived = asyncio.Condition()
        self._runner: web.AppRunner | None = None
        self._url = ""

    @property
    def base_url(self) -> str:
        """The address, ending in `/v1`."""
        return self._url

    def script(self, *answers: EmbeddingAnswer) -> None:
        self._queue.extend(answers)

    def always(self, rule: Rule) -> None:
        """Ask a rule, the newest first, where no script answers."""
        self._rules.insert(0, rule)

    async def received(self, count: int) -> None:
        """Wait until that many requests have come in all."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/embeddings", self._answered)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self._url = f"http://{host}:{port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = json.loads(await request.read())
        given = body.get("input", [])
        texts = (given,) if isinstance(given, str) else tuple(given)
        recorded = EmbeddingRequest(texts, body, {name.lower(): value for name, value in request.headers.items()})
        self.requests.append(recorded)
        async with self._arrived:
            self._arrived.notify_all()
        answer = self._queue.popleft() if self._queue else self._ruled(recorded)
        if answer == HANG:
            await self._closing.wait()
            return web.Response(status=503)
        if isinstance(answer, bytes):
            return web.Response(body=answer, content_type="application/json")
        if isinstance(answer, EmbeddingStatus):
            headers = {"retry-after": answer.retry_after} if answer.retry_after else {}
            error = {"message": answer.message, "type": "scripted"}
            return web.json_response({"error": error}, status=answer.status, headers=headers)
        payload = await self._payload(recorded)
        return web.json_response(answer(payload) if callable(answer) else payload)

    def _ruled(self, request: EmbeddingRequest) -> EmbeddingAnswer | None:
        return next((answer for rule in self._rules if (answer := rule(request)) is not None), None)

    async def _payload(self, request: EmbeddingRequest) -> Payload:
        vectors = await self._embedder.embed(request.texts, kind="passage")
        data = [
            {"object": "embedding", "index": index, "embedding": row}
            for index, row in enumerate(vectors.matrix.tolist())
        ]
        return {"object": "list", "data": data, "model": request.body.get("model", ""), "usage": {"total_tokens": 1}}
