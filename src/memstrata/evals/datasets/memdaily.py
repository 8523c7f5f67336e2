"""MemDaily (of MemSim): Chinese messages about everyday life, with questions that name the messages which answer them.

Read from the published `memdaily.json`, families and topics one within the other, or from a folder of part files, one
list of trajectories each, named like `02_conditional_roles.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from memstrata.evals.dataset import Dataset, Question, Unit
from memstrata.evals.datasets.builder import Builder
from memstrata.evals.datasets.source import files_in, id_of, json_values, texts_of
from memstrata.evals.datasets.times import Timeline, written_time
from memstrata.transfer.node import Node

__all__ = ["read_memdaily"]

_PART = re.compile(r"(?:\d+_)?(?P<family>[a-z_]+?)_(?P<topic>[a-z]+)")


def read_memdaily(path: Path) -> Dataset:
    """Read a file or a folder of part files. Raises InvalidRequest with the place of what cannot be read."""
    builder = Builder(
        "memdaily",
        "unit: one message, indexed without its place; evidence: `target_step_id`",
        "each trajectory is a corpus; pooled: all trajectories of a family together",
        "the choices of a question are not part of the query",
    )
    for family, topic, trajectory in _trajectories(path):
        corpus_id = f"{family}/{topic}/{id_of(trajectory.need('tid'))}"
        builder.add_corpus(corpus_id, _units(trajectory, builder), pool=family)
        for number, node in enumerate(trajectory.need("question_list").items()):
            asked = node.name("time")
            builder.add_question(
                Question(
                    question_id=f"{corpus_id}/{node.name('qid') or number}",
                    corpus_id=corpus_id,
                    text=node.need("question").text(),
                    gold=frozenset(texts_of(node.get("target_step_id"))),
                    category=family,
                    asked_at=written_time(asked) if asked else None,
                )
            )
    return builder.built()


def _trajectories(path: Path) -> Iterator[tuple[str, str, Node]]:
    for file in files_in(path, "*.json") if path.is_dir() else [path]:
        part = _PART.fullmatch(file.stem)
        family, topic = (part["family"], part["topic"]) if part else (file.stem, "all")
        for root in json_values(file):
            if root.is_list():
                yield from ((family, topic, trajectory) for trajectory in root.items())
                continue
            for outer, topics in root.fields().items():
                for inner, found in topics.fields().items():
                    yield from ((outer, inner, trajectory) for trajectory in found.items())


def _units(trajectory: Node, builder: Builder) -> Iterator[Unit]:
    timeline = Timeline(builder)
    for message in trajectory.need("message_list").items():
        timeline.tell(message.name("time"))
        text = message.need("message").text()
        yield Unit(id_of(message.need("mid")), text, "user", timeline.take(), "days")
