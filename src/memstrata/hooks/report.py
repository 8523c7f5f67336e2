"""What hooks did last, kept beside what they remember, so that a hook that says nothing can still be asked about.

It holds names of events and outcomes, and counts; nothing of what was said.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memstrata.hooks.handle import Done
from memstrata.hooks.place import Place
from memstrata.hooks.spool import Spool, write_whole

__all__ = ["Report", "note", "reports"]

_NOTE = "last.json"


@dataclass(frozen=True, slots=True)
class Report:
    """One client at one server. `at` is in seconds since 1970; `waiting` turns are unsent, `refused` ones never go."""

    client: str
    url: str
    event: str
    outcome: str
    reason: str
    at: float
    waiting: int
    refused: int


def note(folder: Path, place: Place, event: str, done: Done, at: float) -> None:
    """Keep what became of an event. Raises OSError."""
    fields = {
        "client": place.client,
        "url": place.url,
        "event": event,
        "outcome": done.outcome,
        "reason": done.reason,
        "at": at,
    }
    write_whole(folder / _NOTE, json.dumps(fields))


def reports(folder: Path) -> list[Report]:
    """Return what is known of every place that a hook was called for; a note that cannot be read says so itself."""
    return [_report(file) for file in sorted(folder.glob(f"*/{_NOTE}"))]


def _report(file: Path) -> Report:
    spool = Spool(file.parent)
    try:
        read = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        read = {"outcome": "failed", "reason": "the note cannot be read"}
    fields: dict[str, Any] = read if isinstance(read, dict) else {}
    at = fields.get("at")
    return Report(
        client=str(fields.get("client", "")),
        url=str(fields.get("url", "")),
        event=str(fields.get("event", "")),
        outcome=str(fields.get("outcome", "")),
        reason=str(fields.get("reason", "")),
        at=float(at) if isinstance(at, int | float) else 0.0,
        waiting=len(spool.parked()),
        refused=spool.refused(),
    )
