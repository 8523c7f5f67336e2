"""How long a coding agent waits for a hook: from the start of its process to its answer, at each of the three events.

The events of a session come in turns, each in a process of its own, beside an interpreter that does nothing: that is
what any hook in Python costs on this machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.bench import L1_OFF, SCOPE, Bench

__all__ = ["measure"]

_TURNS = 15
_FLAGS = ("--team", SCOPE.team, "--agent", SCOPE.agent, "--user", SCOPE.user)


async def measure(bench: Bench) -> None:
    """Measure a session of some turns; what a recall costs in a large store is in another suite."""
    home = bench.new_folder()
    home.mkdir()
    taken: dict[str, list[float]] = {"idle": [], "session_start": [], "prompt": [], "stop": []}
    async with bench.serve(bench.new_folder(), L1_OFF) as server:
        command = [
            str(Path(sys.executable).with_name("memstrata")),
            "hook",
            "claude-code",
            "--url",
            server.url,
            *_FLAGS,
        ]
        for turn in range(_TURNS):
            events = {
                "session_start": {"hook_event_name": "SessionStart", "source": "startup"},
                "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": f"第{turn}轮：which ticket was it?"},
                "stop": {"hook_event_name": "Stop", "last_assistant_message": f"Ticket {turn}."},
            }
            taken["idle"].append(await asyncio.to_thread(_run, [sys.executable, "-c", "pass"], "", home))
            for name, event in events.items():
                text = json.dumps({"session_id": "bench-hook", **event})
                taken[name].append(await asyncio.to_thread(_run, command, text, home))
    for name, seconds in taken.items():
        bench.record.figure(f"hook.{name}.ms", 1_000 * median(seconds), all=seconds)


def _run(command: Sequence[str], text: str, home: Path) -> float:
    environ = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": "", "MEMSTRATA_LOG_LEVEL": "debug"}
    started = time.perf_counter()
    done = subprocess.run(command, input=text, env=environ, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - started
    if any(word in done.stderr for word in ("no server", "refused", "failed")):
        raise RuntimeError(f"a hook did not do its work: {done.stderr.strip()}")
    return seconds
