"""The figures of a measurement as a table for people, and as JSON with every metric for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memstrata.evals.dataset import PairKind
from memstrata.evals.layered import REACHES, LayeredScores, Reach
from memstrata.evals.protocol import Protocol
from memstrata.evals.scores import Scores
from memstrata.evals.silence import SilenceReport
from memstrata.evals.update_order import PairOrder

__all__ = [
    "LayeredReport",
    "RetrievalReport",
    "Table",
    "layered_table",
    "loss_table",
    "protocol_lines",
    "retrieval_table",
    "silence_table",
]

Table = tuple[tuple[str, ...], ...]
"""Rows of cells, the head first. The first column is text, the others are numbers."""

_COLUMNS = ("recall@5", "recall@10", "recall@20", "recall@50", "any@10", "all@10", "mrr", "ndcg@10")
_SPREAD = "recall@10"  # the metric whose interval is in the table


@dataclass(frozen=True, slots=True)
class RetrievalReport:
    """One view of a data set: its protocol, the figures of each group, the order of its statement pairs."""

    protocol: Protocol
    seed: int
    groups: tuple[Scores, ...]
    pairs: Mapping[PairKind, PairOrder]

    def as_json(self) -> Mapping[str, object]:
        """Return all of it."""
        return {
            "protocol": self.protocol.as_json(),
            "bootstrap_seed": self.seed,
            "groups": [_group(scores) for scores in self.groups],
            "pairs": {kind: order.as_json() for kind, order in self.pairs.items()},
        }


@dataclass(frozen=True, slots=True)
class LayeredReport:
    """The layered figures of a data set, and what was distilled for them."""

    protocol: Protocol
    distiller: str
    made: Mapping[str, int]
    groups: tuple[LayeredScores, ...]

    def as_json(self) -> Mapping[str, object]:
        """Return all of it."""
        return {
            "protocol": self.protocol.as_json(),
            "distiller": self.distiller,
            "made": dict(self.made),
            "groups": [
                {
                    "group": one.group,
                    "reach": one.reach,
                    "questions": one.questions,
                    "units": round(one.units, 2),
                    "searched": round(one.searched, 2),
                    "context_recall": round(one.context, 4),
                    "search_recall": round(one.search, 4),
                }
                for one in self.groups
            ],
        }


def retrieval_table(report: RetrievalReport) -> Table:
    """Return the head, and a row for each group."""
    head = ("", "questions", "units", "results", *_COLUMNS, f"{_SPREAD} 95%")
    return (head, *(_row(scores) for scores in report.groups))


def layered_table(groups: Sequence[LayeredScores]) -> Table:
    """Return the head, and a row for each group: at each reach the messages, and the evidence in context and search."""
    by_group: dict[str, dict[Reach, LayeredScores]] = {}
    for one in groups:
        by_group.setdefault(one.group, {})[one.reach] = one
    head = ["", "questions"]
    for reach in REACHES:
        head += [f"{reach} messages", "context", "search"]
    rows: list[tuple[str, ...]] = []
    for group, reaches in by_group.items():
        row = [group, f"{reaches[REACHES[0]].questions:,}"]
        for reach in REACHES:
            scores = reaches[reach]
            row += [f"{scores.units:.1f}", _share(scores.context), _share(scores.search)]
        rows.append(tuple(row))
    return (tuple(head), *rows)


def silence_table(report: SilenceReport) -> Table:
    """Return the head, and a row for each family of nonsense: how much of it found nothing."""
    rows = [(one.family, f"{one.queries:,}", _share(one.share), f"{one.results:.1f}") for one in report.families]
    return (("", "queries", "found nothing", "results"), *rows)


def loss_table(report: SilenceReport) -> Table:
    """Return the head, and a row for each group of questions: evidence found with the gate and without it."""
    rows = [
        (one.group, f"{one.questions:,}", _share(one.gated), _share(one.open), f"{one.lost:+.3f}")
        for one in report.groups
    ]
    return (("", "questions", "recall@10", "without gate", "lost"), *rows)


def protocol_lines(protocol: Protocol) -> list[str]:
    """Return the protocol as lines for people."""
    least, mean, most = protocol.units_per_query
    took = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in protocol.seconds.items())
    changed = ", ".join(f"{name} = {value}" for name, value in protocol.settings.items())
    return [
        *protocol.notes,
        *(f"{what}: {number:,}" for what, number in protocol.counts.items()),
        f"{protocol.questions:,} questions, {protocol.corpora:,} corpora, {protocol.units:,} units;"
        f" units per query: {least:,} to {most:,}, mean {mean:,.1f}",
        f"memstrata {protocol.version} ({protocol.commit}); embedder: {protocol.embedder}",
        f"settings of the search that are not defaults: {changed or 'none'}",
        took,
    ]


def _row(scores: Scores) -> tuple[str, ...]:
    spread = scores.intervals[_SPREAD]
    return (
        scores.group,
        f"{scores.questions:,}",
        f"{scores.units:,.0f}",
        f"{scores.results:.0f}",
        *(_share(scores.means[name]) for name in _COLUMNS),
        f"{_share(spread.low)}–{_share(spread.high)}",
    )


def _group(scores: Scores) -> Mapping[str, object]:
    return {
        "group": scores.group,
        "questions": scores.questions,
        "units": round(scores.units, 1),
        "results": round(scores.results, 1),
        "metrics": {name: round(mean, 4) for name, mean in scores.means.items()},
        "intervals": {
            name: [round(interval.low, 4), round(interval.high, 4)] for name, interval in scores.intervals.items()
        },
    }


def _share(value: float) -> str:
    return f"{value:.3f}"
