"""A server as a child process that is started, watched by its output, and ended by its own id."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

__all__ = ["DEADLINE_SECONDS", "ServerProcess", "running"]

SCRIPT = Path(__file__).with_name("serve.py")
DEADLINE_SECONDS = 30.0


class ServerProcess:
    """One life of a server. Its log goes to a file beside the data folder, over all lives."""

    def __init__(self, process: Process, log: Path) -> None:
        self._process = process
        self._log = log
        self.url = ""

    @classmethod
    async def spawn(cls, folder: Path, *options: str) -> Self:
        """Start the test's own server and return at once; `ready` waits until it answers."""
        return await cls._spawn(folder, sys.executable, str(SCRIPT), str(folder), *options)

    @classmethod
    async def spawn_command(cls, folder: Path, *options: str, **variables: str) -> Self:
        """Start `memstrata serve` on a folder; `--json` makes `ready` possible."""
        command = (sys.executable, "-m", "memstrata.cli", "serve", "--port", "0", *options)
        return await cls._spawn(folder, *command, MEMSTRATA_DATA_DIR=str(folder), LC_ALL="C.UTF-8", **variables)

    @classmethod
    async def _spawn(cls, folder: Path, *command: str, **variables: str) -> Self:
        log = folder.with_suffix(".log")
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *command,
                env={**os.environ, **variables},
                cwd=folder.parent,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
            )
        return cls(process, log)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> str:
        """What all lives have logged."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    async def ready(self) -> Self:
        """Wait until requests are accepted."""
        self.url = json.loads(await self.said('{"url"'))["url"]
        return self

    async def said(self, start: str) -> str:
        """Return the next line of output that begins like this; fails when the process ends first or takes too long."""
        assert self._process.stdout is not None
        others = ""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while line := (await self._process.stdout.readline()).decode():
                if line.startswith(start):
                    return line
                others += line
        raise AssertionError(f"the server ended before it said {start!r}:\n{others}{self.log[-4_000:]}")

    async def kill(self) -> None:
        """End it as a power cut would."""
        if self._process.returncode is None:
            self._process.kill()
        await self.ended(DEADLINE_SECONDS)

    async def stop(self, deadline_seconds: float = DEADLINE_SECONDS) -> int:
        """Ask it to end with SIGTERM and return its exit code; fails when that takes longer than the deadline."""
        self._process.send_signal(signal.SIGTERM)
        return await self.ended(deadline_seconds)

    async def ended(self, deadline_seconds: float) -> int:
        """Wait for the end and return the exit code."""
        # Output is read to its end, so that the pipe is closed with the process.
        async with asyncio.timeout(deadline_seconds):
            await self._process.communicate()
        assert self._process.returncode is not None
        return self._process.returncode


@asynccontextmanager
async def running(folder: Path, *options: str) -> AsyncIterator[ServerProcess]:
    """Run a server for a block; it is killed at the end if it still lives."""
    server = await ServerProcess.spawn(folder, *options)
    try:
        yield await server.ready()
    finally:
        await server.kill()
