"""What memory adds to a turn of a LangChain agent, beyond the request that recalls and what LangGraph takes for hooks.

The turns run in the environment of the frameworks (`make test-frameworks` makes it), in a process of their own:
`benchmarks/middleware_turns.py`. Where that environment is missing, the suite is left out and says so.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from statistics import median

from benchmarks.bench import L1_OFF, SCOPE, Bench
from benchmarks.figures import percentile
from memstrata.client import MemoryClient

__all__ = ["measure"]

_ROOT = Path(__file__).resolve().parents[2]
_PYTHON = _ROOT / ".venv-frameworks" / "bin" / "python"
_TURNS_A_SECOND = 20


async def measure(bench: Bench) -> None:
    """Measure a turn with memory, one with hooks that do nothing, and one with none, again and again."""
    if not _PYTHON.exists():
        print("middleware: left out, there is no environment of the frameworks: make test-frameworks", file=sys.stderr)
        return
    async with bench.serve(bench.new_folder(), L1_OFF) as server:
        with MemoryClient(server.url, team=SCOPE.team, agent=SCOPE.agent, user=SCOPE.user, session="bench") as memory:
            memory.add([("user", f"I like tea number {number}") for number in range(50)])
        turns = max(10, round(_TURNS_A_SECOND * bench.seconds * bench.rounds))
        process = await asyncio.create_subprocess_exec(
            *(str(_PYTHON), str(_ROOT / "benchmarks" / "middleware_turns.py"), server.url, str(turns)),
            *(SCOPE.team, SCOPE.agent, SCOPE.user),
            env={**os.environ, "LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"},
            stdout=PIPE,
        )
        out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"the turns of the middleware ended with status {process.returncode}")
    taken = json.loads(out)
    recall = [waited - http for waited, http in zip(taken["request"], taken["recall_http"], strict=True)]
    own = [
        whole - idle - http
        for whole, idle, http in zip(taken["memory"], taken["idle"], taken["recall_http"], strict=True)
    ]
    hooks = [idle - bare for idle, bare in zip(taken["idle"], taken["bare"], strict=True)]
    bench.record.figure("middleware.langchain.recall_own_ms", 1_000 * median(recall), all=recall)
    bench.record.figure("middleware.langchain.turn_own_ms", 1_000 * median(own), all=own)
    bench.record.figure("middleware.langchain.turn_own_fastest_tenth_ms", 1_000 * percentile(own, 10))
    bench.record.figure("middleware.langchain.framework_hooks_ms", 1_000 * median(hooks), all=hooks)
    for side in ("recall_http", "bare"):
        bench.record.figure(f"middleware.langchain.{side}_ms", 1_000 * median(taken[side]), all=taken[side])
