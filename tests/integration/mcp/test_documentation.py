"""What the pages on MCP show works as it stands there, and what they say is so."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from typer.testing import CliRunner

from memstrata.cli.commands import app
from memstrata.client import AsyncMemoryClient
from memstrata.mcp.calls import MAX_CHARACTERS
from memstrata.mcp.tools import MAX_STATEMENT, tools
from memstrata.mcp.words import mcp_words

PAGES = ("mcp.md", "mcp.zh-CN.md")


def page(name: str) -> str:
    return (Path(__file__).parents[3] / "docs" / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page(name), re.DOTALL)


@pytest.mark.parametrize("name", PAGES)
async def test_the_program_and_the_headers_of_the_page_work(
    name: str, start: Callable[..., AbstractAsyncContextManager[str]]
) -> None:
    (program,) = blocks(name, "python")
    assert program.count("\n") <= 10
    _, remote = (json.loads(one) for one in blocks(name, "json"))
    headers = remote["mcpServers"]["memstrata"]["headers"]
    body = f"async def main():\n{textwrap.indent(program, '    ')}        return found\n"
    async with start(api_key="KEY") as url:
        names: dict[str, Any] = {
            "httpx2": httpx2,
            "Client": Client,
            "streamable_http_client": streamable_http_client,
            "headers": headers,
            "url": url,
        }
        exec(compile(body, name, "exec"), names)
        first = await names["main"]()
        async with AsyncMemoryClient(url, api_key="KEY", team="acme", agent="helpdesk", user="maya") as memory:
            await memory.flush()
        second = await names["main"]()

    assert not first.is_error
    assert "walnuts" in second.content[0].text


@pytest.mark.parametrize("name", PAGES)
def test_the_command_of_the_page_has_these_flags(name: str) -> None:
    local, _ = (json.loads(one) for one in blocks(name, "json"))
    entry = local["mcpServers"]["memstrata"]
    assert entry["command"] == "memstrata"

    shown = CliRunner().invoke(app, [*entry["args"], "--help"])
    assert shown.exit_code == 0
    unknown = CliRunner().invoke(app, [*entry["args"], "--no-such-flag"])
    assert unknown.exit_code != 0


@pytest.mark.parametrize("name", PAGES)
def test_the_page_names_every_tool_and_the_right_limits(name: str) -> None:
    text = page(name).replace(",", "")
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == [one.name for one in tools(mcp_words("en"))]
    assert str(MAX_STATEMENT) in text
    assert str(MAX_CHARACTERS) in text
