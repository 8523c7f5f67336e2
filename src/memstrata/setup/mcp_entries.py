"""Our MCP server in the JSON that most clients share: `mcpServers`, by name, with a command and its arguments."""

from __future__ import annotations

from memstrata.setup.change import Launch
from memstrata.setup.json_text import Value, with_member, without_member

__all__ = ["SERVER_NAME", "put_server", "take_server"]

SERVER_NAME = "memstrata"


def put_server(text: str, launch: Launch, *, names_type: bool = False) -> str:
    """Return the text with our server; `names_type` where the client wants to be told that it speaks over stdio."""
    server: dict[str, Value] = {"type": "stdio"} if names_type else {}
    server |= {"command": launch.program[0], "args": launch.arguments("mcp")}
    return with_member(text, ("mcpServers", SERVER_NAME), server)


def take_server(text: str) -> str:
    """Return the text without our server."""
    return without_member(text, ("mcpServers", SERVER_NAME))
