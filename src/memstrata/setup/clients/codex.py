"""Codex: hooks in `hooks.json`, MCP servers in `config.toml`, both in CODEX_HOME or `~/.codex`.

Sources: its hooks and configuration pages; `codex-rs/hooks`. Its `notify` command is deprecated in favour of hooks and
can neither add context nor see a prompt. Codex runs a command hook only after its user has trusted it, which is the
user's decision and is left to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memstrata.setup.change import Change, Launch
from memstrata.setup.clients.client import Client, Kind
from memstrata.setup.hook_entries import put_hooks, take_hooks
from memstrata.setup.json_text import EMPTY
from memstrata.setup.mcp_entries import SERVER_NAME
from memstrata.setup.proxy_entries import PROVIDER_SEAT, put_codex, take_codex
from memstrata.setup.toml_text import with_table, without_table

__all__ = ["CODEX"]

_TABLE = ("mcp_servers", SERVER_NAME)


def _changes(environ: Mapping[str, str], home: Path, launch: Launch) -> Mapping[Kind, tuple[Change, ...]]:
    own = environ.get("CODEX_HOME")
    folder = Path(own) if own else home / ".codex"
    server = {"command": launch.program[0], "args": launch.arguments("mcp")}
    config = folder / "config.toml"
    return {
        # With both, memory would be recalled twice: the proxy takes the hooks' place.
        "proxy": (
            Change(folder / "hooks.json", take_hooks, lambda text: text, EMPTY),
            Change(
                config,
                lambda text: put_codex(text, launch.proxied("codex") + "/v1", launch.user_key),
                take_codex,
                seat=PROVIDER_SEAT,
            ),
        ),
        "hooks": (Change(folder / "hooks.json", lambda text: put_hooks(text, "codex", launch), take_hooks, EMPTY),),
        "mcp": (
            Change(
                config,
                lambda text: with_table(text, _TABLE, server),
                lambda text: without_table(text, _TABLE),
            ),
        ),
    }


CODEX = Client("codex", "hooks", _changes, ("trust", "restart"), ("proxied", "restart", "login"))
