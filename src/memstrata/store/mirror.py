"""The readable copy of the database: files that a person can open, search and keep, and a lost database can be rebuilt from.

It follows the rows after commit, never before, and never holds a write up. How far it is stands in the database: after
a crash a file that is longer than recorded is cut back and continued, one that is shorter or missing is written anew.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from memstrata.clock import Clock, day_of, from_iso, milliseconds
from memstrata.errors import MemstrataError
from memstrata.records import ComponentHealth
from memstrata.store import layout
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import MirroredProfile, StaleFile

__all__ = ["Mirror"]

_LOG = logging.getLogger(__name__)
_ROWS_A_PASS = 2_000
_JSONL = msgspec.json.Encoder()


class Mirror:
    """Copies new rows to files while it runs; `catch_up` copies all that is there."""

    def __init__(self, store: Store, folder: Path, clock: Clock, interval_seconds: float) -> None:
        self._store = store
        self._folder = folder
        self._clock = clock
        self._interval = milliseconds(interval_seconds)
        self._stop = asyncio.Event()
        self._writing = asyncio.Lock()  # two passes at a time would write over each other
        self._failure = ""
        self._failures = 0
        self._lines = 0

    def health(self) -> ComponentHealth:
        counts = {"lines": self._lines, "failures": self._failures}
        return (
            ComponentHealth("reduced", self._failure, counts)
            if self._failure
            else ComponentHealth("ok", details=counts)
        )

    async def run(self) -> None:
        """Copy until stopped. A failure is logged, counted, shown in health, and tried again."""
        while not self._stop.is_set():
            await self._clock.wait(self._stop, self._clock.now() + self._interval)
            if not self._stop.is_set():
                await self.catch_up()

    def stop(self) -> None:
        self._stop.set()

    async def catch_up(self) -> None:
        """Copy until nothing is left, or a pass fails."""
        await self._copy(_next_portion)

    async def clean(self) -> bool:
        """Write anew the files whose rows were deleted, and copy nothing new; return whether all of them are done."""
        return await self._copy(_stale_portion)

    async def _copy(self, portion_of: Callable[[Repositories], _Portion]) -> bool:
        try:
            while await self._pass(portion_of):
                pass
        except (MemstrataError, OSError) as error:
            self._failures += 1
            self._failure = f"the readable mirror is behind: {error}"
            _LOG.warning("%s", self._failure)
            return False
        self._failure = ""
        return True

    async def _pass(self, portion_of: Callable[[Repositories], _Portion]) -> bool:
        """Copy one portion; return whether there may be more."""
        async with self._writing:
            portion = await self._store.read(portion_of)
            if portion.is_empty:
                return False
            written = await asyncio.to_thread(self._write_files, portion)
            await self._store.write(lambda r: _record(r, portion, written))
        self._lines += sum(len(lines) for lines in portion.appended.values())
        return True

    def _write_files(self, portion: _Portion) -> dict[str, int | None]:
        """Write the portion; return each file's size, None for one that must be written anew."""
        sizes: dict[str, int | None] = {}
        for path, lines in portion.appended.items():
            sizes[path] = _append(self._folder / path, lines, portion.sizes[path])
        for path, lines in portion.rewritten.items():
            sizes[path] = _replace(self._folder / path, _jsonl(lines)) if lines else _remove(self._folder / path)
        for path in portion.folders:
            _remove_folder(self._folder / path)
        for profile in portion.profiles:
            _write_profile(self._folder, profile)
        return sizes


class _Portion:
    """What one pass copies."""

    def __init__(self) -> None:
        self.appended: dict[str, list[dict[str, Any]]] = {}
        self.rewritten: dict[str, list[dict[str, Any]]] = {}
        self.sizes: dict[str, int] = {}
        self.days: dict[str, StaleFile] = {}
        self.folders: list[str] = []
        self.profiles: list[MirroredProfile] = []
        self.stale: tuple[StaleFile, ...] = ()
        self.positions: dict[str, int] = {}

    @property
    def is_empty(self) -> bool:
        return not (self.positions or self.stale)

    def append(self, instance: str, kind: str, name: str, line: dict[str, Any]) -> None:
        path = _path(instance, kind, name)
        if path not in self.appended:
            self.appended[path] = []
            self.days[path] = StaleFile(kind, instance, name)
        self.appended[path].append(line)


@lru_cache(maxsize=1_024)  # asked for each line, and the lines of a pass go to few files
def _path(instance: str, kind: str, name: str) -> str:
    files = {
        "conversations": layout.conversations_file(name),
        "records": layout.records_file(name),
        "progress": layout.PROGRESS_FILE,
    }
    return str(layout.instance_folder(instance) / files[kind])


def _positions(r: Repositories) -> dict[str, int]:
    return {name: r.mirror.position(name) for name in ("messages", "memories", "runs")}


