"""Asks every question of its corpus through the library's own search, and keeps what came, in its order.

No search is written here: `Memory.search_messages` is what agents use, with the settings that agents use. So hybrid
search is measured by the same command once an embedder is configured.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from memstrata.evals.dataset import Dataset, Question
from memstrata.evals.moment import asking_time
from memstrata.evals.workspace import Shelf, opened
from memstrata.memory import MAX_SEARCH, Memory
from memstrata.settings import Settings
from memstrata.text.graphemes import cut

__all__ = ["Ranking", "RankingRun", "asked_text", "rank", "search_units"]

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What search gave for one question: unit ids with their scores, best first, each unit once."""

    question: Question
    ranked: tuple[tuple[str, float], ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The units alone."""
        return tuple(unit_id for unit_id, _ in self.ranked)


@dataclass(frozen=True, slots=True)
class RankingRun:
    """All rankings of a data set, and how they came about. `degraded` counts questions by what did not take part."""

    rankings: tuple[Ranking, ...]
    seconds_storing: float
    seconds_asking: float
    degraded: Counter[str]
    cut_queries: int
    split_parts: int


async def rank(dataset: Dataset, settings: Settings, progress: Progress = lambda *_: None) -> RankingRun:
    """Store a data set in a folder of its own and ask all its questions. Nothing is distilled.

    Raises what `Memory.open`, `add` and `search_messages` raise: a question that fails is no question without results.
    """
    total = sum(len(corpus.units) for corpus in dataset.corpora)
    rankings: list[Ranking] = []
    degraded: Counter[str] = Counter()
    started = time.perf_counter()
    async with opened(settings, distills=False) as workspace:
        await workspace.store(dataset.corpora, lambda done: progress("store", done, total))
        stored = time.perf_counter()
        for number, question in enumerate(dataset.questions, start=1):
            shelf = workspace.shelves[question.corpus_id]
            with workspace.clock.at(asking_time(question, shelf.corpus)):
                ranked, missing = await search_units(workspace.memory, shelf, question.text, dataset.depth)
            degraded.update(missing)
            rankings.append(Ranking(question, ranked))
            progress("ask", number, len(dataset.questions))
        asked = time.perf_counter()
        split_parts = sum(
            len(shelf.unit_of) - len(shelf.corpus.units) for shelf in workspace.shelves.values() if shelf.has_parts
        )
    return RankingRun(
        rankings=tuple(rankings),
        seconds_storing=stored - started,
        seconds_asking=asked - stored,
        degraded=degraded,
        cut_queries=sum(asked_text(question.text) != question.text for question in dataset.questions),
        split_parts=split_parts,
    )


async def search_units(
    memory: Memory, shelf: Shelf, query: str, limit: int
) -> tuple[tuple[tuple[str, float], ...], tuple[str, ...]]:
    """Return the first `limit` units that search gives with their scores, and what did not take part in the search."""
    # Where units are stored in parts, several results may be of one unit.
    asked = 2 * limit if shelf.has_parts else limit
    found = await memory.search_messages(shelf.scope, asked_text(query), limit=asked)
    scores: dict[str, float] = {}
    for hit in found.hits:
        scores.setdefault(shelf.unit_of[hit.item.message_id], hit.score)
    return tuple(scores.items())[:limit], found.degraded


def asked_text(query: str) -> str:
    """Return as much of a question as a search takes."""
    return cut(query, MAX_SEARCH)
