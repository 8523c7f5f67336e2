"""The server under test: a process of its own on loopback, with a data folder of its own, ended by its own id."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from benchmarks.machine import cpu_seconds

__all__ = ["Server", "running"]

_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_LOOK_AGAIN_SECONDS = 0.005
_QUIET_SHARE = 0.03  # of one core
_QUIET_WINDOW_SECONDS = 0.3
_SETTLE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers."""

    url: str
    pid: int
    start_seconds: float  # from its spawning to the first 200 of /health

    async def settled(self) -> None:
        """Wait until the server has nothing left to do in the background: mirror, checkpoints."""
        async with asyncio.timeout(_SETTLE_SECONDS):
            while True:
                before = cpu_seconds(self.pid)
                await asyncio.sleep(_QUIET_WINDOW_SECONDS)
                if cpu_seconds(self.pid) - before <= _QUIET_SHARE * _QUIET_WINDOW_SECONDS:
                    return


@asynccontextmanager
async def running(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> AsyncIterator[Server]:
    """Run `command` on a data folder for a block. `environ` holds `MEMSTRATA_…` settings; no others are inherited.

    Raises RuntimeError with the log's end if it does not come up.
    """
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEMSTRATA_")}
    own = {
        "MEMSTRATA_DATA_DIR": str(folder),
        "MEMSTRATA_HOST": "127.0.0.1",
        "MEMSTRATA_PORT": str(port),
        # What waits for L1 at the end is nobody's: the folder is thrown away.
        "MEMSTRATA_SERVER_SHUTDOWN_SECONDS": "0",
    }
    log = folder.with_name(f"{folder.name}.log")
    started = time.perf_counter()
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder.parent,
            env={**inherited, **own, **environ},
        )
    try:
        await _answering(process, url, log)
        yield Server(url, process.pid, time.perf_counter() - started)
    finally:
        await _stop(process)


async def _answering(process: Process, url: str, log: Path) -> None:
    async with asyncio.timeout(_START_SECONDS), aiohttp.ClientSession() as session:
        while process.returncode is None:
            try:
                async with session.get(f"{url}/health") as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientConnectionError:
                pass  # not listening yet
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    raise RuntimeError(f"the server ended at its start:\n{log.read_text(encoding='utf-8', errors='replace')[-2_000:]}")


async def _stop(process: Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
