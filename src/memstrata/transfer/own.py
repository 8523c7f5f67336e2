"""The first version of our own export, read: JSON lines of one scope, each naming its `kind`.

    {"memstrata_export": 1, "exported_at": "…", "scope": {"instance": "…", "team": "…", "agent": "…", "user": "…"}}
    {"kind": "message", "session_id": "…", "id": "…", "role": "user", "content": "…", "said_at": "…", …}
    {"kind": "memory" | "scene" | "persona", …}

It had been told by the API, which keeps slots, old versions and progress to itself, so an import takes the messages
alone, and the rest is distilled from them again. The version that is written today is `memstrata.transfer.archive`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memstrata.records import Role
from memstrata.transfer.builder import ImportBuilder
from memstrata.transfer.conversation import ImportFile
from memstrata.transfer.node import Node
from memstrata.transfer.roles import LeftOut, read_role
from memstrata.transfer.times import read_time

__all__ = ["EXPORT_VERSION", "read"]

EXPORT_VERSION = 1

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant"}
_DISTILLED = frozenset({"memory", "scene", "persona"})


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
