"""The two measurements from end to end: a data set in, reports and raw lines out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import Dataset
from memstrata.evals.layered import layered_scores, measure_layers
from memstrata.evals.protocol import protocol_of
from memstrata.evals.ranker import Progress, rank
from memstrata.evals.rankings import layered_line, ranking_line
from memstrata.evals.report import LayeredReport, RetrievalReport
from memstrata.evals.scores import group_scores
from memstrata.evals.update_order import pair_orders
from memstrata.evals.views import View, folded, is_poolable, pooled
from memstrata.settings import Settings

__all__ = [
    "LayeredMeasurement",
    "RetrievalMeasurement",
    "first_corpora",
    "measure_layered",
    "measure_retrieval",
    "views_of",
]


@dataclass(frozen=True, slots=True)
class RetrievalMeasurement:
    """The report of one view, and a raw line for each question."""

    report: RetrievalReport
    lines: tuple[Mapping[str, object], ...]


@dataclass(frozen=True, slots=True)
class LayeredMeasurement:
    """The layered report, and a raw line for each question."""

    report: LayeredReport
    lines: tuple[Mapping[str, object], ...]


def views_of(dataset: Dataset, wanted: Sequence[View]) -> list[View]:
    """Return the wanted views that differ: a set that is one corpus has nothing to pool."""
    return [view for view in wanted if view == "separate" or is_poolable(dataset)] or ["separate"]


def first_corpora(dataset: Dataset, number: int) -> Dataset:
    """Return the data set with its first corpora only, and the questions asked of them.

    Raises InvalidRequest if none is asked of them.
    """
    corpora = dataset.corpora[:number]
    kept = {corpus.corpus_id for corpus in corpora}
    questions = tuple(question for question in dataset.questions if question.corpus_id in kept)
    if not questions:
        raise InvalidRequest(f"no question is asked of the first {number}", field="corpora")
    notes = (*dataset.notes, f"only the first {len(corpora)} of {len(dataset.corpora)} corpora")
    return replace(dataset, corpora=corpora, questions=questions, notes=notes)


async def measure_retrieval(
    dataset: Dataset, view: View, settings: Settings, seed: int, progress: Progress = lambda *_: None
) -> RetrievalMeasurement:
    """Rank and score a data set in one view."""
    shown = folded(pooled(dataset) if view == "pooled" else dataset)
    run = await rank(shown, settings, progress)
    counts = {
        "queries cut to what a search takes": run.cut_queries,
        "further parts of units longer than a message": run.split_parts,
        **{f"questions searched with less: {reason}": number for reason, number in run.degraded.items()},
    }
    seconds = {"storing": run.seconds_storing, "asking": run.seconds_asking}
    report = RetrievalReport(
        protocol=protocol_of(shown, view, settings, seconds, counts),
        seed=seed,
        groups=tuple(group_scores(shown, run.rankings, seed)),
        pairs=pair_orders(run.rankings),
    )
    return RetrievalMeasurement(report, tuple(ranking_line(view, ranking) for ranking in run.rankings))


async def measure_layered(
    dataset: Dataset, settings: Settings, progress: Progress = lambda *_: None
) -> LayeredMeasurement:
    """Distill a data set corpus by corpus, and compare what recall injects with a search of the messages."""
    run = await measure_layers(dataset, settings, progress)
    counts = {
        **{f"corpora not wholly distilled: {reason}": number for reason, number in run.unfinished.items()},
        **{f"questions answered with less: {reason}": number for reason, number in run.degraded.items()},
    }
    seconds = {"distilling": run.seconds_distilling, "asking": run.seconds_asking}
    report = LayeredReport(
        protocol=protocol_of(dataset, "separate", settings, seconds, counts),
        distiller=run.distiller,
        made={"memories": run.memories, "scenes": run.scenes, "personas": run.personas},
        groups=tuple(layered_scores(dataset, run.reached)),
    )
    return LayeredMeasurement(report, tuple(layered_line(one) for one in run.reached))
