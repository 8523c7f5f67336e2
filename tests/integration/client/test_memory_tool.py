"""The memory tool of Anthropic's API over a real server: each command, its errors, and what stays of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from memstrata.client import AsyncMemoryClient, MemoryClient
from memstrata.client.memory_tool import AsyncMemoryTool, MemoryTool

HERE: dict[str, Any] = {"team": "home", "agent": "helper", "user": "lin"}


@pytest.fixture
async def memory(serve: Any) -> AsyncIterator[AsyncMemoryClient]:
    async with serve() as url, AsyncMemoryClient(url, **HERE) as client:
        yield client


@pytest.fixture
def tool(memory: AsyncMemoryClient) -> AsyncMemoryTool:
    return AsyncMemoryTool(memory)


async def created(tool: AsyncMemoryTool, path: str, text: str) -> None:
    answer = await tool.call({"command": "create", "path": path, "file_text": text})
    assert answer == f"File created successfully at: {path}"


async def content(tool: AsyncMemoryTool, path: str) -> list[str]:
    head, *lines = (await tool.call({"command": "view", "path": path})).split("\n")
    assert head == f"Here's the content of {path} with line numbers:"
    return [line.split("\t", 1)[1] for line in lines]


async def test_an_empty_memory_is_an_empty_folder(tool: AsyncMemoryTool) -> None:
    assert await tool.call({"command": "view", "path": "/memories"}) == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:"
        "\n0B\t/memories"
    )


async def test_a_created_file_is_listed_read_and_a_scene_with_a_summary(
    tool: AsyncMemoryTool, memory: AsyncMemoryClient
) -> None:
    await created(tool, "/memories/work/plan.md", "# 发布计划\n\n周五发布。\n")

    listed = await tool.call({"command": "view", "path": "/memories"})
    (scene,) = await memory.scenes()

    assert listed.split("\n")[1:] == ["32B\t/memories", "32B\t/memories/work", "32B\t/memories/work/plan.md"]
    assert await content(tool, "/memories/work/plan.md") == ["# 发布计划", "", "周五发布。"]
    assert (scene.path, scene.summary, scene.size_bytes) == ("work/plan.md", "发布计划", 32)
    assert "发布计划" in (await memory.recall("发布", include=["scenes"])).append_system_context


async def test_a_path_that_is_taken_is_not_created(tool: AsyncMemoryTool) -> None:
    await created(tool, "/memories/Notes.md", "one")

    for path in ("/memories/Notes.md", "/memories/notes.md", "/memories/Notes.md/inner.md"):
        answer = await tool.call({"command": "create", "path": path, "file_text": "two"})
        assert answer.startswith("Error: ")
        assert "exists already" in answer or answer == f"Error: File {path} already exists"
    assert await content(tool, "/memories/Notes.md") == ["one"]


@pytest.mark.parametrize("path", ["/memories", "/memories/", "/memories/a/", "/memories/.hidden", "/memories/..."])
async def test_a_path_that_names_no_file_is_not_created(path: str, tool: AsyncMemoryTool) -> None:
    answer = await tool.call({"command": "create", "path": path, "file_text": "x"})

    assert answer.startswith("Error: ")
    assert (await tool.call({"command": "view", "path": "/memories"})).endswith(":\n0B\t/memories")


async def test_files_have_a_size_and_a_number_that_they_do_not_pass(
    tool: AsyncMemoryTool, memory: AsyncMemoryClient
) -> None:
    too_long = await tool.call({"command": "create", "path": "/memories/a.md", "file_text": "字" * 8_193})
    for number in range(50):
        await memory.create_scene(f"{number}.md", "x")
    too_many = await tool.call({"command": "create", "path": "/memories/a.md", "file_text": "x"})

    assert too_long == "Error: /memories/a.md would have 8,193 characters; a file may have 8,192."
    assert too_many.startswith("Error: There are 50 files")
    assert await memory.read_scene("a.md") is None


async def test_a_file_is_edited_by_text_and_by_line_and_each_version_stays(
    tool: AsyncMemoryTool, memory: AsyncMemoryClient
) -> None:
    path = "/memories/preferences.txt"
    await created(tool, path, "Favorite color: blue\n<system>literal</system>\n")

    edited = await tool.call({"command": "str_replace", "path": path, "old_str": "blue", "new_str": "green"})
    removed = await tool.call({"command": "str_replace", "path": path, "old_str": "<system>literal</system>\n"})
    added = await tool.call({"command": "insert", "path": path, "insert_line": 1, "insert_text": "Likes tea\n"})

    assert edited.split("\n")[:2] == ["The memory file has been edited.", "     1\tFavorite color: green"]
    assert removed.startswith("The memory file has been edited.")
    assert added == f"The file {path} has been edited."
    assert await content(tool, path) == ["Favorite color: green", "Likes tea"]
    assert [one.version for one in await memory.scene_history("preferences.txt")] == [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"command": "view"}, "The path /memories/none.md does not exist. Please provide a valid path."),
        (
            {"command": "str_replace", "old_str": "a", "new_str": "b"},
            "Error: The path /memories/none.md does not exist. Please provide a valid path.",
        ),
        (
            {"command": "insert", "insert_line": 0, "insert_text": "a"},
            "Error: The path /memories/none.md does not exist",
        ),
        ({"command": "delete"}, "Error: The path /memories/none.md does not exist"),
        (
            {"command": "rename", "old_path": "/memories/none.md", "new_path": "/memories/b.md"},
            "Error: The path /memories/none.md does not exist",
        ),
    ],
)
async def test_a_file_that_is_not_there_is_told_in_the_words_of_each_command(
    arguments: dict[str, object], answer: str, tool: AsyncMemoryTool
) -> None:
    assert await tool.call({"path": "/memories/none.md", **arguments}) == answer


async def test_a_folder_is_no_file_to_edit(tool: AsyncMemoryTool) -> None:
    await created(tool, "/memories/work/plan.md", "x")

    replaced = await tool.call({"command": "str_replace", "path": "/memories/work", "old_str": "x", "new_str": "y"})
    inserted = await tool.call({"command": "insert", "path": "/memories/work", "insert_line": 0, "insert_text": "y"})
    at_root = await tool.call({"command": "insert", "path": "/memories", "insert_line": 0, "insert_text": "y"})
    ranged = await tool.call({"command": "view", "path": "/memories/work", "view_range": [1, 2]})

    assert replaced == "Error: The path /memories/work does not exist. Please provide a valid path."
    assert inserted == "Error: The path /memories/work does not exist"
    assert at_root == "Error: The path /memories does not exist"
    assert ranged.startswith("Error: The `view_range` parameter")


async def test_a_file_and_a_folder_are_deleted_and_the_root_is_not(
    tool: AsyncMemoryTool, memory: AsyncMemoryClient
) -> None:
    for path in ("/memories/a.md", "/memories/work/b.md", "/memories/work/c/d.md", "/memories/workshop.md"):
        await created(tool, path, "x")

    assert await tool.call({"command": "delete", "path": "/memories/a.md"}) == "Successfully deleted /memories/a.md"
    assert await tool.call({"command": "delete", "path": "/memories/work"}) == "Successfully deleted /memories/work"
    assert (await tool.call({"command": "delete", "path": "/memories"})).startswith("Error: ")
    assert [scene.path for scene in await memory.scenes()] == ["workshop.md"]


async def test_a_file_and_a_folder_are_renamed_with_what_they_hold(
    tool: AsyncMemoryTool, memory: AsyncMemoryClient
) -> None:
    await created(tool, "/memories/draft.txt", "text\n")
    await created(tool, "/memories/work/a.md", "A")
    await created(tool, "/memories/work/b/c.md", "C")

    file = await tool.call({"command": "rename", "old_path": "/memories/draft.txt", "new_path": "/memories/final.txt"})
    folder = await tool.call({"command": "rename", "old_path": "/memories/work", "new_path": "/memories/job"})

    assert file == "Successfully renamed /memories/draft.txt to /memories/final.txt"
    assert folder == "Successfully renamed /memories/work to /memories/job"
    assert sorted(scene.path for scene in await memory.scenes()) == ["final.txt", "job/a.md", "job/b/c.md"]
    assert await content(tool, "/memories/job/b/c.md") == ["C"]


async def test_nothing_is_renamed_onto_another_into_itself_or_from_the_root(tool: AsyncMemoryTool) -> None:
    await created(tool, "/memories/work/a.md", "A")
    await created(tool, "/memories/b.md", "B")

    taken = await tool.call({"command": "rename", "old_path": "/memories/b.md", "new_path": "/memories/work/a.md"})
    inside = await tool.call({"command": "rename", "old_path": "/memories/work", "new_path": "/memories/work/deep"})
    root = await tool.call({"command": "rename", "old_path": "/memories", "new_path": "/memories/x"})

    assert taken == "Error: The destination /memories/work/a.md already exists"
    assert inside == "Error: /memories/work cannot be moved into itself"
    assert root == "Error: The directory /memories itself cannot be renamed"
    assert await content(tool, "/memories/work/a.md") == ["A"]
    assert await content(tool, "/memories/b.md") == ["B"]


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        "view",
        [],
        {},
        {"command": "format"},
        {"command": ["view"]},
        {"command": "view"},
        {"command": "view", "path": 7},
        {"command": "create", "path": "/memories/a.md"},
        {"command": "create", "path": "/memories/a.md", "file_text": {"x": 1}},
        {"command": "create", "path": "/memories/%2e%2e/a.md", "file_text": "x"},
        {"command": "create", "path": "/memories/" + "a" * 81, "file_text": "x"},
        {"command": "insert", "path": "/memories/a.md", "insert_line": "1", "insert_text": "x"},
        {"command": "insert", "path": "/memories/a.md", "insert_line": True, "insert_text": "x"},
        {"command": "rename", "old_path": "/memories/a.md", "new_path": "/etc/passwd"},
        {"command": "delete", "path": "/memories/../.."},
    ],
)
async def test_hostile_arguments_are_answered_and_change_nothing(
    arguments: object, tool: AsyncMemoryTool, memory: AsyncMemoryClient
) -> None:
    answer = await tool.result({"id": "toolu_1", "input": arguments})

    assert (answer["tool_use_id"], answer["is_error"]) == ("toolu_1", True)
    assert answer["content"].startswith("Error: ")
    assert len(answer["content"]) < 1_000
    assert await memory.scenes() == ()


async def test_another_scope_sees_none_of_it(tool: AsyncMemoryTool, memory: AsyncMemoryClient) -> None:
    await created(tool, "/memories/mine.md", "x")

    other = AsyncMemoryTool(memory.with_scope(team="elsewhere"))

    assert (await other.call({"command": "view", "path": "/memories"})).endswith(":\n0B\t/memories")
    assert "does not exist" in await other.call({"command": "view", "path": "/memories/mine.md"})


async def test_a_server_that_is_gone_is_told_without_an_exception(serve: Any) -> None:
    async with serve() as url:
        pass
    async with AsyncMemoryClient(url, **HERE) as client:
        answer = await AsyncMemoryTool(client).result({"id": "t", "input": {"command": "view", "path": "/memories"}})

    assert answer == {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": "Error: memory cannot be reached just now",
        "is_error": True,
    }


@dataclass(frozen=True)
class Block:
    """A tool use as the SDK has it."""

    id: str
    input: dict[str, object]


async def test_the_blocking_twin_does_the_same(serve: Any) -> None:
    def run(url: str) -> list[dict[str, Any]]:
        with MemoryClient(url, **HERE) as client:
            tool = MemoryTool(client)
            assert tool.definition == {"type": "memory_20250818", "name": "memory"}
            assert tool.call({"command": "view", "path": "nowhere"}).startswith("Error: ")
            uses: list[dict[str, object]] = [
                {"command": "create", "path": "/memories/a.md", "file_text": "one\n"},
                {"command": "insert", "path": "/memories/a.md", "insert_line": 1, "insert_text": "two"},
                {"command": "view", "path": "/memories/a.md"},
                {"command": "delete", "path": "/memories/b.md"},
            ]
            return [tool.result(Block(f"t{number}", use)) for number, use in enumerate(uses)]

    async with serve() as url:
        results = await asyncio.to_thread(run, url)

    assert [result["content"] for result in results] == [
        "File created successfully at: /memories/a.md",
        "The file /memories/a.md has been edited.",
        "Here's the content of /memories/a.md with line numbers:\n     1\tone\n     2\ttwo",
        "Error: The path /memories/b.md does not exist",
    ]
    assert ["is_error" in result for result in results] == [False, False, False, True]
