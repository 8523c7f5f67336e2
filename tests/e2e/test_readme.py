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

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh-CN.md")


def programs(readme: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / readme).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("readme", READMES)
def test_the_library_example_recalls_what_it_was_told(readme: str, tmp_path: Path) -> None:
    library, _ = programs(readme)

    done = subprocess.run(
        [sys.executable, "-c", library], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.stderr == ""
    assert "注明过敏原" in done.stdout
    assert done.stdout.startswith("<relevant-memories")


@pytest.mark.parametrize("readme", READMES)
def test_the_client_example_writes_and_recalls(readme: str, serve: Callable[..., dict[str, Any]]) -> None:
    _, client = programs(readme)
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
def test_every_page_that_is_linked_exists(readme: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / readme).read_text(encoding="utf-8"))

    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).exists()] == []
