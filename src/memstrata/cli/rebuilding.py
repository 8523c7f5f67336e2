"""`rebuild --from-files`: a lost database, written anew from the readable files beside it."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from memstrata.cli.failures import FAILED
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place, read_settings
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.errors import InvalidRequest
from memstrata.store.rebuild import rebuild_from_files
from memstrata.text.analyser import index_terms

__all__ = ["rebuild"]


def rebuild(screen: Screen, place: Place, *, from_files: bool) -> int:
    """Rebuild and return the exit code: 1 where something could not be restored, each with its reason.

    Raises Misconfigured if there is a database: nothing is overwritten.
    """
    write_logs("warning")
    if not from_files:
        raise InvalidRequest(say("rebuild.needs_flag"))
    settings, _ = read_settings(place.data_dir, place.config)
    report = asyncio.run(rebuild_from_files(settings.data_dir, index_terms, settings.pipeline.profile_scope))
    screen.bullet(
        say(
            "rebuild.done",
            folder=settings.data_dir,
            messages=say.count("message", report.messages),
            memories=say.count("memory", report.memories),
            documents=say.count("document", report.documents),
            sessions=say.count("session", report.sessions),
        )
    )
    for problem in report.problems:
        screen.line(say("rebuild.problem", problem=problem), "yellow", indent=2)
    screen.json({"data_dir": str(settings.data_dir), **asdict(report)})
    return FAILED if report.problems else 0
