"""A backup is taken while the memory is in use, and what is restored from it is what was there."""

from __future__ import annotations

import asyncio
import gzip
import io
import tarfile
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import apsw
import msgspec
import pytest

from memstrata.clock import SystemClock
from memstrata.errors import Conflict, InvalidRequest, Misconfigured, NotFound
from memstrata.memory import Memory, MessageInput, Scope
from memstrata.settings import PipelineSettings, Settings
from memstrata.store.sqlite.backup import BackupManifest, back_up, read_manifest, restore
from memstrata.store.sqlite.store import DATABASE_NAME
from memstrata.testing import FakeClock, HashEmbedder

OpenMemory = Callable[..., AbstractAsyncContextManager[Memory]]
CLOCK = SystemClock()


async def filled(open_memory: OpenMemory, scope: Scope, target: Path, folder: Path) -> BackupManifest:
    async with open_memory() as memory:
        await memory.add(scope, "s", [MessageInput("user", "I live in Lisbon")])
    return back_up(folder, target, CLOCK)


async def test_what_was_acknowledged_before_a_backup_is_in_it_while_writes_go_on(
    open_memory: OpenMemory, tmp_path: Path, scope: Scope, clock: FakeClock
) -> None:
    target, copy = tmp_path / "copy.backup", tmp_path / "restored"
    async with open_memory(embedder=HashEmbedder()) as memory:
        for number in range(40):
            await memory.add(scope, "before", [MessageInput("user", f"fact {number} 花生")])
        await memory.flush(scope)
        await memory.vectors_settled()
        clock.advance(1)
        before = await memory.messages(scope, session_id="before", limit=100)
        memories = await memory.memories(scope, limit=100)
        history = await memory.history(scope, memories.items[0].memory_id)
        enough = threading.Event()

        async def write_on() -> int:
            written = 0
            while not enough.is_set():
                await memory.add(scope, "during", [MessageInput("user", f"later {written}")])
                written += 1
            return written

        writing = asyncio.create_task(write_on())
        while not await memory.count_messages(scope, session_id="during"):
            await asyncio.sleep(0)
        try:
            manifest = await asyncio.to_thread(back_up, tmp_path, target, CLOCK)
        finally:
            enough.set()
        written = await writing
    assert read_manifest(target) == manifest
    assert 40 < manifest.messages <= 40 + written
    assert restore(target, copy, force=False, moved_aside=tmp_path / "aside") == manifest
    own = Settings(data_dir=copy, pipeline=PipelineSettings(enabled=False))
    async with open_memory(settings=own) as restored:
        assert await restored.messages(scope, session_id="before", limit=100) == before
        assert await restored.memories(scope, limit=100) == memories
        assert await restored.history(scope, memories.items[0].memory_id) == history
        assert (await restored.search_messages(scope, "fact 7")).hits
        assert await restored.count_messages(scope) == manifest.messages
    assert list((copy / "conversations").iterdir()), "the readable files are written anew"


async def test_vectors_are_not_in_a_backup(open_memory: OpenMemory, tmp_path: Path, scope: Scope) -> None:
    async with open_memory(embedder=HashEmbedder()) as memory:
        await memory.add(scope, "s", [MessageInput("user", "I live in Lisbon")])
        await memory.vectors_settled()
        back_up(tmp_path, tmp_path / "copy.backup", CLOCK)
    restore(tmp_path / "copy.backup", tmp_path / "restored", force=False, moved_aside=tmp_path / "aside")
    for folder, number in ((tmp_path, 1), (tmp_path / "restored", 0)):
        database = apsw.Connection(str(folder / DATABASE_NAME))
        assert database.execute("SELECT count(*) FROM message_vectors").fetchall() == [(number,)]
        database.close()


async def test_a_folder_that_holds_anything_is_refused_or_moved_aside(
    open_memory: OpenMemory, tmp_path: Path, scope: Scope
) -> None:
    home, target = tmp_path / "home", tmp_path / "copy.backup"
    async with open_memory(settings=Settings(data_dir=home)) as memory:
        await memory.add(scope, "s", [MessageInput("user", "I live in Lisbon")])
        back_up(home, target, CLOCK)
        with pytest.raises(Misconfigured, match="in use"):
            restore(target, home, force=True, moved_aside=tmp_path / "aside")
        await memory.add(scope, "s", [MessageInput("user", "later")])
    with pytest.raises(Conflict, match="not empty"):
        restore(target, home, force=False, moved_aside=tmp_path / "aside")
    with pytest.raises(Conflict, match="never overwritten"):
        back_up(home, target, CLOCK)
    restore(target, home, force=True, moved_aside=tmp_path / "aside")
    async with open_memory(settings=Settings(data_dir=home)) as memory:
        assert await memory.count_messages(scope) == 1
    assert (tmp_path / "aside" / DATABASE_NAME).exists()


def packed(manifest: bytes, database: bytes, name: str = DATABASE_NAME) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for member, data in (("manifest.json", manifest), (name, database)):
            info = tarfile.TarInfo(member)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


async def test_what_is_not_the_whole_backup_leaves_the_folder_empty(
    open_memory: OpenMemory, tmp_path: Path, scope: Scope
) -> None:
    target, copy = tmp_path / "copy.backup", tmp_path / "restored"
    manifest = await filled(open_memory, scope, target, tmp_path)
    data = target.read_bytes()
    database = gzip.decompress(data)
    start = database.index(b"SQLite format 3\0")
    whole = database[start : start + manifest.bytes]
    told = msgspec.json.encode(manifest)
    flipped = whole[:5_000] + bytes([whole[5_000] ^ 1]) + whole[5_001:]
    bad = {
        "cut": data[: len(data) // 2],
        "no gzip": b"hello",
        "empty": b"",
        "another database": packed(told, flipped),
        "no manifest": packed(b"{}", whole),
        "another name": packed(told, whole, "../../memstrata.db"),
        "a newer format": packed(told.replace(b'"memstrata_backup":1', b'"memstrata_backup":2'), whole),
        "larger than it says": packed(told, whole + b"x"),
    }
    for name, content in bad.items():
        target.write_bytes(content)
        with pytest.raises(InvalidRequest):
            restore(target, copy, force=False, moved_aside=tmp_path / "aside")
        assert not [path for path in copy.iterdir() if path.name != "memstrata.lock"], name
    newer = told.replace(f'"schema":{manifest.schema}'.encode(), b'"schema":999')
    target.write_bytes(packed(newer, whole))
    with pytest.raises(Misconfigured, match="newer Memstrata"):
        restore(target, copy, force=False, moved_aside=tmp_path / "aside")
    target.write_bytes(packed(told, whole))
    assert restore(target, copy, force=False, moved_aside=tmp_path / "aside") == manifest


def test_without_a_database_there_is_nothing_to_back_up(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        back_up(tmp_path, tmp_path / "copy.backup", CLOCK)
