"""The raw rankings as a file: one JSON object per line, so that any figure can be computed again, or another one.

Ids, scores and times only: neither questions nor texts of a data set are copied, because its licence may forbid it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from memstrata.clock import to_iso
from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import Question
from memstrata.evals.layered import Reached
from memstrata.evals.ranker import Ranking

__all__ = ["default_name", "layered_line", "ranking_line", "write_lines"]


def default_name(dataset: str, kind: str, now: datetime) -> str:
    """Return the name of a file that is told none: what was measured, of which set, when."""
    return f"eval-{kind}-{dataset}-{now:%Y%m%dT%H%M%SZ}.jsonl"


def ranking_line(view: str, ranking: Ranking) -> Mapping[str, object]:
    """Return the line of one question."""
    ranked = [[unit_id, round(score, 6)] for unit_id, score in ranking.ranked]
    return {"view": view, **_question(ranking.question), "ranked": ranked}


def layered_line(reached: Reached) -> Mapping[str, object]:
    """Return the line of one question of the layered measurement."""
    return {
        **_question(reached.question),
        "context": {reach: list(units) for reach, units in reached.context.items()},
        "search": {reach: list(units) for reach, units in reached.search.items()},
    }


def write_lines(file: Path, lines: Iterable[Mapping[str, object]]) -> None:
    """Write the lines to a new file. Raises InvalidRequest if there is one already or it cannot be written."""
    try:
        with file.open("x", encoding="utf-8") as out:
            for line in lines:
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
    except FileExistsError:
        raise InvalidRequest("is there already", field=str(file)) from None
    except OSError as error:
        raise InvalidRequest(f"cannot be written ({error.strerror or error})", field=str(file)) from None


def _question(question: Question) -> Mapping[str, object]:
    pair = question.pair
    told: dict[str, object] = {
        "question": question.question_id,
        "corpus": question.corpus_id,
        "category": question.category,
        "gold": sorted(question.gold),
    }
    if question.asked_at is not None:
        told["asked_at"] = to_iso(question.asked_at)
    if pair is not None:
        told["pair"] = {"kind": pair.kind, "older": sorted(pair.older), "newer": sorted(pair.newer)}
    return told
