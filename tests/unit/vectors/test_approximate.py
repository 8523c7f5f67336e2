from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memstrata.errors import InvalidRequest
from memstrata.vectors.approximate import ApproximateIndex
from memstrata.vectors.exact import ExactIndex
from memstrata.vectors.index_file import Stored, Unusable, read_index, write_index
from memstrata.vectors.quantized import Quantized

pytestmark = pytest.mark.usefixtures("faiss_there")

COUNT = 4_000
Made = Callable[..., tuple[ApproximateIndex, ExactIndex]]


def built(rows: Any, seqs: Any, inverted_from: int) -> Stored:
    def chunks() -> Any:
        for start in range(0, len(seqs), 700):
            yield seqs[start : start + 700], rows[start : start + 700].astype(np.float16)

    base, found = Quantized.build(chunks, len(seqs), rows.shape[1], inverted_from=inverted_from)
    return Stored(base, found, np.ones(len(found), dtype=bool))


@pytest.fixture(params=[10**9, 1_000], ids=["all rows compared", "inverted lists"])
def both(request: pytest.FixtureRequest, clustered: Callable[..., Any]) -> tuple[ApproximateIndex, ExactIndex]:
    """Return an approximate and an exact index of the same rows; seqs are the even numbers."""
    rows, seqs = clustered(COUNT), 2 * np.arange(COUNT)
    exact = ExactIndex(32)
    exact.add(seqs, rows)
    return ApproximateIndex(built(rows, seqs, request.param)), exact


def recall(index: ApproximateIndex, exact: ExactIndex, queries: Any, allowed: set[int] | None = None) -> float:
    shares = []
    for query in queries:
        right = {seq for seq, _ in exact.search(query, 10, allowed)}
        found = {seq for seq, _ in index.search(query, 10, allowed)}
        shares.append(len(right & found) / max(1, len(right)))
    return float(np.mean(shares))


def test_it_finds_what_the_exact_index_finds(
    both: tuple[ApproximateIndex, ExactIndex], clustered: Callable[..., Any]
) -> None:
    index, exact = both
    assert len(index) == COUNT
    assert recall(index, exact, clustered(30, seed=2)) >= 0.98


@pytest.mark.parametrize("share", [0.5, 0.01, 0.001])
def test_a_filter_holds_inside_the_search_so_that_few_allowed_rows_are_all_found(
    both: tuple[ApproximateIndex, ExactIndex], clustered: Callable[..., Any], share: float
) -> None:
    index, exact = both
    chance = np.random.default_rng(3)
    allowed = set((2 * np.flatnonzero(chance.random(COUNT) < share)).tolist()) | {1, 10**12, -5}
    assert recall(index, exact, clustered(30, seed=2), allowed) >= 0.98
    assert all(seq in allowed for query in clustered(5, seed=4) for seq, _ in index.search(query, 10, allowed))


def test_rows_that_come_and_go_afterwards_are_found_and_not_found_at_once(
    both: tuple[ApproximateIndex, ExactIndex], clustered: Callable[..., Any]
) -> None:
    index, exact = both
    newer = clustered(300, seed=5)
    query = newer[0]
    nearest = [seq for seq, _ in exact.search(query, 50)]
    for one in (index, exact):
        one.add(np.arange(100_000, 100_300), newer)
        one.add(np.array([nearest[10]]), newer[:1])  # a row of the base gets another vector
        assert one.remove(nearest[:10]) == 10
        assert one.remove(nearest[:10]) == 0
    assert len(index) == len(exact) == COUNT + 300 - 10
    found = [seq for seq, _ in index.search(query, 20)]
    assert not set(found) & set(nearest[:10])
    assert nearest[10] in found[:2]
    assert recall(index, exact, clustered(30, seed=2)) >= 0.98


