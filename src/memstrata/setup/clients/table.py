"""All clients by name."""

from __future__ import annotations

from collections.abc import Mapping

from memstrata.setup.clients.claude_code import CLAUDE_CODE
from memstrata.setup.clients.client import Client
from memstrata.setup.clients.codex import CODEX
from memstrata.setup.clients.cursor import CURSOR

__all__ = ["CLIENTS"]

CLIENTS: Mapping[str, Client] = {client.name: client for client in (CLAUDE_CODE, CODEX, CURSOR)}
