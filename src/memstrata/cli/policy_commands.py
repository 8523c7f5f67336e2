"""`memstrata policy`: its commands and their flags. What they do is in `policies`, loaded when called."""

from __future__ import annotations

from typing import Annotated

import typer

from memstrata.cli.options import ApiKey, Config, DataDir, Instance, Json, Url
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.words import say

__all__ = ["policy"]

policy = typer.Typer(help=say("help.policy"), add_completion=False)

PartTeam = Annotated[str | None, typer.Option("--team", help=say("help.option.part"), show_default=False)]
PartAgent = Annotated[str | None, typer.Option("--agent", help=say("help.option.part"), show_default=False)]
PartUser = Annotated[str | None, typer.Option("--user", help=say("help.option.part"), show_default=False)]
Days = Annotated[
    int | None,
    typer.Option("--retention-days", help=say("help.option.retention_days"), min=0, max=36_500, show_default=False),
]
Redact = Annotated[
    bool | None, typer.Option("--redact/--no-redact", help=say("help.option.redact"), show_default=False)
]


@policy.command(help=say("help.policy.show"))
def show(
    team: PartTeam = None,
    agent: PartAgent = None,
    user: PartUser = None,
    instance: Instance = "default",
    url: Url = None,
    api_key: ApiKey = None,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.policies import show_policy

    place = Place(data_dir, config, url, api_key, instance)
    show_policy(Screen(as_json=as_json), place, {"team": team, "agent": agent, "user": user})


@policy.command("set", help=say("help.policy.set"))
def set_(
    team: PartTeam = None,
    agent: PartAgent = None,
    user: PartUser = None,
    retention_days: Days = None,
    redact: Redact = None,
    instance: Instance = "default",
    url: Url = None,
    api_key: ApiKey = None,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.policies import set_policy

    place = Place(data_dir, config, url, api_key, instance)
    part = {"team": team, "agent": agent, "user": user}
    set_policy(Screen(as_json=as_json), place, part, redact, retention_days)


@policy.command("list", help=say("help.policy.list"))
def list_(
    instance: Instance = "default",
    url: Url = None,
    api_key: ApiKey = None,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.policies import list_policies

    list_policies(Screen(as_json=as_json), Place(data_dir, config, url, api_key, instance))
