"""`make bench`, `python -m benchmarks`: run the suites, keep the raw lines, print what was reached."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.machine import description
from benchmarks.record import Record
from benchmarks.suites import (
    add,
    client,
    directory,
    distillation,
    gold,
    hook,
    middleware,
    proxy,
    retrieval,
    search,
    sessions,
    start,
    vectors,
)
from memstrata import __version__

__all__ = ["main"]

# `start` comes first: it wants the machine as it is before other suites have filled its caches and its disk queue.
SUITES: Mapping[str, Callable[[Bench], Awaitable[None]]] = {
    "start": start.measure,
    "add": add.measure,
    "search": search.measure,
    "gold": gold.measure,
    "sessions": sessions.measure,
    "distillation": distillation.measure,
    "directory": directory.measure,
    "client": client.measure,
    "proxy": proxy.measure,
    "hook": hook.measure,
    "middleware": middleware.measure,
    "vectors": vectors.measure,
    "retrieval": retrieval.measure,
}


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments ask for. Returns 1 if a request failed: figures of failures mean nothing."""
    given = _parser().parse_args(arguments)
    chosen = given.only.split(",") if given.only else list(SUITES)
    if unknown := [name for name in chosen if name not in SUITES]:
        raise SystemExit(f"no such suite: {', '.join(unknown)}; there are {', '.join(SUITES)}")
    out = given.out or Path(__file__).parent / "results" / f"{datetime.now(UTC):%Y-%m-%dT%H%M}.jsonl"
    record = Record(out)
    with tempfile.TemporaryDirectory(prefix="memstrata-bench-", dir=given.work) as work:
        bench = Bench(
            command=shlex.split(given.command),
            work=Path(work),
            record=record,
            rounds=given.rounds or (1 if given.quick else 3),
            seconds=given.seconds or (1.0 if given.quick else 3.0),
            rows=given.rows or (10_000 if given.quick else 100_000),
            small_scopes=5 if given.quick else 50,
        )
        record.about(
            version=__version__,
            at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            command=_without_folder(given.command),
            rounds=bench.rounds,
            seconds=bench.seconds,
            rows=bench.rows,
            machine=description(bench.work),
        )
        asyncio.run(_run(bench, chosen))
    record.close()
    print(record.report())
    print(f"\nraw lines: {record.file}")
    if record.failed_requests:
        print(f"{record.failed_requests} requests failed", file=sys.stderr)
    return 1 if record.failed_requests else 0


async def _run(bench: Bench, chosen: Sequence[str]) -> None:
    for name, measure in SUITES.items():
        if name in chosen:
            print(f"{datetime.now(UTC):%H:%M:%S} {name} …", file=sys.stderr, flush=True)
            await measure(bench)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round and 10,000 rows: does it run at all")
    parser.add_argument("--only", default="", help=f"suites to run, with commas: {','.join(SUITES)}")
    parser.add_argument("--out", type=Path, help="file of raw JSON lines; default: results/<now>.jsonl")
    parser.add_argument("--rounds", type=int, help="rounds of each closed loop; a figure is their median")
    parser.add_argument("--seconds", type=float, help="length of a round")
    parser.add_argument("--rows", type=int, help="memories, and as many messages, in the large scope")
    parser.add_argument("--work", type=Path, help="where data folders are made; on the disk that is to be measured")
    parser.add_argument(
        "--command",
        default=shlex.join([sys.executable, "-m", "memstrata.cli", "serve", "--quiet"]),
        help="how the server is started; it is configured by MEMSTRATA_ variables",
    )
    return parser


def _without_folder(command: str) -> str:
    """Return a command without the folder of its program: raw output is kept, and says nothing of the machine's paths."""
    program, *rest = shlex.split(command)
    return shlex.join([Path(program).name, *rest])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
