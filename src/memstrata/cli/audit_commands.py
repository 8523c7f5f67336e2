"""`memstrata audit`: its commands and their flags. What they do is in `auditing`, loaded when called."""

from __future__ import annotations

from typing import Annotated

import typer

from memstrata.cli.options import Config, DataDir, Instance, Json
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.words import say

__all__ = ["audit"]

audit = typer.Typer(help=say("help.audit"), add_completion=False)

ByUser = Annotated[str | None, typer.Option("--user", help=say("help.option.audit_user"), show_default=False)]
Action = Annotated[str | None, typer.Option("--action", help=say("help.option.audit_action"), show_default=False)]
Since = Annotated[str | None, typer.Option("--since", help=say("help.option.audit_since"), show_default=False)]
Rows = Annotated[int, typer.Option("--limit", help=say("help.option.audit_limit"), min=1, max=100_000)]


@audit.command(help=say("help.audit.verify"))
def verify(data_dir: DataDir = None, config: Config = None, as_json: Json = False) -> int:
    from memstrata.cli.auditing import verify

    return verify(Screen(as_json=as_json), Place(data_dir, config))


@audit.command("list", help=say("help.audit.list"))
def list_(
    user: ByUser = None,
    action: Action = None,
    since: Since = None,
    limit: Rows = 100,
    instance: Instance = "default",
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.auditing import list_rows

    list_rows(Screen(as_json=as_json), Place(data_dir, config, instance=instance), user, action, since, limit)
