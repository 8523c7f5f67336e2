"""`export`: everything of a scope, a user or an instance, in the format of `docs/formats.md`."""

from __future__ import annotations

import asyncio
import gzip
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Literal

from memstrata.cli.archive_link import archive_link
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.errors import Unavailable
from memstrata.records.archive import ArchiveSelection

__all__ = ["Part", "export"]

Part = Literal["scope", "user", "instance"]
STANDARD_OUTPUT = "-"
_KIND = re.compile(rb'\{"kind":"(\w+)"')


def export(screen: Screen, place: Place, target: str, part: Part) -> None:
    """Write the export to standard output, or to a file that is there when it is whole and not before.

    A name that ends with `.gz` makes a compressed file. Raises NotFound, Unavailable if the export was cut short, OSError
    if the file cannot be written.
    """
    write_logs("warning")
    to_screen = target == STANDARD_OUTPUT
    with nullcontext(sys.stdout.buffer) if to_screen else _written_whole(Path(target)) as output:
        counts = asyncio.run(_write(place, _selection(place, part), output))
    if to_screen:
        return
    numbers = {"messages": counts["message"], "memories": counts["memory"], "documents": counts["document"]}
    screen.bullet(
        say(
            "export.done",
            file=target,
            messages=say.count("message", numbers["messages"]),
            memories=say.count("memory", numbers["memories"]),
            documents=say.count("document", numbers["documents"]),
        )
    )
    screen.json({"file": target, **numbers, "lines": dict(counts)})


def _selection(place: Place, part: Part) -> ArchiveSelection:
    match part:
        case "instance":
            return ArchiveSelection(place.instance)
        case "user":
            return ArchiveSelection(place.instance, user=place.user)
        case "scope":
            return ArchiveSelection(place.instance, place.team, place.agent, place.user)


async def _write(place: Place, selection: ArchiveSelection, output: IO[bytes] | gzip.GzipFile) -> Counter[str]:
    """Write all lines and return how many of each kind there are. Raises Unavailable if the last is missing."""
    counts: Counter[str] = Counter()
    rest = b""
    async with archive_link(place, creates=False) as link:
        async for chunk in link.export(selection):
            output.write(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            counts.update(match[1].decode() for line in lines if (match := _KIND.match(line)))
    if rest or counts.pop("end", 0) != 1:
        raise Unavailable(say("export.incomplete"))
    output.flush()
    return counts


@contextmanager
def _written_whole(target: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Open a file that only its owner can read."""
    partial = target.with_name(f"{target.name}.part")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as raw:
            if target.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
                    yield packed
            else:
                yield raw
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
