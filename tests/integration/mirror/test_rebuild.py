"""A lost database comes back from the readable mirror, with its own ids, times, versions and progress."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from memstrata.errors import Misconfigured
from memstrata.memory import Memory, MessageInput, rebuild
from memstrata.records import Document, Scope
from memstrata.settings import Settings
from memstrata.store.sqlite.store import DATABASE_NAME
from memstrata.testing import EchoDistiller

Open = Callable[..., AbstractAsyncContextManager[Memory]]

HERE = Scope("default", "Home", "assistant", "lin")
ELSEWHERE = Scope("../../x", "a|b", "assistant", "琳")


async def tell(memory: Memory, scope: Scope) -> None:
    """Two sessions in all layers, one memory corrected by hand, one message not yet distilled."""
    for number in range(6):
        said = [MessageInput("user", f"用户事实 {number} city{number}", number), MessageInput("assistant", "ok")]
        await memory.add(scope, f"s{number % 2}", said, task_id="t")
    await memory.flush(scope)
    first = (await memory.memories(scope)).items[0]
    await memory.update_memory(scope, first.memory_id, "corrected by hand")
    await memory.flush(scope)


def text_of(document: Document | None) -> tuple[object, ...] | None:
    """A document without its row's number, which only cursors of the lost database knew."""
    if document is None:
        return None
    d = document
    return (d.path, d.version, d.body, d.summary, d.heat, d.origin, d.created_at, d.updated_at)


async def everything(memory: Memory, scope: Scope) -> dict[str, Any]:
    memories = await memory.memories(scope, limit=100)
    traces = [await memory.trace(scope, one.memory_id) for one in memories.items]
    return {
        "messages": await memory.messages(scope, limit=100),
        "memories": memories,
        "evidence": [(t.messages, t.replaced, [text_of(s) for s in t.scenes], text_of(t.persona)) for t in traces],
        "scenes": [text_of(scene) for scene in await memory.scenes(scope)],
        "persona": text_of(await memory.persona(scope)),
        "found": (await memory.search(scope, "city3")).hits,
        "pending": {kind: layer.pending for kind, layer in (await memory.status(scope)).layers.items()},
    }


def lose_the_database(folder: Path) -> None:
    for file in folder.glob(f"{DATABASE_NAME}*"):
        file.unlink()


async def test_every_answer_is_as_before_and_nothing_is_distilled_again(open_memory: Open, tmp_path: Path) -> None:
    async with open_memory() as memory:
        for scope in (HERE, ELSEWHERE):
            await tell(memory, scope)
        before = [await everything(memory, scope) for scope in (HERE, ELSEWHERE)]
    lose_the_database(tmp_path)

    report = await rebuild(Settings(data_dir=tmp_path))

    assert (report.messages, report.memories, report.documents, report.sessions) == (24, 14, 4, 4)
    assert report.problems == ()
    fresh = EchoDistiller()
    async with open_memory(distiller=fresh) as memory:
        assert [await everything(memory, scope) for scope in (HERE, ELSEWHERE)] == before
        await memory.flush(HERE)
        assert fresh.seen == []
        await memory.add(HERE, "s0", [MessageInput("user", "said after the rebuild")])
        await memory.flush(HERE)
        assert fresh.seen == ["said after the rebuild"]
        assert await memory.count_messages(HERE) == 13


async def test_the_mirror_goes_on_after_a_rebuild_without_doubling_a_line(open_memory: Open, tmp_path: Path) -> None:
    async with open_memory() as memory:
        await tell(memory, HERE)
    (file,) = (tmp_path / "conversations").glob("*.jsonl")
    before = file.read_bytes()
    lose_the_database(tmp_path)
    await rebuild(Settings(data_dir=tmp_path))

    async with open_memory():
        pass

    assert file.read_bytes() == before


async def test_torn_and_foreign_lines_are_left_out_and_reported(open_memory: Open, tmp_path: Path) -> None:
    async with open_memory() as memory:
        await tell(memory, HERE)
    (file,) = (tmp_path / "conversations").glob("*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]) + lines[-1][:40] + b"\n" + b'{"not": "ours"}\n')
    lose_the_database(tmp_path)

    report = await rebuild(Settings(data_dir=tmp_path))

    assert report.messages == len(lines) - 1
    assert [problem.split(": ", 1)[1] for problem in report.problems] == ["torn or not JSON", "KeyError: 'instanceId'"]
    assert all(file.name in problem for problem in report.problems)


async def test_a_database_that_is_still_there_is_never_overwritten(open_memory: Open, tmp_path: Path) -> None:
    async with open_memory() as memory:
        await tell(memory, HERE)
    before = (tmp_path / DATABASE_NAME).read_bytes()

    with pytest.raises(Misconfigured, match="move it away"):
        await rebuild(Settings(data_dir=tmp_path))

    assert (tmp_path / DATABASE_NAME).read_bytes() == before


async def test_a_folder_without_a_mirror_is_refused_and_left_empty(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="no readable mirror"):
        await rebuild(Settings(data_dir=tmp_path))

    assert list(tmp_path.iterdir()) == []
