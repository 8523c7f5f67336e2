"""The flags that commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from memstrata.cli.logs import LogFormat
from memstrata.cli.words import say

__all__ = [
    "Agent",
    "ApiKey",
    "Config",
    "DataDir",
    "DemoDir",
    "Host",
    "Instance",
    "Json",
    "Layer",
    "LayerFlag",
    "Limit",
    "LogFormatFlag",
    "Neighbours",
    "NoColor",
    "Port",
    "Quiet",
    "Team",
    "Url",
    "User",
]

Layer = Literal["memories", "messages"]

Json = Annotated[bool, typer.Option("--json", help=say("help.option.json"))]
NoColor = Annotated[bool, typer.Option("--no-color", help=say("help.option.no_color"))]

DataDir = Annotated[Path | None, typer.Option("--data-dir", help=say("help.option.data_dir"), show_default=False)]
DemoDir = Annotated[Path, typer.Option("--data-dir", help=say("help.option.demo_dir"))]
Config = Annotated[Path | None, typer.Option("--config", help=say("help.option.config"), show_default=False)]

Host = Annotated[str | None, typer.Option("--host", help=say("help.option.host"), show_default=False)]
Port = Annotated[int | None, typer.Option("--port", help=say("help.option.port"), show_default=False)]
Quiet = Annotated[bool, typer.Option("--quiet", help=say("help.option.quiet"))]
LogFormatFlag = Annotated[LogFormat, typer.Option("--log-format", help=say("help.option.log_format"))]

Url = Annotated[str | None, typer.Option("--url", help=say("help.option.url"), show_default=False)]
ApiKey = Annotated[str | None, typer.Option("--api-key", help=say("help.option.api_key"), show_default=False)]
Instance = Annotated[str, typer.Option("--instance", help=say("help.option.instance"))]
Team = Annotated[str, typer.Option("--team", help=say("help.option.team"))]
Agent = Annotated[str, typer.Option("--agent", help=say("help.option.agent"))]
User = Annotated[str, typer.Option("--user", help=say("help.option.user"))]

LayerFlag = Annotated[Layer, typer.Option("--layer", help=say("help.option.layer"))]
Limit = Annotated[int, typer.Option("--limit", help=say("help.option.limit"), min=1, max=100)]
Neighbours = Annotated[int, typer.Option("--neighbours", help=say("help.option.neighbours"), min=0, max=5)]
