from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.errors import InvalidRequest
from memstrata.vectors.exact import ExactIndex

DIMENSIONS = 8
Change = tuple[str, list[int]]


def row_of(seq: int, version: int) -> Any:
    row = np.random.default_rng((seq, version)).standard_normal(DIMENSIONS).astype(np.float32)
    return row / np.linalg.norm(row)


changes = st.lists(
    st.tuples(st.sampled_from(["add", "remove"]), st.lists(st.integers(0, 300), min_size=1, max_size=120)), max_size=12
)


@given(changes, st.integers(0, 60), st.none() | st.sets(st.integers(0, 300)), st.sampled_from([range(0), range(10**9)]))
def test_it_finds_what_comparing_every_row_finds_after_any_changes(
    done: list[Change], limit: int, allowed: set[int] | None, full_width: range
) -> None:
    index = ExactIndex(DIMENSIONS, full_width=full_width)
    there: dict[int, Any] = {}
    for version, (kind, seqs) in enumerate(done):
        if kind == "add":
            rows = np.stack([row_of(seq, version) for seq in seqs])
            index.add(np.array(seqs), rows)
            there.update(zip(seqs, rows, strict=True))
        else:
            assert index.remove(seqs) == len(set(seqs) & there.keys())
            for seq in seqs:
                there.pop(seq, None)
    query = row_of(1_000, 0)
    hits = index.search(query, limit, allowed)
    right = {seq: float(row @ query) for seq, row in there.items() if allowed is None or seq in allowed}
    tolerance = 1e-6 if full_width else 0.001  # half the width rounds to 11 bits
    assert len(index) == len(there)
    assert len(hits) == min(limit, len(right))
    assert len({seq for seq, _ in hits}) == len(hits)
    assert [score for _, score in hits] == pytest.approx([right[seq] for seq, _ in hits], abs=tolerance)
    best = sorted(right.values(), reverse=True)[: len(hits)]
    assert [score for _, score in hits] == pytest.approx(best, abs=tolerance)


def test_of_equal_rows_the_newest_comes_first_even_at_the_cut() -> None:
    index = ExactIndex(2)
    index.add(np.arange(10), np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (10, 1)))
    assert [seq for seq, _ in index.search(np.array([1.0, 0.0]), 3)] == [9, 8, 7]


def test_half_the_width_finds_the_same_rows_with_the_same_cosines(clustered: Callable[..., Any]) -> None:
    rows, queries = clustered(3_000, 384).astype(np.float16), clustered(20, 384, seed=2)
    rows[0, :3] = [0.0, 6e-8, -3e-5]  # what float16 cannot normalise
    wide, narrow = (ExactIndex(384, full_width=range(most)) for most in (10**9, 0))
    for index in (wide, narrow):
        index.add(np.arange(3_000), rows)
    assert narrow.memory_bytes < 0.52 * wide.memory_bytes
    for query in queries:
        one, other = wide.search(query, 3_000), narrow.search(query, 3_000)
        assert dict(one) == pytest.approx(dict(other), abs=1e-6)


def test_few_rows_and_very_many_are_kept_in_half_the_width() -> None:
    index, rows = ExactIndex(2), np.ones((25_000, 2), dtype=np.float16)
    index.add(np.arange(1_000), rows[:1_000])
    few = index.memory_bytes
    index.add(np.arange(1_000, 6_000), rows[:5_000])
    some = index.memory_bytes - few
    index.add(np.arange(6_000, 31_000), rows)
    assert few == 1_000 * (2 * 2 + 9)
    assert some == 5_000 * (2 * 4 + 9)
    assert index.memory_bytes - few - some < 33_000 * (2 * 2 + 9)  # the last block has room for more


def test_rows_that_come_one_by_one_do_not_move_those_that_are_there(clustered: Callable[..., Any]) -> None:
    index = ExactIndex(32)
    rows = clustered(1_000)
    index.add(np.array([0]), rows[:1])
    first = index._blocks[0]
    for seq in range(1, 1_000):
        index.add(np.array([seq]), rows[seq : seq + 1])
    assert index._blocks[0] is first
    assert len(index._blocks) < 20
    assert index.memory_bytes < 1.35 * rows.nbytes


def test_the_numbers_of_a_removed_row_are_overwritten(clustered: Callable[..., Any]) -> None:
    index = ExactIndex(32)
    index.add(np.arange(10), clustered(10))
    index.remove([3])
    assert not index._blocks[0]._rows[3].any()


def test_memory_is_given_back_when_most_rows_are_gone(clustered: Callable[..., Any]) -> None:
    index = ExactIndex(32)
    index.add(np.arange(4_000), clustered(4_000))
    before = index.memory_bytes
    index.remove(range(3_000))
    assert index.memory_bytes < 0.3 * before
    index.remove(range(3_000, 4_000))
    assert index.memory_bytes == 0


def test_a_search_that_began_before_a_removal_does_not_return_the_row(clustered: Callable[..., Any]) -> None:
    rows = clustered(1_000)
    index = ExactIndex(32)
    index.add(np.arange(1_000), rows)
    old = index._blocks[0]
    index.remove(range(600))  # the block is compacted
    index.remove([700])  # and its successor knows of this
    assert old is not index._blocks[0]
    assert set(np.flatnonzero(index._alive(old)).tolist()) == set(range(600, 1_000)) - {700}


@pytest.mark.parametrize(
    ("seqs", "rows"),
    [
        ([1], [[1.0, 0.0, 0.0]]),
        ([1, 2], [[1.0, 0.0]]),
        ([1], [[float("nan"), 0.0]]),
        ([[1]], [[1.0, 0.0]]),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_change_nothing(seqs: Any, rows: Any) -> None:
    index = ExactIndex(2)
    with pytest.raises(InvalidRequest):
        index.add(np.array(seqs), np.array(rows, dtype=np.float32))
    assert len(index) == 0


@pytest.mark.parametrize("query", [[1.0], [1.0, float("nan")], [[1.0, 0.0]]])
def test_a_query_that_does_not_fit_is_refused(query: Any) -> None:
    index = ExactIndex(2)
    index.add(np.array([1]), np.array([[1.0, 0.0]], dtype=np.float32))
    with pytest.raises(InvalidRequest):
        index.search(np.array(query), 5)


def test_an_empty_index_an_empty_filter_and_a_limit_of_nothing_find_nothing() -> None:
    index = ExactIndex(2)
    query = np.array([1.0, 0.0], dtype=np.float32)
    assert index.search(query, 5) == []
    index.add(np.array([1]), query[None])
    assert index.search(query, 5, set()) == []
    assert index.search(query, 0) == []
    assert index.search(query, 5, {1}) == [(1, 1.0)]
