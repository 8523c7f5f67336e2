"""Small data sets in exactly the form of the public files, written into the test's folder. All texts are made up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memstrata.evals.dataset import Corpus, Dataset, Question, StatementPair, Subset, Unit


@pytest.fixture
def write_json(tmp_path: Path) -> Callable[[str, Any], Path]:
    """Return a way to write a value as a JSON file, or as one value per line with `lines=True`."""

    def write(name: str, value: Any, *, lines: bool = False) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(json.dumps(one) for one in value) if lines else json.dumps(value, indent=2)
        file.write_text(text, encoding="utf-8")
        return file

    return write


@pytest.fixture
def unit() -> Callable[..., Unit]:
    """Return a builder of units: `unit("a", "I live in Lisbon")`."""

    def build(unit_id: str, text: str = "", role: Any = "user", session_id: str = "s", said_at: int = 0) -> Unit:
        return Unit(unit_id, text or f"text of {unit_id}", role, said_at, session_id)

    return build


@pytest.fixture
def question() -> Callable[..., Question]:
    """Return a builder of questions: `question("q", {"a"})`."""

    def build(
        question_id: str, gold: set[str], corpus_id: str = "c", category: str = "k", pair: StatementPair | None = None
    ) -> Question:
        return Question(question_id, corpus_id, f"text of {question_id}", frozenset(gold), category, pair=pair)

    return build


@pytest.fixture
def dataset() -> Callable[..., Dataset]:
    """Return a builder of data sets: `dataset({"c": [unit, …]}, [question, …])`, pools by corpus id."""

    def build(
        corpora: dict[str, list[Unit]],
        questions: list[Question],
        *,
        name: str = "made",
        pools: dict[str, str] | None = None,
        subsets: tuple[Subset, ...] = (),
    ) -> Dataset:
        made = tuple(
            Corpus(corpus_id, (pools or {}).get(corpus_id, "all"), tuple(units)) for corpus_id, units in corpora.items()
        )
        return Dataset(name, made, tuple(questions), ("made for a test",), {}, subsets)

    return build
