"""`import` of our own exports: rows come back as they were, beside what is there."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from memstrata.cli.archive_link import archive_link
from memstrata.cli.failures import FAILED
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.errors import InvalidRequest
from memstrata.transfer.archive.lines import MAX_LINE_BYTES, decoded_header, is_archive

__all__ = ["are_archives", "import_archives"]

_CHUNK: Final = 1 << 18
_SHOWN: Final = 5


def are_archives(paths: Sequence[Path]) -> bool:
    """Say whether these are exports. Raises InvalidRequest for a mixture.

    A file that cannot be read is taken for a conversation: whoever reads those says what is wrong with it.
    """
    found = [_is_archive(path) for path in paths]
    if any(found) and not all(found):
        raise InvalidRequest(say("archive.mixed"))
    return all(found)


def import_archives(
    screen: Screen,
    place: Place,
    paths: Sequence[Path],
    *,
    as_instance: str | None,
    as_user: str | None,
    dry_run: bool,
) -> int:
    """Import and return the exit code: 1 where something else was there already. Raises InvalidRequest, Unavailable."""
    write_logs("warning")
    reports = asyncio.run(_import(screen, place, paths, as_instance, as_user, dry_run=dry_run))
    screen.json({"files": reports, "dry_run": dry_run})
    return FAILED if any(report["conflict"] for report in reports) else 0


async def _import(
    screen: Screen,
    place: Place,
    paths: Sequence[Path],
    as_instance: str | None,
    as_user: str | None,
    *,
    dry_run: bool,
) -> list[Mapping[str, Any]]:
    reports: list[Mapping[str, Any]] = []
    async with archive_link(place, creates=True) as link:
        for path in paths:
            instance = as_instance or decoded_header(_first_line(path)).instance
            report = await link.import_lines(_chunks(path), instance, as_user, dry_run=dry_run)
            _describe(screen, path, report)
            reports.append({"file": str(path), **report})
    if dry_run:
        screen.line(say("import.dry_run"))
    return reports


def _describe(screen: Screen, path: Path, report: Mapping[str, Any]) -> None:
    totals = {name: f"{report[name]:,}" for name in ("added", "known", "conflict", "skipped")}
    screen.bullet(say("archive.would" if report["dry_run"] else "archive.imported", name=path, **totals))
    for problem in report["problems"][:_SHOWN]:
        screen.line(say("archive.problem", **problem), "yellow", indent=2)
    if report["conflict"] > _SHOWN:
        screen.line(say("archive.more", number=f"{report['conflict'] - _SHOWN:,}"), indent=2)


def _is_archive(path: Path) -> bool:
    try:
        return is_archive(_first_line(path))
    except OSError:
        return False


def _first_line(path: Path) -> bytes:
    line = b""
    for chunk in _read(path):
        line += chunk
        if b"\n" in line or len(line) > MAX_LINE_BYTES:
            break
    return line.partition(b"\n")[0]


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    chunks = _read(path)
    while chunk := await asyncio.to_thread(next, chunks, b""):
        yield chunk


def _read(path: Path) -> Iterator[bytes]:
    """Yield a file in pieces, unpacked if it is gzip, whatever its name. Raises InvalidRequest where it is damaged."""
    with path.open("rb") as raw:
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        with gzip.GzipFile(fileobj=raw) if packed else raw as file:
            try:
                while chunk := file.read(_CHUNK):
                    yield chunk
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise InvalidRequest(str(error), field=path.name) from error
