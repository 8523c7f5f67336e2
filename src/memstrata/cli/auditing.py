"""`audit verify` and `audit list`: read from the data folder, whether a server has it open or not, and without changing it.

Verifying goes round the server on purpose: whoever doubts the trail need not trust the process that writes it.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from memstrata.audit.chain import ChainCheck
from memstrata.audit.head import read_head
from memstrata.cli.failures import FAILED
from memstrata.cli.place import Place, read_settings
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.clock import from_iso, to_iso
from memstrata.records.audit import AuditFilter, AuditRow
from memstrata.store.sqlite.audit import opened_audit
from memstrata.store.sqlite.store import DATABASE_NAME

__all__ = ["list_rows", "verify"]

_PORTION = 2_000


def verify(screen: Screen, place: Place) -> int:
    """Say whether the trail is whole and return the exit code: 1 where it is not, else 0."""
    settings, _ = read_settings(place.data_dir, place.config)
    check = ChainCheck(read_head(settings.data_dir))  # first: rows that come later are no contradiction to it
    with screen.step(say("audit.step")) as step, opened_audit(settings.data_dir / DATABASE_NAME) as trail:
        while not check.is_broken and (rows := trail.after(check.last_seq, _PORTION)):
            check.check(rows)
        report = check.report()
        step.show(say("audit.rows", rows=report.rows))
    if report.is_intact:
        screen.line(say("audit.intact"), indent=2)
    else:
        screen.line(say("audit.broken", seq=report.broken_seq, reason=report.reason), "red", indent=2)
    for warning in report.warnings:
        screen.line(say("warning", text=warning), "yellow", indent=2)
    screen.json({"intact": report.is_intact, **asdict(report)})
    return 0 if report.is_intact else FAILED


def list_rows(
    screen: Screen, place: Place, user: str | None, action: str | None, since: str | None, limit: int
) -> None:
    """Show rows, the newest first. Raises InvalidRequest for a time that is none."""
    settings, _ = read_settings(place.data_dir, place.config)
    start = None if since is None else from_iso(since, field="--since")
    where = AuditFilter(place.instance, user, action, start)
    with opened_audit(settings.data_dir / DATABASE_NAME) as trail:
        rows = trail.page(where, None, limit)
    for row in rows:
        screen.line(_line(row))
    if not rows:
        screen.line(say("audit.none"))
    screen.json({"rows": [_told(row) for row in rows]})


def _line(row: AuditRow) -> str:
    entry = row.entry
    owner = "/".join(json.loads(entry.owner))
    return say(
        "audit.row",
        seq=row.seq,
        at=to_iso(entry.at),
        actor=entry.actor,
        action=entry.action,
        owner=owner,
        subject=entry.subject,
    )


def _told(row: AuditRow) -> dict[str, object]:
    entry = row.entry
    team, agent, user = json.loads(entry.owner)
    return {
        "seq": row.seq,
        "at": to_iso(entry.at),
        "actor": entry.actor,
        "action": entry.action,
        "team": team,
        "agent": agent,
        "user": user,
        "subject": json.loads(entry.subject),
        "hash": row.hash.hex(),
    }
