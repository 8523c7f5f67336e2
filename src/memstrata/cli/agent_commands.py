"""`memstrata hook` and `memstrata setup`: their flags. What they do is in `hook_status` and `setting_up`, loaded when called.

A hook that a client calls does not come here: `memstrata.cli.main` answers it before anything of this room is loaded.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memstrata.cli.options import Agent, Instance, Json, Team, User
from memstrata.cli.screen import Screen
from memstrata.cli.words import say

__all__ = ["hook", "setup"]

# The names of `memstrata.setup.clients.table`, which is not loaded for a help text; a test compares them.
CLIENTS = ("claude-code", "codex", "cursor")

hook = typer.Typer(help=say("help.hook"), add_completion=False)


@hook.callback()
def _hook() -> None:
    """Keep `status` a command of its own: a group of one would be taken for the command itself."""


@hook.command(help=say("help.hook.status"))
def status(as_json: Json = False) -> None:
    from memstrata.cli.hook_status import hook_status

    hook_status(Screen(as_json=as_json))


def setup(
    client: Annotated[
        str,
        typer.Argument(
            metavar="CLIENT", help=say("help.argument.client", clients=", ".join(CLIENTS)), show_default=False
        ),
    ],
    also: Annotated[list[str], typer.Option("--with", help=say("help.option.with"))] = [],  # noqa: B006
    yes: Annotated[bool, typer.Option("--yes", help=say("help.option.setup_yes"))] = False,
    undo: Annotated[bool, typer.Option("--undo", help=say("help.option.setup_undo"))] = False,
    url: Annotated[str, typer.Option("--url", help=say("help.option.setup_url"))] = "http://127.0.0.1:8420",
    user_key: Annotated[
        str,
        typer.Option("--user-key", envvar="MEMSTRATA_USER_KEY", help=say("help.option.user_key"), show_default=False),
    ] = "",
    instance: Instance = "default",
    team: Team = "personal",
    agent: Agent = "assistant",
    user: User = "me",
    as_json: Json = False,
) -> int:
    """Connect a coding agent, or disconnect it."""
    from memstrata.cli.setting_up import set_up, take_out
    from memstrata.hooks.place import Place

    screen = Screen(as_json=as_json)
    place = Place(client, url, instance, team, agent, user)
    return take_out(screen, place, writes=yes) if undo else set_up(screen, place, also, writes=yes, user_key=user_key)
