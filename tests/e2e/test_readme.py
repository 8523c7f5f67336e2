"""What the READMEs show works as it stands there."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memstrata import AsyncMemoryClient

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh-CN.md")


def programs(readme: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / readme).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("readme", READMES)
def test_the_library_example_recalls_what_it_was_told(readme: str, tmp_path: Path) -> None:
    library, _, _ = programs(readme)

    done = subprocess.run(
        [sys.executable, "-c", library], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.stderr == ""
    assert "注明过敏原" in done.stdout
    assert done.stdout.startswith("<relevant-memories")


@pytest.mark.parametrize("readme", READMES)
def test_the_client_example_writes_and_recalls(readme: str, serve: Callable[..., dict[str, Any]]) -> None:
    _, client, _ = programs(readme)
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
    *_, run = programs(readme)
    url = serve("data")["url"]
    names: dict[str, Any] = {"prompt": "Be kind.", "messages": [{"role": "user", "content": "推荐一个菜谱"}]}
    asked: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = []

    async def model(request: list[dict[str, Any]], tools: list[dict[str, Any]]) -> str:
        asked.append((request, tools))
        return "番茄炒蛋"

    async def main() -> tuple[int, str]:
        async with AsyncMemoryClient(url, team="home", agent="assistant", user="lin", session="monday") as memory:
            names.update(memory=memory, model=model)
            exec(
                compile(
                    f"async def run():\n{textwrap.indent(run, '    ')}    return recorder, recalled", readme, "exec"
                ),
                names,
            )
            recorder, recalled = await names["run"]()
            assert await recorder.drain() == 0
            return await memory.count_messages(), recalled.reason

    assert asyncio.run(main()) == (2, "")
    ((request, tools),) = asked
    assert [message["role"] for message in request] == ["system", "user"]
    assert len(tools) == 3


@pytest.mark.parametrize("readme", READMES)
def test_every_way_to_connect_takes_at_most_ten_lines(readme: str) -> None:
    _, *ways = programs(readme)

    assert max(len([line for line in way.splitlines() if line.strip()]) for way in ways) <= 10


@pytest.mark.parametrize("readme", READMES)
def test_every_page_that_is_linked_exists(readme: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / readme).read_text(encoding="utf-8"))

    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).exists()] == []
