from __future__ import annotations

import tomllib
from pathlib import Path

import benchmarks
import pytest
from benchmarks.figures import flattened, targets
from benchmarks.suites.retrieval import short, stores
from benchmarks.vector_leg import shared

BENCHMARKS = Path(str(benchmarks.__file__)).parent


@pytest.mark.parametrize(
    ("count", "name"), [(300, "300"), (1_000, "1k"), (100_000, "100k"), (1_000_000, "1M"), (1_500, "1500")]
)
def test_sizes_have_short_names(count: int, name: str) -> None:
    assert short(count) == name


@pytest.mark.parametrize(
    ("most", "names"),
    [
        (10_000, ["1k", "10k", "100x100"]),
        (100_000, ["1k", "10k", "100k", "1000x100"]),
        (1_000_000, ["1k", "10k", "100k", "1M", "1000x1k"]),
    ],
)
def test_a_run_measures_every_size_up_to_its_own_and_its_own_over_many_scopes(most: int, names: list[str]) -> None:
    measured = list(stores(most))
    assert [store.name for store in measured] == names
    assert measured[-1].memories == most
    assert len({scope.team for scope in measured[-1].scopes}) == len(measured[-1].scopes)


def test_targets_and_references_are_of_stores_that_are_measured() -> None:
    tables = [
        tomllib.loads((BENCHMARKS / name).read_text(encoding="utf-8")) for name in ("targets.toml", "reference.toml")
    ]
    named = {*targets(tables[0]), *flattened(tables[1]["figures"])}
    there = {store.name for most in (100_000, 1_000_000) for store in stores(most)} | {"small_tenant"}
    retrieval = [name.split(".") for name in named if name.startswith("retrieval.")]
    assert retrieval
    assert all(there & set(parts) for parts in retrieval)


def test_what_is_found_is_counted_question_by_question() -> None:
    assert shared([[1, 2, 9], [4]], [[1, 2], [3, 4]]) == 0.75
