"""Our own export, written and read: JSON lines that hold everything of one scope, each line naming its `kind`.

    {"memstrata_export": 1, "exported_at": "…", "scope": {"instance": "…", "team": "…", "agent": "…", "user": "…"}}
    {"kind": "message", "session_id": "…", "id": "…", "role": "user", "content": "…", "said_at": "…", …}
    {"kind": "memory" | "scene" | "persona", …}

The export is complete, for whoever leaves or audits. An import takes the messages alone, with their ids and times:
memories, scenes and the persona are distilled from them again, so that each keeps real sources in its new home. The
scope of the header is information, not an instruction: an import goes where the importer may write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from memstrata.clock import Instant, to_iso
from memstrata.records import Document, MemoryRecord, Message, Role, Scope
from memstrata.transfer.builder import ImportBuilder
from memstrata.transfer.conversation import ImportFile
from memstrata.transfer.node import Node
from memstrata.transfer.roles import LeftOut, read_role
from memstrata.transfer.times import read_time

__all__ = ["EXPORT_VERSION", "document_line", "export_lines", "header_line", "memory_line", "message_line", "read"]

EXPORT_VERSION = 1

Line = dict[str, object]
"""One line of the file, ready for `json.dumps`."""

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant"}
_DISTILLED = frozenset({"memory", "scene", "persona"})


def export_lines(
    scope: Scope,
    exported_at: Instant,
    *,
    messages: Iterable[Message] = (),
    memories: Iterable[MemoryRecord] = (),
    documents: Iterable[Document] = (),
) -> Iterator[Line]:
    """Yield the lines of an export. Messages are expected in `seq` order, which is the order an import restores.

    An exporter that pages through its store calls the functions for single lines instead, in the same order.
    """
    yield header_line(scope, exported_at)
    yield from map(message_line, messages)
    yield from map(memory_line, memories)
    yield from map(document_line, documents)


def header_line(scope: Scope, exported_at: Instant) -> Line:
    """Return the first line of an export."""
    return {
        "memstrata_export": EXPORT_VERSION,
        "exported_at": to_iso(exported_at),
        "scope": {"instance": scope.instance, "team": scope.team, "agent": scope.agent, "user": scope.user},
    }


def message_line(message: Message) -> Line:
    """Return the line of an L0 message."""
    return {
        "kind": "message",
        "seq": message.seq,
        "id": message.message_id,
        "session_id": message.session_id,
        "task_id": message.task_id,
        "role": message.role,
        "content": message.content,
        "said_at": to_iso(message.said_at),
        "recorded_at": to_iso(message.recorded_at),
    }


def memory_line(memory: MemoryRecord, source_ids: Sequence[str] = ()) -> Line:
    """Return the line of one version of an L1 memory; `source_ids` are the ids of the messages that it cites."""
    return {
        "kind": "memory",
        "seq": memory.seq,
        "id": memory.memory_id,
        "version": memory.version,
        "type": memory.type,
        "content": memory.content,
        "priority": memory.priority,
        "scene_name": memory.scene_name,
        "applies_to": memory.applies_to,
        "slot": memory.slot,
        "session_id": memory.session_id,
        "task_id": memory.task_id,
        "origin": memory.origin,
        "happened_from": _iso_or_none(memory.happened_from),
        "happened_to": _iso_or_none(memory.happened_to),
        "metadata": dict(memory.metadata),
        "created_at": to_iso(memory.created_at),
        "updated_at": to_iso(memory.updated_at),
        "valid_to": _iso_or_none(memory.valid_to),
        "superseded_by": memory.superseded_by,
        "source_ids": list(source_ids),
    }


def document_line(document: Document, memory_ids: Sequence[str] = ()) -> Line:
    """Return the line of an L2 scene or the L3 persona; `memory_ids` are the memories that it was built from."""
    return {
        "kind": document.kind,
        "seq": document.seq,
        "path": document.path,
        "version": document.version,
        "body": document.body,
        "summary": document.summary,
        "heat": document.heat,
        "origin": document.origin,
        "created_at": to_iso(document.created_at),
        "updated_at": to_iso(document.updated_at),
        "memory_ids": list(memory_ids),
    }


def read(values: Iterable[Node]) -> ImportFile:
    """Read the lines of an export. Raises InvalidRequest naming the line that is not one of ours."""
    builder = ImportBuilder("memstrata")
    lines = iter(values)
    header = next(lines)
    version = header.need("memstrata_export")
    if version.value != EXPORT_VERSION:
        raise version.place.error(f"export version {version.value!r}, this program reads version {EXPORT_VERSION}")
    for line in lines:
        kind = line.need("kind")
        if kind.value == "message":
            _read_message(line, builder)
        elif kind.text() in _DISTILLED:
            builder.skip("distilled again from the messages")
        else:
            raise kind.place.error(f'unknown kind "{kind.text()[:40]}"')
    return builder.build()


def _read_message(line: Node, builder: ImportBuilder) -> None:
    role = read_role(line.need("role"), _ROLES)
    if isinstance(role, LeftOut):
        builder.skip(role.reason)
        return
    session = builder.session(line.need("session_id").text())
    session.add(role, line.need("content").text(), read_time(line.get("said_at")), line.name("id"))


def _iso_or_none(instant: Instant | None) -> str | None:
    return None if instant is None else to_iso(instant)
