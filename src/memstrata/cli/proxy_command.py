"""`proxy` with its flags."""

from __future__ import annotations

from typing import Annotated

import typer

from memstrata.cli.options import ApiKey, Config, DataDir, Host, Json, LogFormatFlag, Quiet
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.words import say

__all__ = ["proxy"]


def proxy(
    core: Annotated[str | None, typer.Option("--core", help=say("help.option.core"), show_default=False)] = None,
    api_key: ApiKey = None,
    host: Host = None,
    port: Annotated[int | None, typer.Option("--port", help=say("help.option.proxy_port"), show_default=False)] = None,
    data_dir: DataDir = None,
    config: Config = None,
    quiet: Quiet = False,
    log_format: LogFormatFlag = "plain",
    as_json: Json = False,
) -> None:
    """Run the proxy alone until a signal says stop."""
    from memstrata.cli.proxying import proxy

    place = Place(data_dir, config, api_key=api_key)
    proxy(Screen(as_json=as_json), place, core=core, host=host, port=port, quiet=quiet, log_format=log_format)
