"""`export`: everything of one scope, in the format that `memstrata.transfer` defines.

It is read through the API, so it works against any server; what the API does not tell is left out (`memstrata.cli.told`).
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO

from memstrata.cli.connect import connected
from memstrata.cli.layers import PAGE, evidence_of
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.told import UNTOLD, memory_record, message_record, persona_document, scene_document
from memstrata.cli.words import say
from memstrata.client import AsyncMemoryClient, Message
from memstrata.clock import SystemClock
from memstrata.errors import Unavailable
from memstrata.records import Scope
from memstrata.transfer import document_line, header_line, memory_line, message_line

__all__ = ["export"]

STANDARD_OUTPUT = "-"
Line = Mapping[str, object]


def export(screen: Screen, place: Place, target: str) -> None:
    """Write the export to standard output, or to a file that is there when it is whole and not before.

    Raises NotFound, Unavailable if messages came or went while they were read, OSError if the file cannot be written.
    """
    write_logs("warning")
    with nullcontext(sys.stdout) if target == STANDARD_OUTPUT else _written_whole(Path(target)) as output:
        counts = asyncio.run(_write(place, output))
    if target == STANDARD_OUTPUT:
        return
    numbers = {
        "messages": counts["message"],
        "memories": counts["memory"],
        "documents": counts["scene"] + counts["persona"],
    }
    screen.bullet(
        say(
            "export.done",
            file=target,
            messages=say.count("message", numbers["messages"]),
            memories=say.count("memory", numbers["memories"]),
            documents=say.count("document", numbers["documents"]),
        )
    )
    screen.json({"file": target, **numbers})


async def _write(place: Place, output: IO[str]) -> Counter[str]:
    """Write all lines and return how many of each kind there are."""
    counts: Counter[str] = Counter()
    async with connected(place) as connection:
        scope = Scope(place.instance, place.team, place.agent, place.user)
        _write_line(output, header_line(scope, SystemClock().now()))
        async for line in _lines(connection.client):
            kind = str(line["kind"])
            _write_line(output, {key: value for key, value in line.items() if key not in UNTOLD[kind]})
            counts[kind] += 1
    return counts


async def _lines(client: AsyncMemoryClient) -> AsyncIterator[Line]:
    for message in await _messages(client):
        yield message_line(message_record(message))
    of_scene: defaultdict[str, list[str]] = defaultdict(list)
    of_persona: list[str] = []
    async for evidence in evidence_of(client):
        yield memory_line(memory_record(evidence), [message.id for message in evidence.messages])
        for scene in evidence.scenes:
            of_scene[scene.path].append(evidence.memory.id)
        if evidence.persona is not None:
            of_persona.append(evidence.memory.id)
    for scene in await client.scenes():
        text = await client.read_scene(scene.path)
        if text is not None:
            yield document_line(scene_document(scene, text), of_scene[scene.path])
    persona = await client.persona()
    if persona is not None:
        yield document_line(persona_document(persona), of_persona)


async def _messages(client: AsyncMemoryClient) -> list[Message]:
    """Return all messages, the first said first. Raises Unavailable if some came or went meanwhile."""
    found: dict[tuple[str, str], Message] = {}
    offset = 0
    while True:
        page = await client.messages(limit=PAGE, offset=offset)
        found.update({(message.session_id, message.id): message for message in page.items})
        offset += PAGE
        if offset >= page.total or not page.items:
            break
    if len(found) != page.total:
        raise Unavailable(say("export.incomplete", read=len(found), total=page.total))
    return list(reversed(found.values()))


def _write_line(output: IO[str], line: Line) -> None:
    output.write(json.dumps(line, ensure_ascii=False) + "\n")


@contextmanager
def _written_whole(target: Path) -> Iterator[IO[str]]:
    partial = target.with_name(f"{target.name}.part")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as output:
            yield output
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
