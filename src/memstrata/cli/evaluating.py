"""`eval`: measure, show the figures under their protocol, and keep the raw rankings in a file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.cells import cell_len

from memstrata.cli.logs import write_logs
from memstrata.cli.place import read_settings
from memstrata.cli.screen import Screen, Step
from memstrata.cli.words import say
from memstrata.errors import InvalidRequest
from memstrata.evals.catalogue import Reading, read_dataset
from memstrata.evals.measure import first_corpora, measure_layered, measure_retrieval, views_of
from memstrata.evals.ranker import Progress
from memstrata.evals.rankings import default_name, write_lines
from memstrata.evals.report import (
    RetrievalReport,
    Table,
    layered_table,
    loss_table,
    protocol_lines,
    retrieval_table,
    silence_table,
)
from memstrata.evals.silence import measure_silence
from memstrata.evals.views import View

__all__ = ["layered", "nonsense", "retrieval"]

_GAP = "  "


def retrieval(
    screen: Screen, reading: Reading, views: Sequence[View], seed: int, out: Path | None, config: Path | None
) -> None:
    """Measure retrieval in each view that differs. Raises InvalidRequest, Misconfigured."""
    write_logs("warning")
    settings, _ = read_settings(config=config)
    dataset = read_dataset(reading)
    file = _new_file(out, dataset.name, "retrieval")
    measured = []
    for view in views_of(dataset, views):
        label = say("eval.view.pooled" if view == "pooled" else "eval.view.separate", dataset=dataset.name)
        with screen.step(label) as step:
            measured.append(asyncio.run(measure_retrieval(dataset, view, settings, seed, _shown_on(step))))
        _show_retrieval(screen, measured[-1].report)
    reports = [one.report.as_json() for one in measured]
    write_lines(file, [{"reports": reports}, *(line for one in measured for line in one.lines)])
    screen.line(say("eval.written", file=file), "dim")
    screen.json({"reports": reports, "rankings": str(file)})


def layered(screen: Screen, reading: Reading, corpora: int, out: Path | None, config: Path | None) -> None:
    """Compare the injected context with search alone. Raises InvalidRequest, Misconfigured."""
    write_logs("warning")
    settings, _ = read_settings(config=config)
    dataset = read_dataset(reading)
    if corpora:
        dataset = first_corpora(dataset, corpora)
    file = _new_file(out, dataset.name, "layered")
    with screen.step(say("eval.view.layered", dataset=dataset.name)) as step:
        measured = asyncio.run(measure_layered(dataset, settings, _shown_on(step)))
    report = measured.report
    for line in protocol_lines(report.protocol):
        screen.line(line, "dim", indent=2)
    screen.line(say("eval.distilled", distiller=report.distiller, **report.made), indent=2)
    _show_table(screen, layered_table(report.groups))
    write_lines(file, [{"report": report.as_json()}, *measured.lines])
    screen.line(say("eval.written", file=file), "dim")
    screen.json({"report": report.as_json(), "rankings": str(file)})


def nonsense(screen: Screen, reading: Reading, queries: int, seed: int, out: Path | None, config: Path | None) -> None:
    """Measure what the gate keeps silent about and what it loses. Raises InvalidRequest, Misconfigured."""
    write_logs("warning")
    settings, _ = read_settings(config=config)
    dataset = read_dataset(reading)
    file = _new_file(out, dataset.name, "nonsense")
    with screen.step(say("eval.view.nonsense", dataset=dataset.name)) as step:
        report = asyncio.run(measure_silence(dataset, settings, seed, queries, _shown_on(step)))
    for line in protocol_lines(report.protocol):
        screen.line(line, "dim", indent=2)
    _show_table(screen, silence_table(report))
    _show_table(screen, loss_table(report))
    write_lines(file, [{"report": report.as_json()}])
    screen.line(say("eval.report", file=file), "dim")
    screen.json({"report": report.as_json(), "file": str(file)})


def _show_retrieval(screen: Screen, report: RetrievalReport) -> None:
    for line in protocol_lines(report.protocol):
        screen.line(line, "dim", indent=2)
    _show_table(screen, retrieval_table(report))
    for kind, order in report.pairs.items():
        screen.line(
            say(
                "eval.pairs",
                kind=kind,
                pairs=order.pairs,
                newer=order.newer_first,
                older=order.older_first,
                neither=order.neither,
                both=order.both_at_10 / order.pairs,
            ),
            indent=2,
        )


def _show_table(screen: Screen, table: Table) -> None:
    widths = [max(cell_len(row[column]) for row in table) for column in range(len(table[0]))]
    for number, row in enumerate(table):
        spare = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [row[0] + spare[0], *(room + cell for cell, room in zip(row[1:], spare[1:], strict=True))]
        screen.line(_GAP.join(cells), "bold" if number == 0 else "", indent=2)


def _shown_on(step: Step) -> Progress:
    def show(stage: str, done: int, total: int) -> None:
        match stage:
            case "store":
                text = say("eval.storing", done=done, total=total)
            case "distill":
                text = say("eval.distilling", done=done, total=total)
            case _:
                text = say("eval.asking", done=done, total=total)
        step.show(text, done, total)

    return show


def _new_file(out: Path | None, dataset: str, kind: str) -> Path:
    """Return where the raw lines go. Said before anything is measured if that is taken: a measurement may take hours."""
    file = out or Path(default_name(dataset, kind, datetime.now(UTC)))
    if file.exists():
        raise InvalidRequest("is there already", field=str(file))
    return file
