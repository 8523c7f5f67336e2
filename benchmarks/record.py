"""What a run writes down: raw rounds as JSON lines while they happen, and at the end the figures beside their targets."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.driver import Round
from benchmarks.figures import Figure, flattened, targets

__all__ = ["Record"]

_HERE = Path(__file__).parent
_PER_ROUND = ("requests_per_second", "p50_ms", "p95_ms", "p99_ms", "max_ms", "server_cpu_ms", "rss_mb")


class Record:
    """All rounds and figures of a run. The file is written line by line, so that an interrupted run is not lost."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.failed_requests = 0
        self._rounds: dict[str, list[Round]] = {}
        self._single: dict[str, float] = {}
        self._targets = targets(_table("targets.toml"))
        self._reference: Mapping[str, float] = flattened(_table("reference.toml")["figures"])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("", encoding="utf-8")

    def about(self, **facts: Any) -> None:
        """Write down what the figures depend on."""
        self._write("run", **facts)

    def round(self, operation: str, store: str, number: int, measured: Round) -> None:
        """Keep one round of an operation on a store (`empty`, `100k`, `50x2k`)."""
        self._rounds.setdefault(f"{operation}.{store}.{measured.connections}", []).append(measured)
        self.failed_requests += measured.errors
        self._write("round", operation=operation, store=store, round=number, **measured.as_dict())

    def figure(self, name: str, value: float, **details: Any) -> None:
        """Keep a figure that does not come from closed loops."""
        self._single[name] = value
        self._write("figure", name=name, value=value, **details)

    def figures(self) -> Iterator[Figure]:
        """Yield every figure: of closed loops the median of their rounds, and the others as they are."""
        for name, rounds in self._rounds.items():
            for quantity in _PER_ROUND:
                yield self._figure(f"{name}.{quantity}", median(getattr(one, quantity) for one in rounds))
        for name, value in self._single.items():
            yield self._figure(name, value)

    def report(self) -> str:
        """Return two tables: the closed loops in full, and every figure that has a target or a reference."""
        loops = [["closed loop", "rounds", *_PER_ROUND, "other_cpu_%"]]
        for name, rounds in self._rounds.items():
            medians = [f"{median(getattr(one, quantity) for one in rounds):.2f}" for quantity in _PER_ROUND]
            loops.append([name, str(len(rounds)), *medians, f"{median(one.other_cpu_percent for one in rounds):.0f}"])
        compared = [["figure", "measured", "target", "reached", "reference", "times better"]]
        compared += [_row(figure) for figure in self.figures() if figure.compared or figure.name in self._single]
        return "\n\n".join(_aligned(table) for table in (loops, compared) if len(table) > 1)

    def close(self) -> None:
        """Write the figures, with target and reference, at the file's end."""
        for figure in self.figures():
            if figure.compared:
                self._write(
                    "verdict",
                    name=figure.name,
                    value=round(figure.value, 4),
                    target=None if figure.target is None else {figure.target.relation: figure.target.bound},
                    reached=figure.reached,
                    reference=figure.reference,
                    times_better=figure.better,
                )

    def _figure(self, name: str, value: float) -> Figure:
        return Figure(name, value, self._targets.get(name), self._reference.get(name))

    def _write(self, kind: str, **facts: Any) -> None:
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"kind": kind, **facts}, ensure_ascii=False) + "\n")


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((_HERE / name).read_text(encoding="utf-8"))


def _row(figure: Figure) -> list[str]:
    target = figure.target
    bound = "" if target is None else f"{'≥' if target.relation == 'at_least' else '≤'} {target.bound:g}"
    reached = {True: "yes", False: "NO", None: ""}[figure.reached]
    reference = "" if figure.reference is None else f"{figure.reference:g}"
    better = "" if figure.better is None else f"{figure.better:.1f}"
    return [figure.name, f"{figure.value:.4g}", bound, reached, reference, better]


def _aligned(table: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    lines = (
        "  ".join(cell.ljust(width) if column == 0 else cell.rjust(width) for column, (cell, width) in enumerate(cells))
        for cells in (zip(row, widths, strict=True) for row in table)
    )
    return "\n".join(line.rstrip() for line in lines)