def test_the_numbers_of_a_removed_row_are_overwritten(
    both: tuple[ApproximateIndex, ExactIndex], clustered: Callable[..., Any]
) -> None:
    index, _ = both
    position = 1_234
    index.remove([2 * position])
    everywhere = np.ones(COUNT, dtype=bool)
    found = dict(zip(*index._base.rows.nearest(clustered(1)[0], COUNT, everywhere), strict=True))
    assert found[position] == 0.0
    assert sum(score == 0.0 for score in found.values()) == 1


def test_an_index_wears_out_when_much_has_come_or_gone(clustered: Callable[..., Any]) -> None:
    rows = clustered(25_000, 4)
    index = ApproximateIndex(built(rows, np.arange(25_000), 10**9))
    index.remove(range(20_000))
    assert not index.worn
    index.add(np.array([30_000]), rows[:1])
    assert index.worn


def test_rows_out_of_order_are_refused(clustered: Callable[..., Any]) -> None:
    rows = clustered(4)
    with pytest.raises(InvalidRequest, match="ascending"):
        Quantized.build(lambda: [(np.array([3, 4]), rows[:2]), (np.array([1, 2]), rows[2:])], 4, 32)


def test_without_rows_nothing_is_found(clustered: Callable[..., Any]) -> None:
    index = ApproximateIndex(built(clustered(0), np.arange(0), 10**9))
    assert index.search(clustered(1)[0], 5) == []
    assert index.search(clustered(1)[0], 5, {1}) == []
    assert index.remove([1]) == 0


def test_what_was_written_is_read_back_with_its_removals(
    both: tuple[ApproximateIndex, ExactIndex], clustered: Callable[..., Any], tmp_path: Path
) -> None:
    index, exact = both
    index.remove([2, 4])
    exact.remove([2, 4])
    write_index(tmp_path / "deep" / "one.vectors", "m/1", index.snapshot())
    stored = read_index(tmp_path / "deep" / "one.vectors", "m/1", 32)
    assert isinstance(stored, Stored)
    again = ApproximateIndex(stored)
    assert len(again) == COUNT - 2
    assert recall(again, exact, clustered(30, seed=2)) >= 0.98
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["one.vectors"]
    assert again.remove([6]) == 1


def test_a_damaged_file_is_never_used(clustered: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "one.vectors"
    write_index(path, "m/1", built(clustered(200), np.arange(200), 10**9))
    good = path.read_bytes()
    damaged = [good[:-1], good[: len(good) // 2], good[:40], b"", good + b"x", good[1:]]
    damaged += [good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :] for at in range(0, len(good), len(good) // 40)]
    for content in damaged:
        path.write_bytes(content)
        assert read_index(path, "m/1", 32) == Unusable("its checksum is wrong")
    path.write_bytes(good)
    assert isinstance(read_index(path, "m/1", 32), Stored)


@pytest.mark.parametrize(("embedder", "dimensions"), [("m/2", 32), ("m/1", 64)])
def test_a_file_of_another_embedder_is_not_used(
    clustered: Callable[..., Any], tmp_path: Path, embedder: str, dimensions: int
) -> None:
    path = tmp_path / "one.vectors"
    write_index(path, "m/1", built(clustered(50), np.arange(50), 10**9))
    assert read_index(path, embedder, dimensions) == Unusable("it is of another embedder")


def test_a_missing_file_and_a_folder_in_its_place_are_named(tmp_path: Path) -> None:
    assert read_index(tmp_path / "none", "m/1", 32) == Unusable("there is none yet")
    assert isinstance(read_index(tmp_path, "m/1", 32), Unusable)


def test_a_search_leaves_the_other_cores_to_other_searches(clustered: Callable[..., Any]) -> None:
    import faiss

    rows = clustered(2_000)
    index = ApproximateIndex(built(rows, np.arange(len(rows)), inverted_from=1_000))
    with ThreadPoolExecutor(1) as searcher:
        searcher.submit(faiss.omp_set_num_threads, 2).result()
        searcher.submit(index.search, rows[0], 10).result()
        assert searcher.submit(faiss.omp_get_max_threads).result() == 1
