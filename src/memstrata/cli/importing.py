"""`import`: conversation files into L0, and on through the layers.

All files are read before anything is sent, so a file that cannot be read stores nothing of the others. What is sent
carries keys and ids that depend on its content alone (`memstrata.transfer.batches`): an import that was cut off is
simply run again, and one that is run twice doubles nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memstrata.cli.connect import connected
from memstrata.cli.distilling import distill
from memstrata.cli.failures import FAILED
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.client import AsyncMemoryClient
from memstrata.clock import to_iso
from memstrata.transfer import ImportBatch, ImportedMessage, ImportFile, batches, read_file

__all__ = ["Imported", "import_files", "send"]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did. `known` were stored already; a message that is too long for one counts as its parts."""

    new: int
    known: int
    sessions: int

    def as_json(self) -> dict[str, Any]:
        return {"new": self.new, "already_there": self.known, "sessions": self.sessions}


def import_files(
    screen: Screen,
    place: Place,
    paths: Sequence[Path],
    format: str,  # noqa: A002 (the word of the command line)
    *,
    waits: bool,
    dry_run: bool,
) -> int:
    """Import files and return the exit code: 1 where they hold no message. Raises InvalidRequest, Conflict, Unavailable."""
    write_logs("warning")
    files = [(path, read_file(path, format)) for path in paths]
    for path, file in files:
        _describe(screen, path, file)
    skipped = sum((Counter(file.skipped) for _, file in files), Counter[str]())
    report: dict[str, Any] = {
        "files": [_summary(path, file) for path, file in files],
        "skipped": dict(skipped),
        "dry_run": dry_run,
    }
    if not any(file.sessions for _, file in files):
        screen.line(say("import.nothing"))
        screen.json(report | Imported(0, 0, 0).as_json())
        return FAILED
    if dry_run:
        screen.line(say("import.dry_run"))
        screen.json(report)
        return 0
    name = paths[0].name if len(paths) == 1 else say.count("file", len(paths))
    report |= asyncio.run(_import(screen, place, [file for _, file in files], name, waits=waits))
    screen.json(report)
    return 0


async def send(client: AsyncMemoryClient, screen: Screen, files: Sequence[ImportFile], name: str) -> Imported:
    """Send what files hold, showing under `name` how far it is."""
    pieces = [batch for file in files for batch in batches(file)]
    total = sum(len(batch.messages) for batch in pieces)
    sessions = len({batch.session_id for batch in pieces})
    sent = new = 0
    with screen.step(say("import.step", name=name), total) as step:
        for batch in pieces:
            new += await _send(client, batch)
            sent += len(batch.messages)
            text = say("import.progress", done=sent, messages=say.count("message", total), sessions=_sessions(sessions))
            step.show(text, sent, total)
    return Imported(new, total - new, sessions)


async def _import(
    screen: Screen, place: Place, files: Sequence[ImportFile], name: str, *, waits: bool
) -> Mapping[str, Any]:
    async with connected(place, creates=True, distills=waits) as connection:
        imported = await send(connection.client, screen, files, name)
        screen.line(say("import.done", new=f"{imported.new:,}", known=f"{imported.known:,}"), indent=2)
        if not waits:
            screen.line(say("import.not_waited"), indent=2)
            return imported.as_json()
        distilled = await distill(connection.client, screen)
        return {**imported.as_json(), "distilled": distilled.as_json()}


async def _send(client: AsyncMemoryClient, batch: ImportBatch) -> int:
    """Store a batch and return how many of its messages are new: a receipt does not say, the session's count does."""
    before = await client.count_messages(session=batch.session_id)
    receipt = await client.add(
        [_message(message) for message in batch.messages],
        session=batch.session_id,
        idempotency_key=batch.idempotency_key,
    )
    if receipt.replayed:
        return 0
    return min(len(batch.messages), await client.count_messages(session=batch.session_id) - before)


def _message(message: ImportedMessage) -> Mapping[str, Any]:
    fields = {"id": message.message_id, "role": message.role, "content": message.content}
    return fields if message.said_at is None else {**fields, "timestamp": to_iso(message.said_at)}


def _describe(screen: Screen, path: Path, file: ImportFile) -> None:
    number = _messages(file)
    if not number:
        screen.line(say("import.empty", name=path), "yellow")
    else:
        sessions, messages = _sessions(len(file.sessions)), say.count("message", number)
        screen.bullet(say("import.file", name=path, format=file.format, messages=messages, sessions=sessions))
    if file.skipped:
        reasons = say("layers.separator").join(
            f"{count:,} {say(f'skip.{reason}')}" for reason, count in file.skipped.items()
        )
        screen.item(say("import.skipped"), reasons, indent=2, style="dim")


def _summary(path: Path, file: ImportFile) -> Mapping[str, Any]:
    return {
        "file": str(path),
        "format": file.format,
        "sessions": len(file.sessions),
        "messages": _messages(file),
        "skipped": dict(file.skipped),
    }


def _messages(file: ImportFile) -> int:
    return sum(len(session.messages) for session in file.sessions)


def _sessions(number: int) -> str:
    return say.count("session", number)
