"""Which server a hook speaks to, and whose memory: the flags of the command, and a key that never stands in one.

Flags are read by hand. A parser of options ends with code 2 where it does not understand one, and to Claude Code and
Codex code 2 of a hook means that the user's prompt is to be thrown away.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CLIENTS", "DEFAULT_URL", "Place", "read_place", "state_folder"]

CLIENTS = ("claude-code", "codex")
DEFAULT_URL = "http://127.0.0.1:8420"

_FLAGS = ("url", "instance", "team", "agent", "user")


@dataclass(frozen=True, slots=True)
class Place:
    """A server and a scope in it. The defaults of the scope are those of every other command."""

    client: str
    url: str = DEFAULT_URL
    instance: str = "default"
    team: str = "personal"
    agent: str = "assistant"
    user: str = "me"
    api_key: str = "local"  # a server without a key wants a bearer all the same

    @property
    def folder_name(self) -> str:
        """A name that no other server, scope or client has."""
        parts = (self.url, self.instance, self.team, self.agent, self.user)
        return f"{self.client}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]}"


def read_place(arguments: Sequence[str], environ: Mapping[str, str]) -> Place:
    """Return what `CLIENT [--url …] [--instance …] [--team …] [--agent …] [--user …]` says.

    The key comes from MEMSTRATA_API_KEY. Raises ValueError for anything else.
    """
    client, *rest = arguments or ("",)
    if client not in CLIENTS:
        raise ValueError(f"expected one of {', '.join(CLIENTS)}")
    given: dict[str, str] = {}
    while rest:
        name, is_joined, value = rest.pop(0).partition("=")
        if name.removeprefix("--") not in _FLAGS or not name.startswith("--"):
            raise ValueError(f"no such flag: {name}")
        if not is_joined:
            if not rest:
                raise ValueError(f"{name} needs a value")
            value = rest.pop(0)
        given[name.removeprefix("--")] = value
    if empty := [name for name, value in given.items() if not value.strip()]:
        raise ValueError(f"--{empty[0]} is empty")
    key = environ.get("MEMSTRATA_API_KEY", "")
    return Place(client, **given, **({"api_key": key} if key else {}))


def state_folder(environ: Mapping[str, str], system: str = os.name) -> Path:
    """Return where this user's programs keep what is neither configuration nor a cache."""
    if system == "nt" and environ.get("LOCALAPPDATA"):
        return Path(environ["LOCALAPPDATA"]) / "memstrata"
    own = environ.get("XDG_STATE_HOME", "")
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    return (Path(own) if Path(own).is_absolute() else home / ".local" / "state") / "memstrata"
