"""LongMemEval: 500 questions, each with a haystack of its own (`longmemeval_s.json`, `_m`, `_oracle`, also `_cleaned`).

The 30 questions whose id ends in `_abs` ask for what was never said. They have no evidence to find and are left out, as
the authors' own retrieval figures leave them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from memstrata.evals.dataset import Dataset, Question, StatementPair, Unit
from memstrata.evals.datasets.builder import Builder
from memstrata.evals.datasets.source import json_values, texts_of
from memstrata.evals.datasets.times import Timeline, written_time
from memstrata.transfer.node import Node

__all__ = ["read_longmemeval"]

_DEPTH = 200  # its folding from turns to sessions reads on until it has ten different sessions


def read_longmemeval(path: Path) -> Dataset:
    """Read one of its files. Evidence of a question are the turns marked `has_answer`."""
    builder = Builder(
        "longmemeval",
        "unit: one turn, user and assistant, indexed as it is; evidence: turns marked `has_answer`",
        "each question has its own haystack; pooled: all haystacks of the file together",
        "questions that end in `_abs` are left out",
        "a knowledge update is judged by the last evidence session against the earlier ones",
        depth=_DEPTH,
    )
    for root in json_values(path):
        for entry in root.items() if root.is_list() else [root]:
            question_id = entry.need("question_id").text()
            if question_id.endswith("_abs"):
                builder.count("abstention questions left out")
                continue
            turns = list(_turns(entry, builder))
            builder.add_corpus(question_id, [unit for unit, _ in turns])
            evidence = [unit for unit, has_answer in turns if has_answer]
            category = entry.name("question_type") or "?"
            asked = entry.name("question_date")
            builder.add_question(
                Question(
                    question_id=question_id,
                    corpus_id=question_id,
                    text=entry.name("question") or "",
                    gold=frozenset(unit.unit_id for unit in evidence),
                    category=category,
                    asked_at=written_time(asked) if asked else None,
                    pair=_update(evidence) if category == "knowledge-update" else None,
                )
            )
    return builder.built()


def _turns(entry: Node, builder: Builder) -> Iterator[tuple[Unit, bool]]:
    ids = texts_of(entry.need("haystack_session_ids"))
    dates = texts_of(entry.get("haystack_dates"))
    sessions = list(entry.need("haystack_sessions").items())
    if len(ids) != len(sessions):
        raise entry.place.error(f"{len(ids)} session ids for {len(sessions)} sessions")
    timeline = Timeline(builder)
    seen: dict[str, int] = {}
    for number, (session_id, session) in enumerate(zip(ids, sessions, strict=True)):
        # A few haystacks hold the same session twice.
        seen[session_id] = seen.get(session_id, 0) + 1
        name = session_id if seen[session_id] == 1 else f"{session_id}#{seen[session_id]}"
        timeline.tell(dates[number] if number < len(dates) else None)
        for place, turn in enumerate(session.items(), start=1):
            marked = turn.get("has_answer")
            unit = Unit(
                unit_id=f"{name}_{place}",
                text=turn.need("content").text(),
                role="assistant" if turn.name("role") == "assistant" else "user",
                said_at=timeline.take(),
                session_id=name,
            )
            yield unit, marked is not None and marked.value is True


def _update(evidence: list[Unit]) -> StatementPair | None:
    began: Mapping[str, int] = {unit.session_id: unit.said_at for unit in reversed(evidence)}
    if len(began) < 2:
        return None
    last = max(began, key=began.__getitem__)
    newer = frozenset(unit.unit_id for unit in evidence if unit.session_id == last)
    return StatementPair("update", frozenset(unit.unit_id for unit in evidence) - newer, newer)
