"""`scan`: secrets in what was stored before they were taken out at the door, or while a policy kept them.

Works on the data folder, since it reads every instance: that is the operator's business and no caller's. Nothing is
distilled meanwhile.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace

from memstrata.cli.failures import FAILED
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place, read_settings
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.forgetting import ScanReport, SecretsFound
from memstrata.memory import Memory
from memstrata.records.audit import CLI
from memstrata.settings import Settings
from memstrata.store.audit import acting

__all__ = ["scan"]

_SHOWN = 50


def scan(screen: Screen, place: Place, *, fix: bool) -> int:
    """Say where secrets are and return the exit code: 1 where some are that nobody chose to keep, else 0.

    Raises Misconfigured if a server has the folder open.
    """
    write_logs("warning")
    settings, _ = read_settings(place.data_dir, place.config)
    still = replace(settings, pipeline=replace(settings.pipeline, enabled=False))
    with screen.step(say("scan.step")) as step:
        report = asyncio.run(_scan(still, fix=fix))
        step.show(say("scan.done", scanned=report.scanned, rows=report.rows))
    for kind, number in report.kinds.items():
        screen.line(say("scan.kind", number=number, kind=kind), indent=2)
    for found in report.found[:_SHOWN]:
        screen.line(_told(found), indent=2)
    if report.rows > _SHOWN:
        screen.line(say("scan.more", number=report.rows - _SHOWN), indent=2)
    if report.fixed:
        screen.bullet(say("scan.fixed", fixed=report.fixed))
    if not report.is_scrubbed:
        screen.line(say("scan.not_scrubbed"), "yellow", indent=2)
    left = report.rows - report.fixed - report.kept
    if left:
        screen.line(say("scan.hint"), "yellow", indent=2)
    screen.json(asdict(report))
    return FAILED if left or not report.is_scrubbed else 0


async def _scan(settings: Settings, *, fix: bool) -> ScanReport:
    async with Memory.open(settings=settings) as memory:
        with acting(CLI):
            return await memory.scan_secrets(fix=fix)


def _told(found: SecretsFound) -> str:
    owner = "/".join(
        part for part in (found.owner.instance, found.owner.team, found.owner.agent, found.owner.user) if part
    )
    kinds = ", ".join(dict.fromkeys(found.kinds)) + (f" ({say('scan.kept')})" if found.is_kept else "")
    return say("scan.row", layer=found.layer, record=found.record_id, version=found.version, owner=owner, kinds=kinds)
