"""`memstrata mcp`: its flags. What it does is in `mcp_serving`, loaded when called."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from memstrata.cli.options import Agent, Config, DataDir, Instance, Team, Url, User
from memstrata.cli.words import say

__all__ = ["mcp"]

Key = Annotated[str | None, typer.Option("--api-key", "--key", help=say("help.option.api_key"), show_default=False)]
Language = Annotated[
    Literal["en", "zh"] | None, typer.Option("--language", help=say("help.option.mcp_language"), show_default=False)
]


def mcp(
    instance: Instance = "default",
    team: Team = "personal",
    agent: Agent = "assistant",
    user: User = "me",
    url: Url = None,
    api_key: Key = None,
    language: Language = None,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Serve one scope to one client until it closes its end."""
    from memstrata.cli.mcp_serving import serve_mcp
    from memstrata.cli.place import Place

    serve_mcp(Place(data_dir, config, url, api_key, instance, team, agent, user), language)
