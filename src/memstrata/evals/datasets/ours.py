"""Our own set: statements about a person and the questions they answer, in twelve languages; comes with the package.

Columns: kind, language, statement, question and, for an update, the statement that it replaces. Kinds: `l` the question
shares words with the statement, `p` it does not (a paraphrase), `x` it is in another language, `u` the statement is the
newer of two. Written by hand for this project.
"""

from __future__ import annotations

from pathlib import Path

from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import Dataset, Question, StatementPair, Subset, Unit
from memstrata.evals.datasets.builder import Builder
from memstrata.evals.datasets.source import file_text
from memstrata.evals.datasets.times import Timeline

__all__ = ["KINDS", "OURS", "read_ours"]

OURS = Path(__file__).parents[1] / "data" / "multilingual.tsv"
"""Where the file is."""

KINDS = {"l": "shared words", "p": "paraphrase", "x": "cross-lingual", "u": "update"}
_CORPUS = "statements"


def read_ours(path: Path = OURS) -> Dataset:
    """Read the file, or another of the same form. Raises InvalidRequest with the line of what cannot be read."""
    rows = [
        _row(path, number, line) for number, line in enumerate(file_text(path).splitlines(), start=1) if line.strip()
    ]
    builder = Builder(
        "ours",
        "unit: one statement; all languages are one corpus",
        "the statements are a minute apart, in the order of the file; what an update replaces is said before all of them",
        subsets=[
            Subset(name, frozenset(f"{row[1]} {name}" for row in rows if KINDS[row[0]] == name))
            for name in KINDS.values()
        ],
    )
    timeline = Timeline(builder)
    units: list[Unit] = []
    for number, row in enumerate(rows, start=1):
        if row[4]:
            units.append(Unit(f"{number}-replaced", row[4], "user", timeline.take(), "before"))
    units += [Unit(str(number), row[2], "user", timeline.take(), "now") for number, row in enumerate(rows, start=1)]
    builder.add_corpus(_CORPUS, units)
    for number, (kind, language, _, question, replaced) in enumerate(rows, start=1):
        gold = frozenset([str(number)])
        pair = StatementPair("update", frozenset([f"{number}-replaced"]), gold) if replaced else None
        builder.add_question(Question(str(number), _CORPUS, question, gold, f"{language} {KINDS[kind]}", pair=pair))
    return builder.built()


def _row(path: Path, number: int, line: str) -> tuple[str, str, str, str, str]:
    kind, *rest = line.split("\t")
    wanted = 4 if kind == "u" else 3
    if kind not in KINDS or len(rest) != wanted or not all(part.strip() for part in rest):
        problem = f"expected {', '.join(KINDS)} and then {wanted} columns, tabs between them"
        raise InvalidRequest(problem, field=f"{path} line {number}")
    return (kind, rest[0], rest[1], rest[2], rest[3] if kind == "u" else "")
