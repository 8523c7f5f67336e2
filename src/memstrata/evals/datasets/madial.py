"""MADial-Bench: memories of children, and dialogues in which an assistant should think of one of them; zh and en.

Read from a folder with `MADial-Bench-<language>-memory.json` and `-dialogue.json`, one JSON object per line each. The
authors' own rankings were asked with the whole dialogue, so their figures are not strictly comparable with these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from memstrata.evals.dataset import Dataset, Question, Unit
from memstrata.evals.datasets.builder import Builder
from memstrata.evals.datasets.source import json_values, texts_of
from memstrata.evals.datasets.times import Timeline

__all__ = ["MadialLanguage", "query_of", "read_madial"]

MadialLanguage = Literal["zh", "en"]

_USER_TURNS = 4
_CORPUS = "memories"
_LABEL = re.compile(r"\s*<(?P<speaker>[^<>]{1,40})>\s*[:：]\s*(?P<text>.*)", re.DOTALL)
_QUOTES = '"“”<> \n'


def read_madial(path: Path, language: MadialLanguage = "zh") -> Dataset:
    """Read one language. Raises InvalidRequest if its files are not there."""
    builder = Builder(
        f"madial-{language}",
        "unit: one memory, indexed as its `event` alone",
        f"query: the last {_USER_TURNS} user turns, or as many as there are, before the first test turn",
        "a turn without a speaker is the assistant's at an even place, else the user's",
    )
    builder.add_corpus(_CORPUS, _units(path / f"MADial-Bench-{language}-memory.json", builder))
    for number, dialogue in enumerate(json_values(path / f"MADial-Bench-{language}-dialogue.json")):
        turns = [turn.text() for turn in dialogue.need("dialogue").items()]
        tests = [turn.value for turn in dialogue.need("test-turn").items() if isinstance(turn.value, int)]
        if not tests:
            builder.count("dialogues without a test turn")
            continue
        before = turns[: max(min(tests), 0)]
        builder.count("turns without a speaker", sum(not _LABEL.match(turn) for turn in before[1:]))
        builder.add_question(
            Question(
                question_id=str(number),
                corpus_id=_CORPUS,
                text=query_of(before),
                gold=frozenset(texts_of(dialogue.get("relevant-id"))),
                category=language,
            )
        )
    return builder.built()


def query_of(turns: Sequence[str]) -> str:
    """Return the last user turns of a dialogue's start, one per line, without speaker and quotes.

    The first turn of every dialogue is its opening mark; user and assistant alternate from the second.
    """
    said = [text for place, turn in enumerate(turns) if place > 0 and (text := _user_text(place, turn))]
    return "\n".join(said[-_USER_TURNS:])


def _user_text(place: int, turn: str) -> str:
    label = _LABEL.match(turn)
    if label is None:
        return "" if place % 2 == 0 else turn.strip(_QUOTES)
    return "" if label["speaker"].lower() == "assistant" else label["text"].strip(_QUOTES)


def _units(file: Path, builder: Builder) -> Iterator[Unit]:
    timeline = Timeline(builder)
    for line in json_values(file):
        for memory_id, memory in line.fields().items():
            timeline.tell(memory.name("time"))
            yield Unit(memory_id, memory.need("event").text(), "user", timeline.take(), _CORPUS)
