"""`python -m benchmarks.provider`: the scripted provider in a process of its own, until its input ends.

It writes its address as its first line. How many pieces an answer has, and whether they come at a model's pace or it stops
in the middle, is in the model's name of a request (`pieces-2000`, `paced-20`, `stalls`): one provider serves all suites.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from aiohttp import web

from memstrata.testing.provider_answers import Says, events_of

__all__ = ["PACE_SECONDS", "STALLS", "model_of"]

STALLS = "stalls"
PACE_SECONDS = 0.01
"""Between two pieces of a paced answer: a hundred a second is a fast model."""
_PIECE = "A dozen or so characters "


def model_of(pieces: int, *, paced: bool = False) -> str:
    """Return the model whose answers come in so many pieces of text, as fast as they can or paced."""
    return f"paced-{pieces}" if paced else f"pieces-{pieces}"


async def _answered(request: web.Request) -> web.StreamResponse:
    asked: dict[str, Any] = await request.json()
    model = asked["model"]
    events = _events(model)
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for number, event in enumerate(events):
        if model == STALLS and number == 3:
            await asyncio.Event().wait()
        await response.write(event)
        # Even at its fastest a piece goes out by itself, as a model makes them.
        await asyncio.sleep(PACE_SECONDS if model.startswith("paced") else 0)
    await response.write_eof()
    return response


_made: dict[str, list[bytes]] = {}


def _events(model: str) -> list[bytes]:
    if model not in _made:
        pieces = int(model.partition("-")[2] or 10)
        said = Says(_PIECE * pieces, pieces=pieces)
        _made[model] = [
            f"event: {name}\ndata: {web.json_response(data).text}\n\n".encode()
            for name, data in events_of("anthropic", said, model)
        ]
    return _made[model]


async def main() -> None:
    """Serve on a free port of the loopback."""
    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/v1/messages", _answered)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1_024).start()
    sys.stdout.write(f"http://127.0.0.1:{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
