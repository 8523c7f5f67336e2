"""Cursor: MCP servers in `~/.cursor/mcp.json`. It has hooks of another form, which `memstrata hook` does not answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memstrata.setup.change import Change, Launch
from memstrata.setup.clients.client import Client, Kind
from memstrata.setup.json_text import EMPTY
from memstrata.setup.mcp_entries import put_server, take_server

__all__ = ["CURSOR"]


def _changes(environ: Mapping[str, str], home: Path, launch: Launch) -> Mapping[Kind, tuple[Change, ...]]:
    file = home / ".cursor" / "mcp.json"
    return {"mcp": (Change(file, lambda text: put_server(text, launch), take_server, EMPTY),)}


CURSOR = Client("cursor", "mcp", _changes, ("restart",))
