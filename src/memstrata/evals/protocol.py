"""What has to stand beside every figure: what was measured, with which program and settings, how long it took.

A figure without it cannot be compared: whether assistants' turns are indexed moves BM25 on one set from 86 to 98.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memstrata import __version__
from memstrata.evals.dataset import Dataset
from memstrata.settings import Settings, settings_table

__all__ = ["Protocol", "commit_of_source", "protocol_of", "search_settings"]

# The others are not of the search: where it runs, who may call, and what is read from elsewhere.
_SEARCH_SECTIONS = ("recall", "embedding")


@dataclass(frozen=True, slots=True)
class Protocol:
    """The protocol of one measurement. `settings` are those of the search that are not defaults, no secrets."""

    dataset: str
    view: str
    corpora: int
    questions: int
    units: int
    units_per_query: tuple[int, float, int]  # least, mean, most
    notes: tuple[str, ...]
    counts: Mapping[str, int]
    version: str
    commit: str
    embedder: str
    settings: Mapping[str, str]
    seconds: Mapping[str, float]

    def as_json(self) -> Mapping[str, object]:
        """Return it for a file."""
        least, mean, most = self.units_per_query
        return {
            "dataset": self.dataset,
            "view": self.view,
            "corpora": self.corpora,
            "questions": self.questions,
            "units": self.units,
            "units_per_query": {"least": least, "mean": round(mean, 1), "most": most},
            "notes": list(self.notes),
            "counts": dict(self.counts),
            "version": self.version,
            "commit": self.commit,
            "embedder": self.embedder,
            "settings": dict(self.settings),
            "seconds": {name: round(seconds, 2) for name, seconds in self.seconds.items()},
        }


def protocol_of(
    dataset: Dataset,
    view: str,
    settings: Settings,
    seconds: Mapping[str, float],
    counts: Mapping[str, int],
) -> Protocol:
    """Return the protocol of a data set as it was ranked; `counts` are what happened on the way."""
    sizes = {corpus.corpus_id: len(corpus.units) for corpus in dataset.corpora}
    asked = [sizes[question.corpus_id] for question in dataset.questions]
    return Protocol(
        dataset=dataset.name,
        view=view,
        corpora=len(dataset.corpora),
        questions=len(asked),
        units=sum(sizes.values()),
        units_per_query=(min(asked), sum(asked) / len(asked), max(asked)),
        notes=(*dataset.notes, _asked(dataset)),
        counts={**dataset.counts, **{what: number for what, number in counts.items() if number}},
        version=__version__,
        commit=commit_of_source(),
        embedder=_embedder(settings),
        settings=search_settings(settings),
        seconds=seconds,
    )


def search_settings(settings: Settings) -> Mapping[str, str]:
    """Return the settings of the search that are not defaults, without secrets and addresses."""
    return {
        row.name: str(row.value)
        for row in settings_table(settings)
        if row.name.partition(".")[0] in _SEARCH_SECTIONS
        and not row.secret
        and not row.name.endswith("_url")
        and row.value != row.default
    }


def commit_of_source() -> str:
    """Return the commit that runs, with `-dirty` where files differ from it; `release` outside a checkout."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return "release"
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        return f"unknown ({type(error).__name__})"
    return done.stdout.strip()


def _asked(dataset: Dataset) -> str:
    told = sum(question.asked_at is not None for question in dataset.questions)
    if told == len(dataset.questions):
        return "each question is asked at the time that the data set tells"
    if not told:
        return "each question is asked a minute after the last message of its corpus"
    return (
        f"{told:,} questions are asked at the time that the data set tells, the others a minute after the last message"
    )


def _embedder(settings: Settings) -> str:
    embedding = settings.embedding
    if embedding.provider == "none":
        return "none (keyword only)"
    return f"{embedding.provider} {embedding.model}".strip()
