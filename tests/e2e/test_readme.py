"""What the READMEs show works as it stands there."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from memstrata import AsyncMemoryClient

from .shell import EXECUTABLE, Shell

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh-CN.md")
CAPTURE_PAGES = ("docs/turn-capture.md", "docs/turn-capture.zh-CN.md")
Serve = Callable[..., dict[str, Any]]


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def programs(readme: str) -> list[str]:
    """Return the programs that need no framework: library, client, run, memory tool. The others are run with theirs."""
    return [one for one in blocks(readme, "python") if "memstrata.integrations" not in one]


def compiled(page: str, program: str, names: dict[str, Any], returned: str) -> Any:
    """Return a program as a coroutine function that returns the value of an expression at its end."""
    body = f"async def program():\n{textwrap.indent(program, '    ')}    return {returned}\n"
    exec(compile(body, page, "exec"), names)
    return names["program"]


@dataclass
class Claude:
    """Stands in for Anthropic's client: answers with one command of the memory tool."""

    asked: list[dict[str, Any]] = field(default_factory=list)

    @property
    def beta(self) -> SimpleNamespace:
        return SimpleNamespace(messages=self)

    async def create(self, **given: Any) -> SimpleNamespace:
        self.asked.append(given)
        command = {"command": "create", "path": "/memories/Tea.md", "file_text": "Green."}
        return SimpleNamespace(content=[SimpleNamespace(type="tool_use", name="memory", id="t1", input=command)])


@pytest.mark.parametrize("readme", READMES)
def test_the_library_example_recalls_what_it_was_told(readme: str, tmp_path: Path) -> None:
    library, *_ = programs(readme)

    done = subprocess.run(
        [sys.executable, "-c", library], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.stderr == ""
    assert "注明过敏原" in done.stdout
    assert done.stdout.startswith("<relevant-memories")


@pytest.mark.parametrize("readme", READMES)
def test_the_client_example_writes_and_recalls(readme: str, serve: Callable[..., dict[str, Any]]) -> None:
    _, client, *_ = programs(readme)
    url = serve("data")["url"]
    program = client.replace("AsyncMemoryClient(team", f"AsyncMemoryClient({url!r}, team")
    assert program != client
    body = f"async def main():\n{textwrap.indent(program, '    ')}    return found, await memory.count_messages()\n"
    names: dict[str, Any] = {}
    # The last line stands inside the `async with`, so that the client is still open.
    exec(compile(body.replace("    return found", "        return found"), readme, "exec"), names)

    found, messages = asyncio.run(names["main"]())

    assert messages == 2
    assert found.degraded == ()


@pytest.mark.parametrize("readme", READMES)
def test_the_run_example_recalls_and_captures_the_turn(readme: str, serve: Callable[..., dict[str, Any]]) -> None:
    _, _, run, _ = programs(readme)
    url = serve("data")["url"]
    names: dict[str, Any] = {"prompt": "Be kind.", "messages": [{"role": "user", "content": "推荐一个菜谱"}]}
    asked: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = []

    async def model(request: list[dict[str, Any]], tools: list[dict[str, Any]]) -> str:
        asked.append((request, tools))
        return "番茄炒蛋"

    async def main() -> tuple[int, str]:
        async with AsyncMemoryClient(url, team="home", agent="assistant", user="lin", session="monday") as memory:
            names.update(memory=memory, model=model)
            recorder, recalled = await compiled(readme, run, names, "recorder, recalled")()
            assert await recorder.drain() == 0
            return await memory.count_messages(), recalled.reason

    assert asyncio.run(main()) == (2, "")
    ((request, tools),) = asked
    assert [message["role"] for message in request] == ["system", "user"]
    assert len(tools) == 3


@pytest.mark.parametrize("readme", READMES)
def test_the_memory_tool_example_carries_out_what_the_model_asks(readme: str, serve: Serve) -> None:
    *_, program = programs(readme)
    url, claude = serve("data")["url"], Claude()
    messages: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]

    async def main() -> str:
        async with AsyncMemoryClient(url, team="home", agent="assistant", user="lin") as memory:
            names = {"memory": memory, "anthropic": claude, "messages": messages, "settings": {"model": "m"}}
            await compiled(readme, program, names, "None")()
            found = await memory.read_scene("Tea.md")
            return "" if found is None else found.content

    assert "Green." in asyncio.run(main())
    assert claude.asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert messages[-1]["content"][0]["tool_use_id"] == "t1"


