"""Claude Code: hooks in `settings.json`, MCP servers of the user in `.claude.json`.

Sources: its settings and hooks references. CLAUDE_CONFIG_DIR takes the place of `~/.claude` and holds both files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memstrata.setup.change import Change, Launch
from memstrata.setup.clients.client import Client, Kind
from memstrata.setup.hook_entries import put_hooks, take_hooks
from memstrata.setup.json_text import EMPTY
from memstrata.setup.mcp_entries import put_server, take_server
from memstrata.setup.proxy_entries import BASE_URL_SEAT, put_environment, take_environment

__all__ = ["CLAUDE_CODE"]


def _changes(environ: Mapping[str, str], home: Path, launch: Launch) -> Mapping[Kind, tuple[Change, ...]]:
    own = environ.get("CLAUDE_CONFIG_DIR")
    settings = (Path(own) if own else home / ".claude") / "settings.json"
    servers = (Path(own) if own else home) / ".claude.json"
    return {
        "hooks": (Change(settings, lambda text: put_hooks(text, "claude-code", launch), take_hooks, EMPTY),),
        # With both, memory would be recalled twice: the proxy takes the hooks' place.
        "proxy": (
            Change(
                settings,
                lambda text: put_environment(take_hooks(text), launch.proxied("claude-code"), launch.user_key),
                take_environment,
                EMPTY,
                BASE_URL_SEAT,
            ),
        ),
        "mcp": (Change(servers, lambda text: put_server(text, launch, names_type=True), take_server, EMPTY),),
    }


CLAUDE_CODE = Client("claude-code", "hooks", _changes, ("restart",), ("proxied", "restart", "tool_search"))
