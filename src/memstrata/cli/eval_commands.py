"""`memstrata eval`: the commands that measure, and their flags. What they do is in `evaluating`, loaded when called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from memstrata.cli.options import Config, Json
from memstrata.cli.screen import Screen
from memstrata.cli.words import say

__all__ = ["DATASETS", "evaluations"]

# The names that `memstrata.evals.catalogue` has; that module is not loaded for a help text, and a test compares them.
DATASETS = ("ours", "locomo", "longmemeval", "beam", "memdaily", "madial")

evaluations = typer.Typer(help=say("help.eval"), add_completion=False)

Dataset = Annotated[str, typer.Option("--dataset", help=say("help.option.dataset", datasets=", ".join(DATASETS)))]
DatasetPath = Annotated[Path | None, typer.Option("--path", help=say("help.option.path"), show_default=False)]
Language = Annotated[Literal["zh", "en"], typer.Option("--language", help=say("help.option.language"))]
Captions = Annotated[bool, typer.Option("--captions/--no-captions", help=say("help.option.captions"))]
Roles = Annotated[Literal["all", "user"], typer.Option("--roles", help=say("help.option.roles"))]
Out = Annotated[Path | None, typer.Option("--out", help=say("help.option.out"), show_default=False)]


@evaluations.command(help=say("help.eval.retrieval"))
def retrieval(
    dataset: Dataset = "ours",
    path: DatasetPath = None,
    language: Language = "zh",
    captions: Captions = True,
    roles: Roles = "all",
    view: Annotated[
        Literal["both", "separate", "pooled"], typer.Option("--view", help=say("help.option.view"))
    ] = "both",
    seed: Annotated[int, typer.Option("--seed", help=say("help.option.seed"))] = 0,
    out: Out = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.evaluating import retrieval
    from memstrata.evals.catalogue import Reading

    reading = Reading(dataset, path, language, captions, roles)
    retrieval(
        Screen(as_json=as_json), reading, ("separate", "pooled") if view == "both" else (view,), seed, out, config
    )


@evaluations.command(help=say("help.eval.layered"))
def layered(
    dataset: Dataset = "ours",
    path: DatasetPath = None,
    language: Language = "zh",
    captions: Captions = True,
    roles: Roles = "all",
    corpora: Annotated[int, typer.Option("--corpora", help=say("help.option.corpora"), min=0)] = 0,
    out: Out = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.evaluating import layered
    from memstrata.evals.catalogue import Reading

    layered(Screen(as_json=as_json), Reading(dataset, path, language, captions, roles), corpora, out, config)


@evaluations.command(help=say("help.eval.nonsense"))
def nonsense(
    dataset: Dataset = "ours",
    path: DatasetPath = None,
    language: Language = "zh",
    captions: Captions = True,
    roles: Roles = "all",
    queries: Annotated[int, typer.Option("--queries", help=say("help.option.queries"), min=1)] = 200,
    seed: Annotated[int, typer.Option("--seed", help=say("help.option.draws"))] = 0,
    out: Out = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    from memstrata.cli.evaluating import nonsense
    from memstrata.evals.catalogue import Reading

    nonsense(Screen(as_json=as_json), Reading(dataset, path, language, captions, roles), queries, seed, out, config)
