"""The commands and their flags. What each does is in a module of its own, loaded when it is called: `--help` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memstrata.cli.eval_commands import evaluations
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
from memstrata.cli.screen import Screen
from memstrata.cli.words import say

__all__ = ["app"]

app = typer.Typer(help=say("help"), add_completion=False, pretty_exceptions_enable=False)
app.add_typer(evaluations, name="eval")

# The names that `memstrata.transfer.FORMATS` has; that module is not loaded for a help text, and a test compares them.
FORMATS = ("auto", "openai", "chatgpt", "claude", "memstrata", "plain")

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
    from memstrata.cli.importing import import_files

    place = Place(data_dir, config, url, api_key, instance, team, agent, user)
    return import_files(Screen(as_json=as_json), place, files, format, waits=wait, dry_run=dry_run)


@app.command(help=say("help.export"))
def export(
    file: Annotated[str, typer.Argument(help=say("help.argument.out"))] = "-",
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

    export(Screen(as_json=as_json), Place(data_dir, config, url, api_key, instance, team, agent, user), file)


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


@app.command(help=say("help.version"))
def version(as_json: Json = False) -> None:
    from memstrata import __version__

    screen = Screen(as_json=as_json)
    screen.line(__version__)
    screen.json({"version": __version__})
