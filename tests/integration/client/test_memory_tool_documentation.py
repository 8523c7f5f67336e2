"""What the page and the example about the memory tool show works as it stands there."""

from __future__ import annotations

import asyncio
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memstrata.client import AsyncMemoryClient, _memory_files

ROOT = Path(__file__).parents[3]
PAGES = ("memory-tool.md", "memory-tool.zh-CN.md")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Block:
    type: str
    name: str = ""
    id: str = ""
    input: Any = None


@dataclass(frozen=True)
class Reply:
    content: list[Block]


class Claude:
    """Answers with a text and one command."""

    def __init__(self) -> None:
        self.tools: list[object] = []

    async def create(self, tools: list[object], messages: list[object]) -> Reply:
        self.tools = tools
        return Reply([Block("text"), Block("tool_use", "memory", "t1", {"command": "view", "path": "/memories"})])


@pytest.mark.parametrize("name", PAGES)
async def test_the_program_of_the_page_answers_the_model(name: str, serve: Any) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", page(name), re.DOTALL)
    assert len([line for line in program.splitlines() if line.strip()]) <= 10
    claude = Claude()
    messages: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]
    async with serve() as url, AsyncMemoryClient(url, team="home", agent="helper", user="lin") as client:
        names: dict[str, Any] = {"client": client, "claude": claude, "messages": messages}
        exec(compile(f"async def run():\n{textwrap.indent(program, '    ')}", name, "exec"), names)
        await names["run"]()

    assert claude.tools == [{"type": "memory_20250818", "name": "memory"}]
    (result,) = messages[-1]["content"]
    assert result["tool_use_id"] == "t1"
    assert result["content"].endswith("0B\t/memories")


@pytest.mark.parametrize("name", PAGES)
def test_the_page_has_the_limits_that_hold(name: str) -> None:
    for limit in (_memory_files.MAX_FILE, _memory_files.MAX_FILES, _memory_files.MAX_VIEW):
        assert f"{limit:,}" in page(name)


async def test_the_example_reads_in_one_conversation_what_it_noted_in_another(serve: Any) -> None:
    example = ROOT / "examples" / "anthropic_memory_tool.py"
    async with serve() as url:
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(example), url, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, errors = await process.communicate()

    assert errors.decode() == ""
    assert out.decode().splitlines()[-3:] == [
        "Here's the content of /memories/allergies.md with line numbers:",
        "     1\t# 过敏",
        "     2\t花生",
    ]
