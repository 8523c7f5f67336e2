"""MCP over standard input and output: one client, one scope, for the life of the process."""

from __future__ import annotations

from mcp.server.stdio import stdio_server

from memstrata.mcp.calls import Caller
from memstrata.mcp.server import mcp_server
from memstrata.mcp.words import ToolLanguage, mcp_words

__all__ = ["serve_stdio"]


async def serve_stdio(caller: Caller, language: ToolLanguage, version: str) -> None:
    """Serve until the client closes its end. Standard output carries the protocol and nothing else."""
    server = mcp_server(lambda _: caller, mcp_words(language), version)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