@pytest.mark.parametrize("page", CAPTURE_PAGES)
def test_the_page_on_turn_capture_shows_what_stores_a_turn(page: str, serve: Serve, tmp_path: Path) -> None:
    (program,) = blocks(page, "python")
    in_folder = program.replace('"turns.db"', repr(str(tmp_path / "turns.db")))
    assert in_folder != program
    url = serve("data")["url"]

    async def answer(_: object) -> str:
        return "番茄炒蛋"

    async def main() -> tuple[str, int]:
        async with AsyncMemoryClient(url, team="home", agent="assistant", user="lin") as memory:
            messages = [{"role": "user", "content": "推荐一个菜谱"}]
            names: dict[str, Any] = {"memory": memory, "messages": messages, "answer": answer}
            outcome = await compiled(page, in_folder, names, "outcome")()
            return outcome, await memory.with_scope(session="monday").count_messages()

    assert asyncio.run(main()) == ("captured", 2)
    assert (tmp_path / "turns.db").exists()


@pytest.mark.parametrize("readme", READMES)
def test_both_ways_over_mcp_remember(readme: str, memstrata: Shell, serve: Serve) -> None:
    local, remote = (json.loads(one)["mcpServers"]["memstrata"] for one in blocks(readme, "json"))
    assert local["command"] == EXECUTABLE.name
    url = serve("served")["url"]
    address = remote["url"].replace("http://127.0.0.1:8420", url)
    assert address != remote["url"]
    process = StdioServerParameters(
        command=str(EXECUTABLE), args=local["args"], env=memstrata.environment(None), cwd=memstrata.folder
    )

    async def remembered(connected: AbstractAsyncContextManager[Client]) -> bool:
        async with connected as client:
            return not (await client.call_tool("remember", {"text": "I live in Lisbon."})).is_error

    async def main() -> list[bool]:
        async with httpx2.AsyncClient(headers=remote["headers"]) as http:
            over_http = Client(streamable_http_client(address, http_client=http))
            return [await remembered(Client(process)), await remembered(over_http)]

    assert asyncio.run(main()) == [True, True]


@pytest.mark.parametrize("readme", READMES)
def test_the_commands_for_a_coding_agent_set_up_and_undo(readme: str, memstrata: Shell) -> None:
    (shown,) = (one for one in blocks(readme, "sh") if "memstrata setup" in one)
    home = {"HOME": str(memstrata.folder), "CLAUDE_CONFIG_DIR": "", "XDG_STATE_HOME": ""}
    written = memstrata.folder / ".claude" / "settings.json"

    def run(line: str) -> int:
        command, *arguments = shlex.split(line, comments=True)
        assert command == EXECUTABLE.name
        return memstrata(*arguments, env=home).code

    setup, status, undo = shown.splitlines()
    assert (run(setup), run(status)) == (0, 0)
    assert "memstrata" in written.read_text()
    assert run(undo) == 0
    assert not written.exists()


@pytest.mark.parametrize("readme", READMES)
def test_every_way_to_connect_takes_at_most_ten_lines(readme: str) -> None:
    _, *ways = programs(readme)
    ways += blocks(readme, "json") + blocks(readme, "sh")

    assert max(len([line for line in way.splitlines() if line.strip()]) for way in ways) <= 10


def test_the_list_of_examples_is_complete() -> None:
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    there = {path.name for path in (ROOT / "examples").rglob("*.*") if path.suffix != ".pyc"} - {"README.md"}

    assert set(re.findall(r"`([\w.]+\.(?:py|jsonl|json|txt))`", text)) == there


@pytest.mark.parametrize("readme", READMES)
def test_every_page_that_is_linked_exists(readme: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / readme).read_text(encoding="utf-8"))

    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).exists()] == []
