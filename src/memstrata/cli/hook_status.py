"""`hook status`: what hooks did last, read from what they left; nobody is asked, no server is needed."""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import UTC, datetime

from memstrata.cli.screen import Screen
from memstrata.cli.times import iso, minute
from memstrata.cli.words import say
from memstrata.hooks.command import hook_folder
from memstrata.hooks.handle import OUTCOMES
from memstrata.hooks.report import Report, reports

__all__ = ["hook_status"]


def hook_status(screen: Screen) -> None:
    """Show the last event of each client at each server, and what waits."""
    found = reports(hook_folder(os.environ))
    if not found:
        screen.line(say("hooks.none"))
    for report in found:
        screen.bullet(f"{report.client} → {report.url}")
        outcome = say(f"hooks.outcome.{report.outcome}") if report.outcome in OUTCOMES else report.outcome
        told = say("hooks.last", event=report.event, outcome=outcome, time=minute(_time(report)))
        screen.line(f"{told} · {report.reason}" if report.reason else told, indent=2)
        if report.waiting:
            screen.line(say("hooks.waiting", number=report.waiting), indent=2)
        if report.refused:
            screen.line(say("hooks.refused", number=report.refused), indent=2)
    screen.json({"hooks": [{**asdict(report), "at": iso(_time(report))} for report in found]})


def _time(report: Report) -> datetime | None:
    return datetime.fromtimestamp(report.at, UTC) if report.at else None
