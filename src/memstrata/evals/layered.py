"""Whether the layers help: the evidence behind what recall injects, against a search of the messages alone.

What recall puts into a prompt is followed back to the messages that it rests on: the memories (L1), then also the listed
scenes (L2), then also the persona (L3). A search of L0 is given as many messages, question by question, and the same
evidence is counted in both. No model answers and no model judges; one may distill, if the settings name it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from memstrata.evals.dataset import Dataset, Question
from memstrata.evals.metrics import recall_at
from memstrata.evals.moment import asking_time
from memstrata.evals.ranker import Progress, asked_text, search_units
from memstrata.evals.scores import grouped
from memstrata.evals.workspace import Shelf, Workspace, opened
from memstrata.memory import Memory
from memstrata.records import Message, PipelineStatus, Recall
from memstrata.settings import Settings

__all__ = [
    "REACHES",
    "LayeredRun",
    "LayeredScores",
    "Reach",
    "Reached",
    "injected_ids",
    "layered_scores",
    "measure_layers",
    "named_scenes",
    "not_distilled",
]

Reach = Literal["L1", "L1+L2", "L1+L2+L3"]
"""How much of the injected context is followed back."""

REACHES: tuple[Reach, ...] = get_args(Reach)

_MEMORY_LINE = "- ["  # what a memory's line in the injected block starts with
_SCENE_LINE = "- "
_PERSONA_START, _SCENES_START, _SCENES_END = "<user-persona ", "<scene-navigation ", "</scene-navigation>"
_PATIENCE_SECONDS = 3_600.0  # for one corpus; a model may need it


@dataclass(frozen=True, slots=True)
class Reached:
    """What one question reached: by reach, the units behind the context, and as many that search alone gave."""

    question: Question
    context: Mapping[Reach, tuple[str, ...]]
    search: Mapping[Reach, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class LayeredRun:
    """All questions of a data set. `distiller` says what distilled, `unfinished` what did not get distilled, by reason."""

    reached: tuple[Reached, ...]
    distiller: str
    memories: int
    scenes: int
    personas: int
    unfinished: Counter[str]
    degraded: Counter[str]
    seconds_distilling: float
    seconds_asking: float


@dataclass(frozen=True, slots=True)
class LayeredScores:
    """Evidence recall of one group at one reach, from 0 to 1.

    `units` is how many messages stood behind the context, on average, and `searched` how many of as many search gave: it
    may end earlier, at its floor.
    """

    group: str
    reach: Reach
    questions: int
    units: float
    searched: float
    context: float
    search: float


@dataclass(slots=True)
class _Links:
    """Back-links of a corpus that are followed once: scenes and persona are the same for every question."""

    memories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    scenes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    persona: tuple[str, ...] | None = None


async def measure_layers(dataset: Dataset, settings: Settings, progress: Progress = lambda *_: None) -> LayeredRun:
    """Store and distill each corpus with the distiller of the settings, then ask its questions."""
    total = sum(len(corpus.units) for corpus in dataset.corpora)
    unfinished: Counter[str] = Counter()
    degraded: Counter[str] = Counter()
    reached: list[Reached] = []
    made = [0, 0, 0]
    distiller = ""
    started = time.perf_counter()
    async with opened(settings, distills=True) as workspace:
        await workspace.store(dataset.corpora, lambda done: progress("store", done, total))
        for number, corpus in enumerate(dataset.corpora, start=1):
            shelf = workspace.shelves[corpus.corpus_id]
            distiller, left = await _distilled(workspace, shelf)
            unfinished.update(left)
            for at, count in enumerate(await _made(workspace.memory, shelf)):
                made[at] += count
            progress("distill", number, len(dataset.corpora))
        distilled = time.perf_counter()
        links = {corpus.corpus_id: _Links() for corpus in dataset.corpora}
        for number, question in enumerate(dataset.questions, start=1):
            shelf = workspace.shelves[question.corpus_id]
            with workspace.clock.at(asking_time(question, shelf.corpus)):
                one, missing = await _reached(workspace.memory, shelf, links[question.corpus_id], question)
            reached.append(one)
            degraded.update(missing)
            progress("ask", number, len(dataset.questions))
        asked = time.perf_counter()
    return LayeredRun(
        reached=tuple(reached),
        distiller=distiller,
        memories=made[0],
        scenes=made[1],
        personas=made[2],
        unfinished=unfinished,
        degraded=degraded,
        seconds_distilling=distilled - started,
        seconds_asking=asked - distilled,
    )


def layered_scores(dataset: Dataset, reached: Sequence[Reached]) -> list[LayeredScores]:
    """Return the figures of all questions, the subsets and the categories, at each reach."""
    groups = grouped([one.question for one in reached], dataset.subsets)
    return [
        _score(group, reach, [reached[place] for place in places])
        for group, places in groups.items()
        for reach in REACHES
    ]


def injected_ids(recall: Recall) -> tuple[str, ...]:
    """Return the ids of the memories that are in the injected block, not those that its budget left out.

    The block has one line per memory, instructions first, and ends early where the budget does.
    """
    lines = sum(line.startswith(_MEMORY_LINE) for line in recall.prepend_context.splitlines())
    shown = sorted(recall.hits, key=lambda hit: hit.item.type != "instruction")
    return tuple(hit.item.memory_id for hit in shown[:lines])


def named_scenes(recall: Recall) -> tuple[str, ...]:
    """Return the paths of the scenes that the injected index names: as many as its budgets left room for, in their order."""
    _, _, index = recall.append_system_context.partition(_SCENES_START)
    lines = index.partition(_SCENES_END)[0].splitlines()
    return tuple(scene.path for scene in recall.scenes[: sum(line.startswith(_SCENE_LINE) for line in lines)])


def not_distilled(status: PipelineStatus) -> list[str]:
    """Return why something of a corpus was not distilled after the wait; empty when all of it was."""
    left = [
        f"{layer}: {state.last_error or f'{state.parked} messages put aside'}"
        for layer, state in status.layers.items()
        if state.state == "dead" or state.parked or state.last_error
    ]
    return left or ([] if status.idle else ["not done in time"])


def _score(group: str, reach: Reach, reached: Sequence[Reached]) -> LayeredScores:
    count = len(reached)

    def mean(found: Iterable[tuple[tuple[str, ...], Question]]) -> float:
        return sum(recall_at(len(units), units, question.gold) for units, question in found) / count

    return LayeredScores(
        group=group,
        reach=reach,
        questions=count,
        units=sum(len(one.context[reach]) for one in reached) / count,
        searched=sum(len(one.search[reach]) for one in reached) / count,
        context=mean((one.context[reach], one.question) for one in reached),
        search=mean((one.search[reach], one.question) for one in reached),
    )


async def _distilled(workspace: Workspace, shelf: Shelf) -> tuple[str, list[str]]:
    status = await workspace.memory.flush(shelf.scope, wait_seconds=_PATIENCE_SECONDS)
    return status.distiller, not_distilled(status)


async def _made(memory: Memory, shelf: Shelf) -> tuple[int, int, int]:
    persona = await memory.persona(shelf.scope)
    return (
        await memory.count_memories(shelf.scope),
        len(await memory.scenes(shelf.scope)),
        int(persona is not None and bool(persona.body)),
    )


async def _reached(memory: Memory, shelf: Shelf, links: _Links, question: Question) -> tuple[Reached, tuple[str, ...]]:
    recall = await memory.recall(shelf.scope, asked_text(question.text))
    memories = [unit for one in injected_ids(recall) for unit in await _of_memory(memory, shelf, links, one)]
    listed = named_scenes(recall)
    scenes = [unit for one in listed for unit in await _of_scene(memory, shelf, links, one)]
    persona = await _of_persona(memory, shelf, links) if _PERSONA_START in recall.append_system_context else ()
    context: Mapping[Reach, tuple[str, ...]] = {
        "L1": tuple(dict.fromkeys(memories)),
        "L1+L2": tuple(dict.fromkeys([*memories, *scenes])),
        "L1+L2+L3": tuple(dict.fromkeys([*memories, *scenes, *persona])),
    }
    most = max(len(units) for units in context.values())
    ranked, missing = await search_units(memory, shelf, question.text, most) if most else ((), ())
    ids = tuple(unit_id for unit_id, _ in ranked)
    search = {reach: ids[: len(units)] for reach, units in context.items()}
    return Reached(question, context, search), (*recall.degraded, *missing)


async def _of_memory(memory: Memory, shelf: Shelf, links: _Links, memory_id: str) -> tuple[str, ...]:
    if memory_id not in links.memories:
        evidence = await memory.trace(shelf.scope, memory_id)
        links.memories[memory_id] = _units(shelf, evidence.messages)
    return links.memories[memory_id]


async def _of_scene(memory: Memory, shelf: Shelf, links: _Links, path: str) -> tuple[str, ...]:
    if path not in links.scenes:
        evidence = await memory.trace_scene(shelf.scope, path)
        links.scenes[path] = _units(shelf, (one for support in evidence.supports for one in support.messages))
    return links.scenes[path]


async def _of_persona(memory: Memory, shelf: Shelf, links: _Links) -> tuple[str, ...]:
    if links.persona is None:
        evidence = await memory.trace_persona(shelf.scope)
        links.persona = _units(shelf, (one for support in evidence.supports for one in support.messages))
    return links.persona


def _units(shelf: Shelf, messages: Iterable[Message]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(shelf.unit_of[message.message_id] for message in messages))
