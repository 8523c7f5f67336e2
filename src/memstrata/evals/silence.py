"""What the gate of a search is worth and what it costs: nonsense that finds nothing, and evidence that is lost with it.

Nonsense is asked of the largest corpus of a data set. What is lost is the difference between two searches of the same
questions, one with `recall.gate` and one without, so that a floor that hides answers cannot look like success.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from memstrata.evals.dataset import Dataset
from memstrata.evals.moment import asked_after
from memstrata.evals.nonsense import nonsense
from memstrata.evals.protocol import Protocol, protocol_of
from memstrata.evals.ranker import Progress, rank, search_units
from memstrata.evals.scores import group_scores
from memstrata.evals.views import folded
from memstrata.evals.workspace import opened
from memstrata.settings import Settings

__all__ = ["GateLoss", "Silence", "SilenceReport", "measure_silence"]

_LIMIT = 10
_METRIC = "recall@10"


@dataclass(frozen=True, slots=True)
class Silence:
    """One family of nonsense: how many queries were asked, how many found nothing, and how many results came on average."""

    family: str
    queries: int
    silent: int
    results: float

    @property
    def share(self) -> float:
        """The share that found nothing, 0 to 1."""
        return self.silent / self.queries


@dataclass(frozen=True, slots=True)
class GateLoss:
    """Recall@10 of one group of questions with the gate and without it, 0 to 1."""

    group: str
    questions: int
    gated: float
    open: float

    @property
    def lost(self) -> float:
        """What the gate costs; below zero where it kept out what stood in the way."""
        return self.open - self.gated


@dataclass(frozen=True, slots=True)
class SilenceReport:
    """Both sides, under one protocol."""

    protocol: Protocol
    seed: int
    families: tuple[Silence, ...]
    groups: tuple[GateLoss, ...]

    def as_json(self) -> Mapping[str, object]:
        """Return all of it."""
        return {
            "protocol": self.protocol.as_json(),
            "seed": self.seed,
            "families": [
                {
                    "family": one.family,
                    "queries": one.queries,
                    "silent": one.silent,
                    "silent_share": round(one.share, 4),
                    "results": round(one.results, 2),
                }
                for one in self.families
            ],
            "groups": [
                {
                    "group": one.group,
                    "questions": one.questions,
                    "gated_recall@10": round(one.gated, 4),
                    "open_recall@10": round(one.open, 4),
                    "lost": round(one.lost, 4),
                }
                for one in self.groups
            ],
        }


async def measure_silence(
    dataset: Dataset, settings: Settings, seed: int, number: int, progress: Progress = lambda *_: None
) -> SilenceReport:
    """Ask `number` queries of each family of nonsense, and all questions with the gate and without it."""
    shown = folded(dataset)
    gated, opened_gate = (replace(settings, recall=replace(settings.recall, gate=gate)) for gate in (True, False))
    families = await _families(shown, gated, seed, number, progress)
    with_gate, without = [await rank(shown, one, progress) for one in (gated, opened_gate)]
    before = {one.group: one for one in group_scores(shown, without.rankings, seed)}
    groups = tuple(
        GateLoss(one.group, one.questions, one.means[_METRIC], before[one.group].means[_METRIC])
        for one in group_scores(shown, with_gate.rankings, seed)
    )
    counts = {f"questions searched with less: {why}": times for why, times in with_gate.degraded.items()}
    seconds = {"asking with the gate": with_gate.seconds_asking, "without": without.seconds_asking}
    return SilenceReport(protocol_of(shown, "separate", settings, seconds, counts), seed, families, groups)


async def _families(
    dataset: Dataset, settings: Settings, seed: int, number: int, progress: Progress
) -> tuple[Silence, ...]:
    corpus = max(dataset.corpora, key=lambda one: len(one.units))
    asked = nonsense((unit.text for unit in corpus.units), number, seed)
    total, done = sum(map(len, asked.values())), 0
    found: list[Silence] = []
    async with opened(settings, distills=False) as workspace:
        await workspace.store([corpus], lambda stored: progress("store", stored, len(corpus.units)))
        shelf = workspace.shelves[corpus.corpus_id]
        with workspace.clock.at(asked_after(corpus)):
            for family, queries in asked.items():
                results: list[int] = []
                for query in queries:
                    ranked, _ = await search_units(workspace.memory, shelf, query, _LIMIT)
                    results.append(len(ranked))
                    progress("ask", done := done + 1, total)
                silent = sum(not count for count in results)
                found.append(Silence(family, len(results), silent, sum(results) / len(results)))
    return tuple(found)
