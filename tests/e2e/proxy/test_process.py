"""Two processes, the core and the proxy in front of it: what was answered outlives a stop of the one and a kill of the other."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from memstrata.client import AsyncMemoryClient
from memstrata.testing.upstream import FakeUpstream, Says

from ..shell import DEADLINE_SECONDS, Shell

pytestmark = pytest.mark.slow

PATH = "/claude-code/default/v1/messages"


def body(*texts: str) -> dict[str, Any]:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    tools = [{"name": "Bash", "input_schema": {"type": "object"}}]
    return {"model": "m", "max_tokens": 10, "stream": True, "tools": tools, "messages": messages}


def started(memstrata: Shell, upstream: FakeUpstream, *arguments: str) -> tuple[subprocess.Popen[str], str]:
    environ = {"MEMSTRATA_PROXY_UPSTREAMS": f"anthropic={upstream.base_url}"}
    running = memstrata.start(*arguments, "--json", env=environ)
    assert running.stdout is not None
    url: str = json.loads(running.stdout.readline())["url"]
    return running, url


def ended(running: subprocess.Popen[str], how: signal.Signals) -> None:
    running.send_signal(how)
    running.communicate(timeout=DEADLINE_SECONDS)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_turn_outlives_the_core_and_the_proxy(
    memstrata: Shell, upstream: FakeUpstream, how: signal.Signals
) -> None:
    core, url = started(memstrata, upstream, "serve", "--port", "0", "--data-dir", "core")
    in_front = ("proxy", "--core", url, "--port", "0", "--data-dir", "own")
    proxy, at = started(memstrata, upstream, *in_front)
    headers = {"x-conversation-id": "s1", "x-api-key": "sk-real"}
    async with httpx.AsyncClient(timeout=DEADLINE_SECONDS, headers=headers) as http:
        assert (await http.post(at + PATH, json=body("hello"))).status_code == 200
        ended(core, signal.SIGTERM)
        upstream.script(Says("On Fridays."))
        asked = body("hello", "hello", "when do deployments run?")
        assert (await http.post(at + PATH, json=asked)).status_code == 200
        ended(proxy, how)
        core, _ = started(memstrata, upstream, "serve", "--port", str(urlsplit(url).port), "--data-dir", "core")
        proxy, at = started(memstrata, upstream, *in_front)
        again = body("hello", "hello", "when do deployments run?")
        assert (await http.post(at + PATH, json=again)).status_code == 200  # as if its answer had been lost
    first, *_, before, after = upstream.requests
    assert after.body == before.body
    assert first.json["system"] == after.json["system"]
    async with AsyncMemoryClient(url, team="personal", agent="assistant", user="me") as memory:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while len(found := (await memory.messages(session="s1")).items) < 4:
                await asyncio.sleep(0.02)
    ended(proxy, signal.SIGTERM)
    ended(core, signal.SIGTERM)
    assert sorted(one.content for one in found if one.role == "user") == ["hello", "when do deployments run?"]
    assert len(found) == 4
