"""The recorded wire cases against a running server, where the recordings are at hand. Takes about a minute a run."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

REPLAY = Path(__file__).parents[4] / "shared" / "wire" / "replay.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not REPLAY.exists(), reason="the recordings are kept outside this repository"),
]


async def replay(url: str, *options: str) -> None:
    command = [str(REPLAY), "--base-url", url, "--require-reached", "--skip-groups", "v1", *options]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()


async def test_the_recorded_cases_pass_twice_on_one_server(url: str) -> None:
    for _ in range(2):
        await replay(url)


async def test_the_strict_cases_pass_twice_on_a_server_with_a_key(
    start: Callable[..., AbstractAsyncContextManager[str]],
) -> None:
    async with start(api_key="replay-key") as url:
        for _ in range(2):
            await replay(url, "--api-key", "replay-key", "--strict-isolation")
