"""`demo`: the whole of it in half a minute, on real parts, with nothing but this installation.

The server it starts goes on, so that the next thing to try has something to talk to. Every number is read from the API.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memstrata.cli.background import running_server, start_server
from memstrata.cli.connect import Connection, connected
from memstrata.cli.distilling import distill, distiller_state
from memstrata.cli.evidence import chain_as_json, show_chain
from memstrata.cli.example import EXAMPLE_NAME, example_file
from memstrata.cli.failures import FAILED
from memstrata.cli.importing import send
from memstrata.cli.layers import Layers, all_memories, gather_layers, show_layers
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place, read_settings
from memstrata.cli.questions import EXAMPLE_QUESTIONS, questions_about
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.client import AsyncMemoryClient, Evidence, Recall
from memstrata.errors import InvalidRequest, Misconfigured
from memstrata.ids import file_name
from memstrata.server import bind
from memstrata.transfer import ImportFile, read_file

__all__ = ["demo"]


@dataclass(frozen=True, slots=True)
class _Conversation:
    """What is shown. `name` is how the file is called on the screen."""

    file: ImportFile
    name: str
    is_example: bool


def demo(screen: Screen, path: Path | None, place: Place, port: int | None) -> int:
    """Run the demo and return its exit code. Running it again doubles nothing.

    Raises InvalidRequest for a file that cannot be read or holds no messages, Misconfigured for an address that cannot
    be used, and what the client raises.
    """
    write_logs("warning")
    conversation = _read(path)
    if path is not None:
        # A conversation of one's own is not mixed with Lin's, nor with another file's.
        place = replace(place, instance=file_name(path.stem))
    started = _server(screen, place, port)
    return asyncio.run(_show(screen, place, conversation, started))


def _read(path: Path | None) -> _Conversation:
    file = read_file(path or example_file())
    if not file.sessions:
        raise InvalidRequest(say("import.empty", name=path))
    return _Conversation(file, path.name if path else EXAMPLE_NAME, path is None)


def _server(screen: Screen, place: Place, port: int | None) -> str:
    """Return the URL of the folder's server, starting one where none runs: on a free port if the usual one is taken."""
    settings, origins = read_settings(place.data_dir, place.config, {"server.port": port})
    url = running_server(settings.data_dir)
    if url:
        screen.bullet(say("server.reused", url=url, folder=settings.data_dir))
        return url
    chosen = settings.server.port
    try:
        bind(settings.server).close()
    except Misconfigured:
        if "server.port" in origins:
            raise
        chosen = 0
    url = start_server(settings.data_dir, chosen, place.config)
    screen.bullet(say("server.at", url=url, folder=settings.data_dir, distiller=distiller_state(settings)))
    return url


async def _show(screen: Screen, place: Place, conversation: _Conversation, url: str) -> int:
    async with connected(place) as connection:
        client = connection.client
        imported = await send(client, screen, [conversation.file], conversation.name)
        distilled = await distill(client, screen)
        layers = await gather_layers(client)
        _show_layers(screen, layers, imported.sessions)
        questions = await _questions(client, conversation)
        answers = [await _ask(screen, client, question) for question in questions]
        _show_end(screen, place, connection)
    screen.json(
        {
            "server": {"url": url, "data_dir": str(connection.settings.data_dir)},
            "scope": {name: getattr(place, name) for name in ("instance", "team", "agent", "user")},
            "import": imported.as_json(),
            "distilled": distilled.as_json(),
            "layers": {**layers.as_json(), "l3": {"characters": len(layers.persona), "text": layers.persona}},
            "questions": answers,
        }
    )
    return FAILED if distilled.unfinished else 0


def _show_layers(screen: Screen, layers: Layers, sessions: int) -> None:
    screen.line()
    show_layers(screen, layers, sessions)
    if not layers.memories:
        screen.line(say("demo.no_memories"), "yellow", indent=3)
    if layers.persona:
        screen.line()
        screen.document(layers.persona, say("demo.persona"))


async def _questions(client: AsyncMemoryClient, conversation: _Conversation) -> Sequence[str]:
    if conversation.is_example:
        return EXAMPLE_QUESTIONS
    return questions_about([memory async for memory in all_memories(client)])


async def _ask(screen: Screen, client: AsyncMemoryClient, question: str) -> Mapping[str, Any]:
    recall = await client.recall(question)
    screen.line()
    screen.line(f"? {question}", "bold")
    for line in _remembered(recall):
        screen.line(line, indent=2)
    if not recall.hits:
        screen.line(say("demo.nothing_recalled"), "yellow", indent=2)
    evidence = await _best_evidence(client, recall)
    if evidence is not None:
        show_chain(screen, evidence)
    return {
        "question": question,
        "prepend_context": recall.prepend_context,
        "append_system_context": recall.append_system_context,
        "memories": [{"id": hit.item.id, "type": hit.item.type, "content": hit.item.content} for hit in recall.hits],
        "elapsed_ms": recall.elapsed_ms,
        "why": chain_as_json(evidence) if evidence else None,
    }


def _remembered(recall: Recall) -> list[str]:
    """The lines of the block that a model would be given; what frames them is for the model."""
    return [line.removeprefix("- ") for line in recall.prepend_context.splitlines() if line.startswith("- ")]


async def _best_evidence(client: AsyncMemoryClient, recall: Recall) -> Evidence | None:
    """Return the evidence that shows most: up to the persona, then with a value that changed, then of the best hit."""
    found = [await client.trace(hit.item.id) for hit in recall.hits]
    return max(found, key=lambda one: (one.persona is not None, bool(one.replaced)), default=None)


def _show_end(screen: Screen, place: Place, connection: Connection) -> None:
    program = _program()
    folder = place.data_dir
    scope = "" if place.instance == "default" else f" --instance {place.instance}"
    screen.line()
    screen.bullet(say("demo.running", url=connection.url))
    screen.item(say("demo.stop"), f"{program} stop --data-dir {folder}", indent=2, width=6)
    screen.item(say("demo.search"), f'{program} search "…" --data-dir {folder}{scope}', indent=2, width=6)
    screen.item(say("demo.next"), say("demo.next.readme"), indent=2, width=6)


def _program() -> str:
    """How this program can be called from here: by its name where the PATH has it, else as it was called."""
    found = shutil.which("memstrata")
    called = Path(sys.argv[0])
    return "memstrata" if found and Path(found).resolve() == called.resolve() else str(called)
