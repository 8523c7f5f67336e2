"""A lost database is rebuilt from the readable mirror: rows with their own numbers, ids, times and versions.

The files are read first and completely; only then is a new database written, in one transaction. Lines that are torn or
not ours are left out and reported. Keyword terms are analysed anew; timers are set again by the start-up sweep.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from memstrata.clock import from_iso
from memstrata.errors import MemstrataError, Misconfigured
from memstrata.records import MemoryRecord, Message, Profile, ProfileScope, Scope
from memstrata.store import layout
from memstrata.store.sqlite.restore import RestoredDocument, Restorer
from memstrata.store.sqlite.store import DATABASE_NAME, SqliteStore

__all__ = ["RebuildReport", "rebuild_from_files"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """What came back, and one line for each thing that could not."""

    messages: int
    memories: int
    documents: int
    sessions: int
    problems: tuple[str, ...]


@dataclass(slots=True)
class _Found:
    messages: dict[int, tuple[Scope, Message]] = field(default_factory=dict)
    memories: dict[int, tuple[Scope, MemoryRecord, tuple[int, ...]]] = field(default_factory=dict)
    supersedes: list[tuple[int, str, int]] = field(default_factory=list)
    progress: dict[tuple[Scope, str], tuple[int, int, str]] = field(default_factory=dict)
    documents: list[tuple[Profile, RestoredDocument]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


async def rebuild_from_files(
    folder: Path, terms: Callable[[str], tuple[str, ...]], profile_scope: ProfileScope
) -> RebuildReport:
    """Write a new database in `folder` from the mirror that is there.

    Raises Misconfigured if a database is still there: move it away first, nothing is ever overwritten.
    """
    if await asyncio.to_thread((folder / DATABASE_NAME).exists):
        raise Misconfigured(f"{folder / DATABASE_NAME} exists; move it away (with its -wal file) before rebuilding")
    if not await asyncio.to_thread(folder.is_dir):
        raise Misconfigured(f"{folder} is not a folder")
    found = await asyncio.to_thread(_read, folder)
    if not (found.messages or found.memories or found.documents):
        raise Misconfigured(f"{folder} holds no readable mirror: no conversations, records or profiles")
    store = await SqliteStore.open(folder)
    try:
        sessions = await store.restore(lambda restorer: _write(restorer, found, terms, profile_scope))
    finally:
        await store.close()
    return RebuildReport(
        len(found.messages), len(found.memories), len(found.documents), sessions, tuple(found.problems)
    )


def _write(
    restorer: Restorer, found: _Found, terms: Callable[[str], tuple[str, ...]], profile_scope: ProfileScope
) -> int:
    for scope, message in _in_order(found.messages):
        restorer.message(scope, message, terms(message.content))
    for scope, memory, sources in _in_order(found.memories):
        restorer.memory(scope, scope.profile(profile_scope), memory, sources)
    for seq, memory_id, version in found.supersedes:
        restorer.superseded(memory_id, version, seq)
    restorer.index_live_memories(terms)
    for profile, document in found.documents:
        restorer.document(profile, document)
    for (scope, session_id), (cursor, warmup, scene_name) in found.progress.items():
        restorer.progress(scope, session_id, cursor, warmup, scene_name)
    return restorer.finish()


def _in_order(rows: dict[int, T]) -> list[T]:
    return [rows[seq] for seq in sorted(rows)]


def _read(folder: Path) -> _Found:
    found = _Found()
    roots = [folder, *sorted(path for path in (folder / "instances").glob("*") if path.is_dir())]
    for root in roots:
        for file in sorted((root / "conversations").glob("*.jsonl")):
            for where, line in _lines(file, found):
                _keep(found, where, _message, line)
        for file in sorted((root / "records").glob("*.jsonl")):
            for where, line in _lines(file, found):
                _keep(found, where, _memory, line)
        for where, line in _lines(root / layout.PROGRESS_FILE, found):
            _keep(found, where, _progress, line)
        for index in sorted((root / "profiles").rglob(".metadata/scene_index.json")):
            _keep(found, str(index), _profile, index)
    return found


def _lines(file: Path, found: _Found) -> Iterator[tuple[str, dict[str, Any]]]:
    if not file.is_file():
        return
    for number, text in enumerate(file.read_bytes().split(b"\n"), start=1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
        except ValueError:
            found.problems.append(f"{file} line {number}: torn or not JSON")
            continue
        if isinstance(line, dict):
            yield f"{file} line {number}", line


def _keep(found: _Found, where: str, read: Callable[[_Found, T], None], what: T) -> None:
    """Read one thing; what is not ours is reported and left out, because the rest can still be saved."""
    try:
        read(found, what)
    except (KeyError, TypeError, ValueError, AttributeError, OSError, MemstrataError) as error:
        found.problems.append(f"{where}: {type(error).__name__}: {error}")


def _message(found: _Found, line: dict[str, Any]) -> None:
    scope, message = layout.message_from_line(line)
    found.messages[message.seq] = (scope, message)


def _memory(found: _Found, line: dict[str, Any]) -> None:
    scope, memory = layout.record_from_line(line)
    found.memories[memory.seq] = (scope, memory, tuple(line["sourceSeqs"]))
    found.supersedes += [(memory.seq, old["id"], old["version"]) for old in line["supersedes"]]


def _progress(found: _Found, line: dict[str, Any]) -> None:
    scope = Scope(line["instanceId"], line["teamId"], line["agentId"], line["userId"])
    found.progress[scope, line["sessionId"]] = (int(line["cursor"]), int(line["warmup"]), str(line["sceneName"]))


def _profile(found: _Found, index: Path) -> None:
    raw = json.loads(index.read_text(encoding="utf-8"))
    who = raw["profile"]
    profile = Profile(who["instance"], who["team"], who["agent"], who["user"])
    root = index.parent.parent
    for entry in raw["scenes"]:
        body = (root / "scene_blocks" / entry["file"]).read_text(encoding="utf-8")
        found.documents.append((profile, _document("scene", entry, body)))
    if raw["persona"]:
        body = (root / "persona.md").read_text(encoding="utf-8")
        found.documents.append((profile, _document("persona", raw["persona"], body)))


def _document(kind: str, entry: dict[str, Any], body: str) -> RestoredDocument:
    return RestoredDocument(
        kind=kind,
        path=str(entry["filename"]),
        version=int(entry["version"]),
        body=body,
        summary=str(entry["summary"]),
        heat=int(entry["heat"]),
        origin=str(entry["origin"]),
        created_at=from_iso(entry["created"]),
        updated_at=from_iso(entry["updated"]),
        memory_ids=tuple(entry["memory_ids"]),
    )
