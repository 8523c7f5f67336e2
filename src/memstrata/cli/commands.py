"""The commands and their flags. What each does is in a module of its own, loaded when it is called: `--help` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from memstrata.cli.agent_commands import hook, setup
from memstrata.cli.audit_commands import audit
from memstrata.cli.eval_commands import evaluations
from memstrata.cli.mcp_command import mcp
from memstrata.cli.options import (
    Agent,
    ApiKey,
    Config,
    DataDir,
    DemoDir,
    Host,
    Instance,
    Json,
    LayerFlag,
    Limit,
    LogFormatFlag,
    Neighbours,
    NoColor,
    Port,
    Quiet,
    Team,
    Url,
    User,
)
from memstrata.cli.place import DEMO_NAME, Place
from memstrata.cli.policy_commands import policy
from memstrata.cli.proxy_command import proxy
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.errors import InvalidRequest

__all__ = ["app"]

app = typer.Typer(help=say("help"), add_completion=False, pretty_exceptions_enable=False)
app.add_typer(evaluations, name="eval")
app.add_typer(policy, name="policy")
app.add_typer(audit, name="audit")
app.add_typer(hook, name="hook")
app.command(help=say("help.setup"))(setup)
app.command(help=say("help.mcp"))(mcp)
app.command(help=say("help.proxy"))(proxy)

# The names that `memstrata.transfer.FORMATS` has; that module is not loaded for a help text, and a test compares them.
FORMATS = ("auto", "openai", "chatgpt", "claude", "memstrata", "plain")

Part = Literal["scope", "user", "instance"]
MemoryIdArgument = Annotated[str, typer.Argument(metavar="ID", help=say("help.argument.memory_id"), show_default=False)]
_DEMO_DIR = Path(".memstrata") / DEMO_NAME


@app.command(help=say("help.demo"))
def demo(
    file: Annotated[Path | None, typer.Argument(help=say("help.argument.demo_file"), show_default=False)] = None,
    data_dir: DemoDir = _DEMO_DIR,
    port: Port = None,
    config: Config = None,
    no_color: NoColor = False,
    as_json: Json = False,
) -> int:
    from memstrata.cli.demo import demo

    return demo(Screen(as_json=as_json, color=not no_color), file, Place(data_dir, config), port)


@app.command(help=say("help.serve"))
def serve(
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    config: Config = None,
    quiet: Quiet = False,
    log_format: LogFormatFlag = "plain",
    as_json: Json = False,
) -> None:
    from memstrata.cli.serving import serve

    serve(Screen(as_json=as_json), Place(data_dir, config), host=host, port=port, quiet=quiet, log_format=log_format)


@app.command("init-admin", help=say("help.init_admin"))
def init_admin(
    username: Annotated[str, typer.Option("--username", help=say("help.option.username"))] = "admin",
    instance: Instance = "default",
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.admin import init_admin

    init_admin(Screen(as_json=as_json), Place(data_dir, config, instance=instance), username)


@app.command(help=say("help.stop"))
def stop(data_dir: DataDir = None, config: Config = None, as_json: Json = False) -> None:
    from memstrata.cli.stopping import stop

    stop(Screen(as_json=as_json), Place(data_dir, config))


@app.command("import", help=say("help.import"))
def import_(
    files: Annotated[list[Path], typer.Argument(help=say("help.argument.files"), show_default=False)],
    format: Annotated[  # noqa: A002 (the flag's name)
        str, typer.Option("--format", help=say("help.option.format", formats=", ".join(FORMATS)))
    ] = "auto",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help=say("help.option.wait"))] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=say("help.option.dry_run"))] = False,
    as_instance: Annotated[
        str | None, typer.Option("--as-instance", help=say("help.option.as_instance"), show_default=False)
    ] = None,
    as_user: Annotated[
        str | None, typer.Option("--as-user", help=say("help.option.as_user"), show_default=False)
    ] = None,
    instance: Instance = "default",
    team: Team = "personal",
    agent: Agent = "assistant",
    user: User = "me",
    url: Url = None,
    api_key: ApiKey = None,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> int:
    from memstrata.cli.archives import are_archives, import_archives
    from memstrata.cli.importing import import_files

    place = Place(data_dir, config, url, api_key, instance, team, agent, user)
    if format in ("auto", "memstrata") and are_archives(files):
        screen = Screen(as_json=as_json)
        return import_archives(screen, place, files, as_instance=as_instance, as_user=as_user, dry_run=dry_run)
    if as_instance is not None or as_user is not None:
        raise InvalidRequest(say("archive.not_one"))
    return import_files(Screen(as_json=as_json), place, files, format, waits=wait, dry_run=dry_run)


@app.command(help=say("help.export"))
def export(
    file: Annotated[str, typer.Argument(help=say("help.argument.out"))] = "-",
    out: Annotated[str | None, typer.Option("--out", help=say("help.option.out"), show_default=False)] = None,
    part: Annotated[Part, typer.Option("--of", help=say("help.option.of"))] = "scope",
    instance: Instance = "default",
    team: Team = "personal",
    agent: Agent = "assistant",
    user: User = "me",
    url: Url = None,
    api_key: ApiKey = None,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.exporting import export

    place = Place(data_dir, config, url, api_key, instance, team, agent, user)
    export(Screen(as_json=as_json), place, out or file, part)


@app.command(help=say("help.backup"))
def backup(
    file: Annotated[Path, typer.Argument(help=say("help.argument.backup"), show_default=False)],
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.backups import make_backup

    make_backup(Screen(as_json=as_json), Place(data_dir, config), file)


@app.command(help=say("help.restore"))
def restore(
    file: Annotated[Path, typer.Argument(help=say("help.argument.restore"), show_default=False)],
    force: Annotated[bool, typer.Option("--force", help=say("help.option.force"))] = False,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.backups import restore_backup

    restore_backup(Screen(as_json=as_json), Place(data_dir, config), file, force=force)


@app.command(help=say("help.search"))
def search(
    query: Annotated[str, typer.Argument(help=say("help.argument.query"), show_default=False)],
    layer: LayerFlag = "memories",
    limit: Limit = 5,
    neighbours: Neighbours = 0,
    instance: Instance = "default",
    team: Team = "personal",
    agent: Agent = "assistant",
    user: User = "me",
    url: Url = None,
    api_key: ApiKey = None,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.searching import search

    place = Place(data_dir, config, url, api_key, instance, team, agent, user)
    search(Screen(as_json=as_json), place, query, layer, limit, neighbours)


@app.command(help=say("help.trace"))
def trace(
    memory_id: MemoryIdArgument,
    instance: Instance = "default",
    team: Team = "personal",
    agent: Agent = "assistant",
    user: User = "me",
    url: Url = None,
    api_key: ApiKey = None,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.tracing import trace

    trace(Screen(as_json=as_json), Place(data_dir, config, url, api_key, instance, team, agent, user), memory_id)


@app.command(help=say("help.history"))
def history(
    memory_id: MemoryIdArgument,
    instance: Instance = "default",
    team: Team = "personal",
    agent: Agent = "assistant",
    user: User = "me",
    url: Url = None,
    api_key: ApiKey = None,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.tracing import history

    history(Screen(as_json=as_json), Place(data_dir, config, url, api_key, instance, team, agent, user), memory_id)


@app.command(help=say("help.undo"))
def undo(
    memory_id: MemoryIdArgument,
    instance: Instance = "default",
    team: Team = "personal",
    agent: Agent = "assistant",
    user: User = "me",
    url: Url = None,
    api_key: ApiKey = None,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.tracing import undo

    undo(Screen(as_json=as_json), Place(data_dir, config, url, api_key, instance, team, agent, user), memory_id)


@app.command(help=say("help.forget"))
def forget(
    messages: Annotated[list[str], typer.Option("--message", help=say("help.option.message"))] = [],  # noqa: B006
    memories: Annotated[list[str], typer.Option("--memory", help=say("help.option.memory"))] = [],  # noqa: B006
    sessions: Annotated[list[str], typer.Option("--session", help=say("help.option.session"))] = [],  # noqa: B006
    all_of_user: Annotated[bool, typer.Option("--all-of-user", help=say("help.option.all_of_user"))] = False,
    all_of_agent: Annotated[bool, typer.Option("--all-of-agent", help=say("help.option.all_of_agent"))] = False,
    team_only: Annotated[bool, typer.Option("--team-only", help=say("help.option.team_only"))] = False,
    since: Annotated[str | None, typer.Option("--since", help=say("help.option.since"), show_default=False)] = None,
    until: Annotated[str | None, typer.Option("--until", help=say("help.option.until"), show_default=False)] = None,
    yes: Annotated[bool, typer.Option("--yes/--dry-run", help=say("help.option.yes"))] = False,
    instance: Instance = "default",
    team: Team = "personal",
    agent: Agent = "assistant",
    user: User = "me",
    url: Url = None,
    api_key: ApiKey = None,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.forgetting import Selection, forget

    selection = Selection(
        messages or None, memories or None, sessions or None, all_of_user, all_of_agent, team_only, since, until
    )
    place = Place(data_dir, config, url, api_key, instance, team, agent, user)
    forget(Screen(as_json=as_json), place, selection, confirmed=yes)


@app.command(help=say("help.status"))
def status(
    instance: Instance = "default",
    team: Team = "personal",
    agent: Agent = "assistant",
    user: User = "me",
    url: Url = None,
    api_key: ApiKey = None,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.status import status

    status(Screen(as_json=as_json), Place(data_dir, config, url, api_key, instance, team, agent, user))


@app.command(help=say("help.doctor"))
def doctor(
    asks_models: Annotated[bool, typer.Option("--llm", help=say("help.option.llm"))] = False,
    data_dir: DataDir = None,
    config: Config = None,
    port: Port = None,
    as_json: Json = False,
) -> int:
    from memstrata.cli.doctor import doctor

    return doctor(Screen(as_json=as_json), Place(data_dir, config), port, asks_models=asks_models)


@app.command(help=say("help.config"))
def config(
    markdown: Annotated[bool, typer.Option("--markdown", help=say("help.option.markdown"))] = False,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.settings_table import show_settings

    show_settings(Screen(as_json=as_json), Place(data_dir, config), markdown=markdown)


@app.command(help=say("help.rebuild"))
def rebuild(
    from_files: Annotated[bool, typer.Option("--from-files", help=say("help.option.from_files"))] = False,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> int:
    from memstrata.cli.rebuilding import rebuild

    return rebuild(Screen(as_json=as_json), Place(data_dir, config), from_files=from_files)


@app.command(help=say("help.reindex"))
def reindex(
    url: Url = None,
    api_key: ApiKey = None,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.reindexing import reindex

    reindex(Screen(as_json=as_json), Place(data_dir, config, url, api_key))


@app.command(help=say("help.scan"))
def scan(
    fix: Annotated[bool, typer.Option("--fix", help=say("help.option.fix"))] = False,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: Json = False,
) -> int:
    from memstrata.cli.scanning import scan

    return scan(Screen(as_json=as_json), Place(data_dir, config), fix=fix)


@app.command(help=say("help.version"))
def version(as_json: Json = False) -> None:
    from memstrata import __version__

    screen = Screen(as_json=as_json)
    screen.line(__version__)
    screen.json({"version": __version__})


_FIRST = ("demo", "serve", "stop", "status", "search", "setup", "proxy", "mcp")
"""What a newcomer finds at the top of the list; the others follow as they stand here."""


def _rank(command: typer.models.CommandInfo) -> int:
    name = command.name or getattr(command.callback, "__name__", "")
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


app.registered_commands.sort(key=_rank)