def _stale_portion(r: Repositories) -> _Portion:
    """Read what must be written anew."""
    portion, done = _Portion(), _positions(r)
    portion.stale = r.mirror.stale(50)
    for stale in portion.stale:
        match stale.kind:
            case "conversations":
                rows = r.mirror.messages_of_day(stale.instance, _start(stale.name), done["messages"])
                lines = [layout.conversation_line(*row) for row in rows]
                portion.rewritten[_path(stale.instance, stale.kind, stale.name)] = lines
            case "records":
                memories = r.mirror.memories_of_day(stale.instance, _start(stale.name), done["memories"])
                lines = [layout.record_line(memory) for memory in memories]
                portion.rewritten[_path(stale.instance, stale.kind, stale.name)] = lines
            case "progress":
                runs = [one for one in r.mirror.progress_after(0, done["runs"]) if one.run <= done["runs"]]
                lines = [layout.progress_line(one) for one in runs if one.scope.instance == stale.instance]
                portion.rewritten[_path(stale.instance, stale.kind, stale.name)] = lines
            case "folder":
                portion.folders.append(stale.name)
            case _:
                profile = r.mirror.profile(stale.name)
                if profile is not None:
                    portion.profiles.append(profile)
    return portion


def _next_portion(r: Repositories) -> _Portion:
    """Read what comes next: stale files first, so that deleted text does not stay readable."""
    portion, done = _stale_portion(r), _positions(r)
    if portion.stale:
        return portion
    for scope, message in r.mirror.messages_after(done["messages"], _ROWS_A_PASS):
        line = layout.conversation_line(scope, message)
        portion.append(scope.instance, "conversations", day_of(message.recorded_at), line)
        portion.positions["messages"] = message.seq
    for one in r.mirror.memories_after(done["memories"], _ROWS_A_PASS):
        portion.append(one.scope.instance, "records", day_of(one.memory.updated_at), layout.record_line(one))
        portion.positions["memories"] = one.memory.seq
    for progress in r.mirror.progress_after(done["runs"], _ROWS_A_PASS):
        portion.append(progress.scope.instance, "progress", "", layout.progress_line(progress))
        portion.positions["runs"] = progress.run
    portion.sizes = {path: r.mirror.file_bytes(path) for path in portion.appended}
    return portion


def _record(r: Repositories, portion: _Portion, sizes: Mapping[str, int | None]) -> None:
    for stale in portion.stale:
        r.mirror.clear_stale(stale)
    for name, position in portion.positions.items():
        r.mirror.keep_position(name, position)
    for path, size in sizes.items():
        if size is None:
            r.mirror.mark_stale(portion.days[path])
        else:
            r.mirror.keep_file(path, size)


def _start(day: str) -> int:
    return from_iso(f"{day}T00:00:00Z")


def _jsonl(lines: Iterable[dict[str, Any]]) -> bytes:
    return _JSONL.encode_lines(list(lines))


def _append(file: Path, lines: list[dict[str, Any]], recorded: int) -> int | None:
    """Continue a file at its recorded size and return the new one; None if it is shorter than that."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as out:
        if out.tell() < recorded:
            return None
        out.truncate(recorded)
        out.seek(recorded)
        out.write(_jsonl(lines))
        return out.tell()


def _replace(file: Path, content: bytes) -> int:
    """Swap a file's content in one step."""
    file.parent.mkdir(parents=True, exist_ok=True)
    staged = _staged(file)
    staged.write_bytes(content)
    staged.replace(file)
    return len(content)


def _staged(file: Path) -> Path:
    return file.with_name(f".{file.name}.new")


def _remove(file: Path) -> int:
    for one in (file, _staged(file)):  # a crash may have left the second
        one.unlink(missing_ok=True)
    return 0


def _remove_folder(folder: Path) -> None:
    """Remove a profile's folder, and the one above it if nothing else is in it."""
    if folder.exists():
        shutil.rmtree(folder)
    if folder.parent.is_dir() and not any(folder.parent.iterdir()):
        folder.parent.rmdir()


def _write_profile(folder: Path, mirrored: MirroredProfile) -> None:
    """Write the live documents of a profile and its index; remove scene files that are no longer live."""
    root = folder / layout.instance_folder(mirrored.profile.instance) / layout.profile_folder(mirrored.profile)
    scenes = {layout.scene_file(d.path): d for d, _ in mirrored.documents if d.kind == "scene"}
    for name, document in scenes.items():
        _replace(root / "scene_blocks" / name, _encoded(document.body))
    for old in (root / "scene_blocks").glob("*.md"):
        if old.name not in scenes:
            _remove(old)
    persona = [(d, ids) for d, ids in mirrored.documents if d.kind == "persona"]
    if persona:
        _replace(root / "persona.md", _encoded(persona[0][0].body))
    else:
        _remove(root / "persona.md")
    who = mirrored.profile
    index = {
        "profile": {"instance": who.instance, "team": who.team, "agent": who.agent, "user": who.user},
        "scenes": [layout.scene_entry(d, ids) for d, ids in mirrored.documents if d.kind == "scene"],
        "persona": layout.scene_entry(*persona[0]) if persona else None,
    }
    _replace(root / ".metadata" / "scene_index.json", _encoded(json.dumps(index, ensure_ascii=False, indent=1) + "\n"))


def _encoded(text: str) -> bytes:
    return text.encode()
