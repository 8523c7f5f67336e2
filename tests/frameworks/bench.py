"""What stands around a framework in its tests: our real server in a thread, a link to it that can break, a scripted model."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import httpx

from memstrata.client import AsyncMemoryClient, MemoryClient
from memstrata.llm.protocol import ToolCall
from memstrata.memory import Memory
from memstrata.server import bind, serve_until
from memstrata.settings import PipelineSettings, ServerSettings, Settings
from memstrata.testing import EchoDistiller
from memstrata.testing.llm import Answer as ModelAnswer
from memstrata.testing.llm import Hang, Reply, ScriptedLLM, Status

from .driver import FAIL, MONDAY, Answer, Call, Thread, Trouble

__all__ = ["MARK", "Bench", "Link", "running_server"]

MARK = 'source="memstrata"'  # every block that recall writes carries it
ADD = "/v3/conversation/add"
RECALL = "/v3/recall"
_call_numbers = count(1)
DEADLINE_SECONDS = 20.0
LOOK_AGAIN_SECONDS = 0.005


@contextmanager
def running_server(folder: Path) -> Iterator[str]:
    """Serve from a thread of its own, because some frameworks block the test's event loop. Yields the address."""
    pipeline = PipelineSettings(l2_delay_seconds=0.0, l2_min_interval_seconds=0.0)
    settings = Settings(data_dir=folder, server=ServerSettings(port=0, shutdown_seconds=1.0), pipeline=pipeline)
    ready: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        await serve_until(
            stop,
            bind(settings.server),
            lambda: Memory.open(settings=settings, distiller=EchoDistiller()),
            settings.server,
            lambda url: ready.set_result((url, loop, stop)),
        )

    thread = threading.Thread(target=asyncio.run, args=(serve(),), name="memory-server", daemon=True)
    thread.start()
    url, loop, stop = ready.result(DEADLINE_SECONDS)
    try:
        yield url
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(DEADLINE_SECONDS)


class Link(httpx.AsyncBaseTransport, httpx.BaseTransport):
    """The way to the server, for both clients. It can be cut, and it can hold what is sent."""

    def __init__(self) -> None:
        self.answered: list[tuple[str, dict[str, object]]] = []
        """Path and body of each request that the server answered with success."""
        self.holding: list[httpx.Request] = []
        """What a blocking client has sent and is not let through, now."""
        self._open = threading.Event()
        self._open.set()
        self._is_cut = False
        self._asynchronous = httpx.AsyncHTTPTransport()
        self._blocking = httpx.HTTPTransport()

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Refuse every connection until the block ends."""
        self._is_cut = True
        try:
            yield
        finally:
            self._is_cut = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no request through until the block ends; a client that waits for less long gives up."""
        self._open.clear()
        try:
            yield
        finally:
            self._open.set()

    def bodies(self, path: str) -> list[dict[str, object]]:
        return [body for sent, body in self.answered if sent == path]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        until = self._until(request)
        while not self._open.is_set():
            if time.monotonic() > until:
                raise httpx.ReadTimeout("held", request=request)
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        return self._noted(request, await self._asynchronous.handle_async_request(request))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        until = self._until(request)
        self.holding.append(request)
        try:
            if not self._open.wait(max(0.0, until - time.monotonic())):
                raise httpx.ReadTimeout("held", request=request)
        finally:
            self.holding.remove(request)
        return self._noted(request, self._blocking.handle_request(request))

    async def aclose(self) -> None:
        """Stay open: a client of a process that ended does not take the link along."""

    def close(self) -> None:
        """As `aclose`."""

    async def end(self) -> None:
        await self._asynchronous.aclose()
        self._blocking.close()

    def _until(self, request: httpx.Request) -> float:
        if self._is_cut:
            raise httpx.ConnectError("cut", request=request)
        seconds = request.extensions["timeout"]["read"]
        return time.monotonic() + (DEADLINE_SECONDS if seconds is None else float(seconds))

    def _noted(self, request: httpx.Request, response: httpx.Response) -> httpx.Response:
        if response.status_code == 200 and request.method == "POST":
            self.answered.append((request.url.path, json.loads(request.content)))
        return response


class Bench:
    """The surroundings of one test. `folder` is what outlives a process."""

    def __init__(self, url: str, team: str, folder: Path, model: ScriptedLLM) -> None:
        self.url = url
        self.team = team
        self.folder = folder
        self.model = model
        self.link = Link()
        self._direct = AsyncMemoryClient(url, team=team, agent="helper", user="lin")

    def client(self) -> AsyncMemoryClient:
        """Return a client for the adapter, over the link. Its user is `lin`; it has no session."""
        return AsyncMemoryClient(self.url, team=self.team, agent="helper", user="lin", transport=self.link)

    def blocking_client(self) -> MemoryClient:
        """As `client`, for adapters that block."""
        return MemoryClient(self.url, team=self.team, agent="helper", user="lin", transport=self.link)

    def script(self, words: str, *answers: Answer) -> None:
        """Let the model over HTTP give these answers to the next requests whose newest words of the user hold `words`.

        For drivers that use `bench.model`. A driver with a model of the framework's own does this itself.
        """
        self.model.script(lambda request: words in request.prompt, *map(_on_the_wire, answers))

    async def remember(self, text: str, user: str = "lin") -> None:
        """Let memory know something from an earlier conversation, distilled."""
        earlier = self._direct.with_scope(user=user, session=f"earlier-{user}")
        await earlier.add([("user", text), ("assistant", "Noted.")])
        await earlier.flush()
        async with asyncio.timeout(DEADLINE_SECONDS):
            while text not in (await earlier.recall(text)).prepend_context:
                await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def said(self, thread: Thread = MONDAY) -> list[tuple[str, str]]:
        """Return what the server keeps of a conversation, as role and text, in order."""
        page = await self._direct.with_scope(user=thread.user).messages(session=thread.session, limit=100)
        return [(message.role, message.content) for message in reversed(page.items)]

    def captures(self, thread: Thread = MONDAY) -> int:
        """Return how often something was sent to a conversation."""
        return sum(body.get("session_id") == thread.session for body in self.link.bodies(ADD))

    def recalls(self) -> int:
        """Return how often the server was asked what it knows."""
        return len(self.link.bodies(RECALL))

    async def end(self) -> None:
        await self._direct.aclose()
        await self.link.end()


def _on_the_wire(answer: Answer) -> ModelAnswer:
    if isinstance(answer, Call):
        call = ToolCall(f"call_{next(_call_numbers)}", answer.tool, json.dumps(dict(answer.arguments)))
        return Reply(tool_calls=(call,), finish="tool_calls")
    if isinstance(answer, Trouble):
        return Status(400) if answer is FAIL else Hang()
    return Reply(answer)
