"""`memstrata mcp` as a client starts it: a real process, spoken to over its standard input and output by the SDK's client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters

from .shell import EXECUTABLE, Shell

Serve = Callable[..., dict[str, Any]]


@asynccontextmanager
async def started(shell: Shell, *arguments: str) -> AsyncIterator[Client]:
    process = StdioServerParameters(
        command=str(EXECUTABLE), args=["mcp", *arguments], env=shell.environment(None), cwd=shell.folder
    )
    async with Client(process) as client:
        yield client


async def said(client: Client, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert not result.is_error, content.text
    return content.text


async def found(client: Client, query: str) -> str:
    """What is found, once the process has distilled what it was told."""
    async with asyncio.timeout(60):
        while "Lisbon" not in (answer := await said(client, "memory_search", query=query)):
            await asyncio.sleep(0.05)
    return answer


async def test_a_data_folder_that_nobody_has_is_opened_and_keeps_what_was_remembered(memstrata: Shell) -> None:
    async with started(memstrata, "--data-dir", "data") as client:
        assert client.server_info is not None
        assert client.server_info.name == "memstrata"
        await said(client, "remember", text="I live in Lisbon.")
        await found(client, "where do I live, Lisbon")

    async with started(memstrata, "--data-dir", "data", "--language", "zh") as client:
        assert "Lisbon" in await said(client, "memory_search", query="live Lisbon")
        assert "已经保存过" in await said(client, "remember", text="I live in Lisbon.")


async def test_a_folder_that_a_server_has_is_reached_through_the_server(memstrata: Shell, serve: Serve) -> None:
    server = serve("data")
    async with started(memstrata, "--data-dir", "data") as client, started(memstrata, "--url", server["url"]) as other:
        await said(client, "remember", text="I live in Lisbon.")
        assert "Lisbon" in await found(other, "live Lisbon")


async def test_a_server_that_does_not_answer_is_a_tool_error_and_no_dead_process(memstrata: Shell) -> None:
    async with started(memstrata, "--url", "http://127.0.0.1:9") as client:
        result = await client.call_tool("memory_search", {"query": "x"})
        assert result.is_error
        assert len((await client.list_tools()).tools) == 6


async def test_a_wrong_key_is_a_tool_error(memstrata: Shell, serve: Serve) -> None:
    server = serve("data", env={"MEMSTRATA_API_KEY": "sesame"})
    async with started(memstrata, "--url", server["url"], "--key", "wrong") as client:
        result = await client.call_tool("memory_search", {"query": "x"})
        (content,) = result.content
        assert isinstance(content, types.TextContent)
        assert result.is_error
        assert "key" in content.text


def test_the_command_says_what_is_wrong_in_one_line(memstrata: Shell) -> None:
    done = memstrata("mcp", "--url", "not a url")
    assert done.code == 2
    assert done.out == ""
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_tools_are_described_in_the_language_asked_for(memstrata: Shell, language: str, tmp_path: Path) -> None:
    async with started(memstrata, "--data-dir", str(tmp_path / language), "--language", language) as client:
        shown = {one.name: one.description or "" for one in (await client.list_tools()).tools}
        assert shown["forget"].isascii() is (language == "en")
