"""The readable copy: what it holds, how it follows, how it heals, what a disk may do to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstrata.distill.protocol import SceneDraft, SceneRequest
from memstrata.memory import Memory, MessageInput
from memstrata.records import Scope
from memstrata.settings import MirrorSettings, Settings
from memstrata.testing import EchoDistiller, FakeClock

Open = Callable[..., AbstractAsyncContextManager[Memory]]
Eventually = Callable[..., Awaitable[None]]
DAY = "2026-01-05"  # of the fake clock
OWN_FILES = {
    "memstrata.db",
    "memstrata.db-wal",
    "memstrata.db-shm",
    "memstrata.lock",
    "memstrata.owner.json",
    "audit.head",
}


def said(text: str, **given: Any) -> list[MessageInput]:
    return [MessageInput("user", text, **given)]


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def contents(file: Path) -> list[str]:
    return [line["content"] for line in lines(file)]


def tree(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and p.name not in OWN_FILES}


async def test_every_layer_has_its_files_and_fields(open_memory: Open, scope: Scope, tmp_path: Path) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", said("我喝绿茶 🍵", message_id="a", said_at=0), task_id="t")
        await memory.flush(scope)
        (record,) = (await memory.memories(scope)).items

    assert tree(tmp_path) == {
        f"conversations/{DAY}.jsonl",
        f"records/{DAY}.jsonl",
        ".metadata/progress.jsonl",
        "profiles/home/assistant/persona.md",
        "profiles/home/assistant/scene_blocks/notes.md",
        "profiles/home/assistant/.metadata/scene_index.json",
    }
    owner = {"instanceId": "default", "teamId": "home", "agentId": "assistant", "userId": "lin"}
    (message,) = lines(tmp_path / "conversations" / f"{DAY}.jsonl")
    assert message == {
        **owner,
        "seq": 1,
        "sessionKey": "s1",
        "sessionId": "s1",
        "taskId": "t",
        "id": "a",
        "role": "user",
        "content": "我喝绿茶 🍵",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "recordedAt": "2026-01-05T09:00:00.000Z",
    }
    (atom,) = lines(tmp_path / "records" / f"{DAY}.jsonl")
    assert {name: atom[name] for name in owner} == owner
    assert (atom["id"], atom["version"], atom["content"]) == (record.memory_id, 0, "我喝绿茶 🍵")
    assert (atom["source_message_ids"], atom["sourceSeqs"], atom["supersedes"]) == (["a"], [1], [])
    assert (atom["type"], atom["priority"], atom["scene_name"], atom["origin"]) == ("episodic", 80, "notes", "model")
    (progress,) = lines(tmp_path / ".metadata" / "progress.jsonl")
    assert progress == {**owner, "sessionId": "s1", "cursor": 1, "warmup": 2, "sceneName": "notes"}

    profile = tmp_path / "profiles" / "home" / "assistant"
    assert (profile / "scene_blocks" / "notes.md").read_text(encoding="utf-8") == "- 我喝绿茶 🍵"
    assert (profile / "persona.md").read_text(encoding="utf-8") == "A person with 1 notes."
    index = json.loads((profile / ".metadata" / "scene_index.json").read_text(encoding="utf-8"))
    assert index["profile"] == {"instance": "default", "team": "home", "agent": "assistant", "user": ""}
    (scene,) = index["scenes"]
    assert (scene["filename"], scene["file"], scene["summary"], scene["heat"]) == ("notes.md", "notes.md", "1 notes", 1)
    assert scene["memory_ids"] == index["persona"]["memory_ids"] == [record.memory_id]


async def test_a_corrected_memory_is_a_line_of_its_own_that_names_what_it_replaced(
    open_memory: Open, scope: Scope, tmp_path: Path
) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", said("I drink green tea"))
        await memory.flush(scope)
        (old,) = (await memory.memories(scope)).items
        await memory.update_memory(scope, old.memory_id, "I drink oolong")

    versions = [(r["version"], r["content"], r["supersedes"]) for r in lines(tmp_path / "records" / f"{DAY}.jsonl")]
    assert versions == [(0, "I drink green tea", []), (1, "I drink oolong", [{"id": old.memory_id, "version": 0}])]


async def test_it_follows_while_the_memory_is_open(
    open_memory: Open, scope: Scope, tmp_path: Path, clock: FakeClock, eventually: Eventually
) -> None:
    file = tmp_path / "conversations" / f"{DAY}.jsonl"

    def follows(number: int) -> bool:
        clock.advance(1)
        return file.is_file() and len(lines(file)) == number

    async with open_memory(enabled=False) as memory:
        for number in (1, 2):
            await memory.add(scope, "s1", said(f"text {number}"))
            await eventually(lambda number=number: follows(number))


async def test_days_and_instances_have_files_of_their_own(
    open_memory: Open, scope: Scope, tmp_path: Path, clock: FakeClock
) -> None:
    async with open_memory(enabled=False) as memory:
        await memory.add(scope, "s1", said("monday"))
        clock.advance(86_400)
        await memory.add(scope, "s1", said("tuesday"))
        await memory.add(replace(scope, instance="Acme & Co"), "s1", said("elsewhere"))

    assert contents(tmp_path / "conversations" / f"{DAY}.jsonl") == ["monday"]
    assert contents(tmp_path / "conversations" / "2026-01-06.jsonl") == ["tuesday"]
    (folder,) = (tmp_path / "instances").iterdir()
    assert contents(folder / "conversations" / "2026-01-06.jsonl") == ["elsewhere"]


async def test_a_profile_per_user_has_a_folder_per_user(open_memory: Open, scope: Scope, tmp_path: Path) -> None:
    async with open_memory(profile_scope="agent_user") as memory:
        await memory.add(scope, "s1", said("I drink green tea"))
        await memory.flush(scope)

    assert (tmp_path / "profiles/home/assistant/users/lin/persona.md").is_file()


async def test_it_can_be_switched_off(open_memory: Open, scope: Scope, tmp_path: Path) -> None:
    async with open_memory(settings=Settings(data_dir=tmp_path, mirror=MirrorSettings(enabled=False))) as memory:
        await memory.add(scope, "s1", said("I drink green tea"))

    assert tree(tmp_path) == set()


async def test_a_torn_end_is_cut_back_before_the_file_goes_on(open_memory: Open, scope: Scope, tmp_path: Path) -> None:
    file = tmp_path / "conversations" / f"{DAY}.jsonl"
    async with open_memory(enabled=False) as memory:
        await memory.add(scope, "s1", said("first"))
    with file.open("a") as out:
        out.write('{"seq": 2, "content": "half a li')
    async with open_memory(enabled=False) as memory:
        await memory.add(scope, "s1", said("second"))

    assert contents(file) == ["first", "second"]


@pytest.mark.parametrize("kind", ["conversations", "records", "progress"])
@pytest.mark.parametrize("harm", ["shortened", "deleted"])
async def test_a_file_that_lost_lines_is_written_anew(
    open_memory: Open, scope: Scope, tmp_path: Path, kind: str, harm: str
) -> None:
    name = ".metadata/progress.jsonl" if kind == "progress" else f"{kind}/{DAY}.jsonl"
    file = tmp_path / name
    async with open_memory() as memory:
        await memory.add(scope, "s1", said("fact one"))
        await memory.add(scope, "s2", said("fact two"))
    expected = lines(file)
    if harm == "deleted":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:50])
    async with open_memory() as memory:
        await memory.add(scope, "s3", said("fact three"))

    assert len(lines(file)) == 3
    assert [line for line in lines(file) if line in expected] == expected


async def test_what_a_crash_left_unrecorded_is_written_once(open_memory: Open, scope: Scope, tmp_path: Path) -> None:
    """The files were written, the positions were not: the next start must not write the lines twice."""
    file = tmp_path / "conversations" / f"{DAY}.jsonl"
    async with open_memory(enabled=False) as memory:
        await memory.add(scope, "s1", said("first"))
        await memory.add(scope, "s1", said("second"))
    whole = file.read_bytes()
    async with open_memory(enabled=False) as memory:
        name = str(file.relative_to(tmp_path))
        await memory._store.write(lambda r: r.mirror.keep_position("messages", 0))
        await memory._store.write(lambda r: r.mirror.keep_file(name, 0))

    assert file.read_bytes() == whole


async def test_what_is_deleted_disappears_from_the_files(open_memory: Open, scope: Scope, tmp_path: Path) -> None:
    """Invariant 10: a deletion reaches the mirror."""
    async with open_memory() as memory:
        await memory.add(scope, "s1", said("the code is 4711", message_id="secret"))
        await memory.add(scope, "s2", said("I drink green tea"))
        await memory.flush(scope)
        (secret,) = [m for m in (await memory.memories(scope)).items if "4711" in m.content]
        await memory.update_memory(scope, secret.memory_id, "the code was 4711")
        await memory.flush(scope)
    assert sum("4711" in (tmp_path / name).read_text() for name in tree(tmp_path)) >= 3

    async with open_memory() as memory:
        await memory.delete_messages(scope, message_ids=["secret"])
        await memory.flush(scope)

    assert [name for name in tree(tmp_path) if "4711" in (tmp_path / name).read_text()] == []
    assert contents(tmp_path / "conversations" / f"{DAY}.jsonl") == ["I drink green tea"]
    assert (tmp_path / "profiles/home/assistant/scene_blocks/notes.md").read_text() == "- I drink green tea"


async def test_the_last_line_of_a_day_takes_the_file_along(open_memory: Open, scope: Scope, tmp_path: Path) -> None:
    async with open_memory(enabled=False) as memory:
        await memory.add(scope, "s1", said("only this"))
    async with open_memory(enabled=False) as memory:
        await memory.delete_messages(scope, session_ids=["s1"])

    assert tree(tmp_path) == set()


async def test_a_removed_scene_and_an_emptied_profile_leave_no_files(
    open_memory: Open, scope: Scope, tmp_path: Path
) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", said("I drink green tea"))
        await memory.flush(scope)
    async with open_memory() as memory:
        await memory.remove_scene(scope, "notes.md")
    assert not (tmp_path / "profiles/home/assistant/scene_blocks/notes.md").exists()

    async with open_memory() as memory:
        await memory.clear("default", ["chat_memory-home-assistant"])
    assert not (tmp_path / "profiles/home/assistant/persona.md").exists()
    index = json.loads((tmp_path / "profiles/home/assistant/.metadata/scene_index.json").read_text())
    assert (index["scenes"], index["persona"]) == ([], None)


HOSTILE = [
    "../../x",
    "a/b",
    ".",
    "..",
    "x" * 300,
    "漢" * 300,
    "Twin",
    "twin",
    "TWIN",
    "a\x00b",
    "🙂",
    "con:",
    "trailing. ",
    "~",
    "a%2fb",
    "\\\\server\\share",
]


async def test_hostile_ids_stay_inside_the_folder_and_apart(open_memory: Open, scope: Scope, tmp_path: Path) -> None:
    data = tmp_path / "inner" / "data"
    async with open_memory(settings=Settings(data_dir=data)) as memory:
        for number, name in enumerate(HOSTILE):
            who = Scope(name, name, name, name)
            await memory.add(who, name, said(f"fact number {number}"))
            await memory.flush(who)
        assert (await memory.health()).components["mirror"].state == "ok"

    assert [path.name for path in tmp_path.iterdir()] == ["inner"]
    assert [path.name for path in (tmp_path / "inner").iterdir()] == ["data"]
    instances = data / "instances"
    folders = [path.name for path in instances.iterdir()]
    assert len({name.casefold() for name in folders}) == len(HOSTILE)
    personas = sorted(str(path.relative_to(instances)) for path in instances.rglob("persona.md"))
    assert len(personas) == len(HOSTILE)
    assert all(len(path.split("/")) == 5 for path in personas)  # instance/profiles/team/agent/persona.md


async def test_a_scene_with_a_long_name_does_not_stop_the_mirror(
    open_memory: Open, scope: Scope, tmp_path: Path
) -> None:
    names = ["漢" * 100 + ".md", "x" * 300 + ".md", "folder/inside/" + "y" * 300 + ".md", "..md", "...md"]
    async with open_memory(distiller=Naming(*names)) as memory:
        await memory.add(scope, "s1", said("I drink green tea"))
        await memory.flush(scope)
        assert len(await memory.scenes(scope)) == len(names)
    async with open_memory() as memory:
        assert (await memory.health()).components["mirror"].state == "ok"

    blocks = tmp_path / "profiles/home/assistant/scene_blocks"
    files = {path.name for path in blocks.iterdir()}
    assert len(files) == len(names)
    index = json.loads((blocks.parent / ".metadata/scene_index.json").read_text(encoding="utf-8"))
    assert {entry["file"] for entry in index["scenes"]} == files
    assert {entry["filename"] for entry in index["scenes"]} == set(names)


async def test_a_disk_that_fails_shows_in_health_and_is_caught_up_with(
    open_memory: Open, scope: Scope, tmp_path: Path, clock: FakeClock, eventually: Eventually
) -> None:
    """Invariant 11; and no message waits for the mirror."""
    folder = tmp_path / "conversations"
    folder.write_text("a file in the way")
    async with open_memory(enabled=False) as memory:

        async def state_is(state: str) -> bool:
            clock.advance(1)
            return (await memory.health()).components["mirror"].state == state

        await memory.add(scope, "s1", said("first"))
        await eventually(lambda: state_is("reduced"))
        health = await memory.health()
        assert "behind" in health.components["mirror"].reason
        assert health.status == "ok"
        await memory.add(scope, "s1", said("second"))
        assert await memory.count_messages(scope) == 2

        await asyncio.to_thread(folder.unlink)
        await eventually(lambda: state_is("ok"))
        assert contents(folder / f"{DAY}.jsonl") == ["first", "second"]


class Naming(EchoDistiller):
    """Gives the scenes the names that a test wants."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self._names = names

    async def consolidate(self, request: SceneRequest) -> Any:
        draft = await super().consolidate(request)
        assert isinstance(draft, SceneDraft)
        return replace(draft, writes=tuple(replace(draft.writes[0], path=name) for name in self._names))
