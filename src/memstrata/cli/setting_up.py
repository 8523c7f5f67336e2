"""`setup`: what a coding agent's configuration would become, a question, then the files or their backups."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import typer

from memstrata.cli.connect import checked_url
from memstrata.cli.failures import FAILED
from memstrata.cli.screen import Screen
from memstrata.cli.setting_up_proxy import look_through, tell_variables
from memstrata.cli.words import say
from memstrata.errors import InvalidRequest
from memstrata.hooks.place import Place, state_folder
from memstrata.setup.change import Change, Launch
from memstrata.setup.clients.client import Client
from memstrata.setup.clients.table import CLIENTS
from memstrata.setup.files import Backups, perform
from memstrata.setup.masking import masked
from memstrata.setup.plan import Edit, displaced, plan, plan_undo, stand_in, unified

__all__ = ["set_up", "take_out"]

_LOOK_SECONDS = 1.0


def set_up(screen: Screen, place: Place, also: Sequence[str], *, writes: bool, user_key: str = "") -> int:
    """Connect a client, after asking unless it `writes` anyway.

    With the kind `proxy` the proxy takes the place of hooks, and any name is a client: of one whose files are not known, what
    to set is said. Raises InvalidRequest for a client or kind that is none, Misconfigured and Conflict for files that are left
    alone.
    """
    launch, proxied = _launch(place, user_key), "proxy" in also
    if proxied and "proxy" not in _kinds(place.client, launch):
        return tell_variables(screen, launch, place.client)
    client = _client(place.client)
    changes = client.changes(os.environ, _home(), launch)
    if missing := [kind for kind in also if kind not in changes]:
        raise InvalidRequest(say("setup.unsupported", client=client.name, kind=missing[0]))
    if proxied and "hooks" in also:
        raise InvalidRequest(say("setup.either"))
    wanted = [kind for kind in changes if kind in also or (kind == client.usual and not proxied)]
    backups, made = _backups(client), [one for kind in wanted for one in changes[kind]]
    edits = plan(made, _all(client, place), backups.read())
    for file, theirs in displaced(made) if edits else ():
        screen.line(say("setup.displaced", value=masked(theirs), file=file))
    if "hooks" in wanted and stand_in(changes.get("proxy", ())):
        screen.line(say("setup.twice", client=client.name))
    code = _perform(screen, client, edits, backups, writes=writes, undoes=False)
    if code == 0:
        if edits:
            for advice in client.proxy_advice if proxied else client.advice:
                screen.line(say(f"setup.advice.{advice}"))
            screen.line(say("setup.undo_hint", client=client.name))
        if proxied:
            look_through(screen, launch, client.name)
        elif not _answers(place.url):
            screen.line(say("setup.no_server", url=place.url))
    return code


def take_out(screen: Screen, place: Place, *, writes: bool) -> int:
    """Disconnect a client: everything of ours, whatever it was set up with. Raises as `set_up`."""
    client = _client(place.client)
    backups = _backups(client)
    edits = plan_undo(_all(client, place), backups.read())
    return _perform(screen, client, edits, backups, writes=writes, undoes=True)


def _perform(
    screen: Screen,
    client: Client,
    edits: Sequence[Edit],
    backups: Backups,
    *,
    writes: bool,
    undoes: bool,
) -> int:
    answer = {"client": client.name, "files": [str(edit.path) for edit in edits]}
    if not edits:
        screen.line(say("setup.nothing", client=client.name))
        screen.json({**answer, "diff": "", "written": False})
        return 0
    difference = masked("".join(unified(edit) for edit in edits))
    for line in difference.removesuffix("\n").split("\n"):
        screen.line(line)
    may_write = writes or _agreed(screen)
    if may_write:
        perform(edits, backups, undoes=undoes)
        for edit in edits:
            screen.bullet(say("setup.removed" if edit.after is None else "setup.written", file=edit.path))
        if not undoes:
            screen.line(say("setup.backup", file=backups.file))
    screen.json({**answer, "diff": difference, "written": may_write})
    return 0 if may_write else FAILED


def _agreed(screen: Screen) -> bool:
    if screen.as_json or not sys.stdin.isatty():
        screen.line(say("setup.not_asked"))
        return False
    if typer.confirm(say("setup.ask")):
        return True
    screen.line(say("setup.declined"))
    return False


def _client(name: str) -> Client:
    if name not in CLIENTS:
        raise InvalidRequest(say("setup.unknown", client=name, clients=", ".join(CLIENTS)))
    return CLIENTS[name]


def _all(client: Client, place: Place) -> list[Change]:
    kinds = client.changes(os.environ, _home(), _launch(place)).values()
    return [change for changes in kinds for change in changes]


def _kinds(name: str, launch: Launch) -> Collection[str]:
    return CLIENTS[name].changes(os.environ, _home(), launch) if name in CLIENTS else ()


def _launch(place: Place, user_key: str = "") -> Launch:
    """Return how to start us with the flags of a place; those that stand at their default are left out, but the URL."""
    usual = Place(place.client)
    flags = ["--url", checked_url(place.url)]
    for name in ("instance", "team", "agent", "user"):
        if getattr(place, name) != getattr(usual, name):
            flags += [f"--{name}", getattr(place, name)]
    own = Path(sys.argv[0])
    program = (str(own.absolute()),) if own.stem == "memstrata" else (sys.executable, "-m", "memstrata.cli")
    return Launch(program, tuple(flags), checked_url(place.url), place.instance, user_key)


def _home() -> Path:
    return Path(os.environ["HOME"]) if os.environ.get("HOME") else Path.home()


def _backups(client: Client) -> Backups:
    return Backups(state_folder(os.environ) / "setup" / f"{client.name}.json")


def _answers(url: str) -> bool:
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), _LOOK_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True
