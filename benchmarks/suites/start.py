"""How soon a server answers after it was started, and how much memory it holds when nothing happens."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from benchmarks.bench import L1_OFF, SCOPE, Bench
from benchmarks.machine import rss_mb

__all__ = ["measure"]

_TIMES = 5


async def measure(bench: Bench) -> None:
    """Start the server five times on a new folder and five times on a full one, in turns."""
    full = await bench.loaded([SCOPE], bench.rows)
    seconds: dict[str, list[float]] = {"empty": [], bench.large: []}
    resident: dict[str, list[float]] = {"empty": [], bench.large: []}

    async def start(store: str, folder: Path) -> None:
        async with bench.serve(folder, L1_OFF) as server:
            seconds[store].append(server.start_seconds)
            await server.settled()
            resident[store].append(rss_mb(server.pid))

    for _ in range(_TIMES):
        await start("empty", bench.new_folder())
        await start(bench.large, full)
    for store in seconds:
        bench.record.figure(f"start.{store}.seconds", median(seconds[store]), all=seconds[store])
        bench.record.figure(f"start.{store}.idle_rss_mb", median(resident[store]), all=resident[store])
