"""The MCP server: memory for any client that speaks the Model Context Protocol. Extra `mcp`; see `memstrata mcp --help`.

Six tools (`memory_search`, `conversation_search`, `read_scene`, `recall`, `remember`, `forget`) and the persona and scenes as
resources, over a client of the HTTP API. Nothing here is loaded before it is needed: the SDK takes a second.
"""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether the SDK is installed."""
    return find_spec("mcp") is not None
