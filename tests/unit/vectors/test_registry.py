import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memstrata.errors import InvalidRequest, Unavailable
from memstrata.testing import FakeClock
from memstrata.vectors.approximate import ApproximateIndex
from memstrata.vectors.registry import IndexRegistry

Build = Callable[..., IndexRegistry]


@pytest.fixture
def registry(rows: Any, clock: FakeClock, gate: threading.Event) -> Iterator[Build]:
    """Return a builder: `registry(large_rows=500)`; what it builds is closed at the end."""
    made: list[IndexRegistry] = []

    def build(**given: Any) -> IndexRegistry:
        usual: dict[str, Any] = {"large_rows": 500, "partial_rows": 100}
        made.append(IndexRegistry(rows, given.pop("embedder", "m/1"), 32, clock, **{**usual, **given}))
        return made[-1]

    yield build
    gate.set()
    for one in made:
        one.close()


def seqs_of(found: Any) -> list[int]:
    return [seq for seq, _ in found.hits]


def test_a_scope_is_loaded_once_and_finds_its_own_rows_alone(
    registry: Build, rows: Any, clustered: Callable[..., Any]
) -> None:
    vectors = clustered(200)
    rows.put("a", range(100), vectors[:100])
    rows.put("b", range(100, 200), vectors[100:])
    indexes = registry()
    for _ in range(3):
        assert indexes.search("a", vectors[150], 5).partial == ""
        assert seqs_of(indexes.search("b", vectors[150], 1)) == [150]
    assert set(seqs_of(indexes.search("a", vectors[150], 200))) == set(range(100))
    assert rows.loads == ["a", "b"]


def test_changes_reach_an_index_that_is_loaded_and_load_none(
    registry: Build, rows: Any, clustered: Callable[..., Any]
) -> None:
    vectors = clustered(20)
    rows.put("a", range(10), vectors[:10])
    indexes = registry()
    indexes.add("a", np.array([3]), vectors[3:4])
    indexes.remove("a", [3])
    assert rows.loads == []
    indexes.search("a", vectors[0], 1)
    indexes.add("a", np.array([15]), vectors[15:16])
    assert seqs_of(indexes.search("a", vectors[15], 1)) == [15]
    indexes.remove("a", [15])
    assert 15 not in seqs_of(indexes.search("a", vectors[15], 100))
    assert rows.loads == ["a"]


def test_a_small_scope_forgets_what_is_stored_no_more(
    registry: Build, rows: Any, clustered: Callable[..., Any]
) -> None:
    vectors = clustered(20)
    rows.put("a", range(20), vectors)
    indexes = registry()
    indexes.reconcile("a")  # not loaded: nothing to do
    assert seqs_of(indexes.search("a", vectors[7], 1)) == [7]
    rows.delete("a", [7])
    indexes.reconcile("a")
    assert sorted(seqs_of(indexes.search("a", vectors[7], 20))) == [n for n in range(20) if n != 7]
    assert rows.loads == ["a"]


def test_the_least_recently_used_scope_leaves_when_the_bytes_are_used_up(
    registry: Build, rows: Any, clustered: Callable[..., Any]
) -> None:
    vectors = clustered(100)
    for key in "abc":
        rows.put(key, range(100), vectors)
    indexes = registry(budget_bytes=2 * (100 * (2 * 32 + 9) + 2_048))
    for key in "abac":
        indexes.search(key, vectors[0], 1)
    assert indexes.status().scopes == 2
    indexes.search("a", vectors[0], 1)
    assert rows.loads == ["a", "b", "c"]
    indexes.search("b", vectors[0], 1)
    assert rows.loads == ["a", "b", "c", "b"]


def test_scopes_without_vectors_do_not_gather_without_end(registry: Build, clustered: Callable[..., Any]) -> None:
    indexes = registry(budget_bytes=20_480)
    for number in range(50):
        assert indexes.search(f"empty-{number}", clustered(1)[0], 5).hits == ()
    assert indexes.status().scopes <= 10


def test_rows_that_do_not_fit_are_refused_whether_or_not_the_scope_is_loaded(
    registry: Build, rows: Any, clustered: Callable[..., Any]
) -> None:
    indexes = registry()
    for _ in range(2):
        with pytest.raises(InvalidRequest):
            indexes.add("a", np.array([1]), clustered(1, 16))
        indexes.search("a", clustered(1)[0], 1)


def test_a_failure_to_read_is_raised_and_the_next_search_reads_again(
    registry: Build, rows: Any, clustered: Callable[..., Any]
) -> None:
    rows.put("a", range(10), clustered(10))
    rows.failing = Unavailable("the disk is away")
    indexes = registry()
    with pytest.raises(Unavailable):
        indexes.search("a", clustered(1)[0], 1)
    rows.failing = None
    assert len(indexes.search("a", clustered(1)[0], 5).hits) == 5


def test_searches_changes_and_evictions_in_many_threads_agree_with_what_is_stored(
    registry: Build, rows: Any, clustered: Callable[..., Any]
) -> None:
    vectors = clustered(400)
    keys = [f"s{number}" for number in range(4)]
    for key in keys:
        rows.put(key, range(200), vectors[:200])
    indexes = registry(budget_bytes=60_000)

    def work(number: int) -> None:
        key = keys[number % 4]
        own = range(number * 10, number * 10 + 10)
        for seq in own:
            rows.delete(key, [seq])
            indexes.remove(key, [seq])
            assert seq not in seqs_of(indexes.search(key, vectors[seq], 300))
            assert indexes.search(keys[(number + seq) % 4], vectors[seq], 3).hits

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(20)))
    for number, key in enumerate(keys):
        gone = {seq for worker in range(number, 20, 4) for seq in range(worker * 10, worker * 10 + 10)}
        assert set(seqs_of(indexes.search(key, vectors[0], 1_000))) == set(range(200)) - gone


@pytest.mark.parametrize("with_faiss", [None, False], ids=["faiss where it is installed", "NumPy alone"])
def test_a_large_scope_answers_in_part_and_says_so_until_its_index_is_built(
    registry: Build, rows: Any, clustered: Callable[..., Any], gate: threading.Event, with_faiss: bool | None
) -> None:
    vectors = clustered(1_000)
    rows.put("a", range(1_000), vectors)
    indexes = registry(with_faiss=with_faiss)
    opened = len(rows.loads) + 1
    rows.reading = lambda: gate.wait() if len(rows.loads) > opened else None
    found = indexes.search("a", vectors[950], 1)
    assert seqs_of(found) == [950]
    assert "newest 100" in found.partial
    assert seqs_of(indexes.search("a", vectors[5], 1))[0] >= 900
    rows.put("a", [2_000], clustered(1, seed=9))
    indexes.add("a", np.array([2_000]), clustered(1, seed=9))
    rows.delete("a", [7])
    indexes.remove("a", [7])
    gate.set()
    indexes.settle()
    assert seqs_of(indexes.search("a", vectors[5], 1)) == [5]
    assert indexes.search("a", vectors[5], 1).partial == ""
    assert seqs_of(indexes.search("a", clustered(1, seed=9)[0], 1)) == [2_000]
    assert 7 not in seqs_of(indexes.search("a", vectors[7], 1_000))


def test_a_build_that_fails_is_told_and_tried_again_after_a_rest(
    registry: Build, rows: Any, clustered: Callable[..., Any], clock: FakeClock
) -> None:
    vectors = clustered(1_000)
    rows.put("a", range(1_000), vectors)
    indexes = registry()

    def fail_in_builds() -> None:
        if threading.current_thread().name.startswith("vector-index"):
            raise Unavailable("the disk is away")

    rows.reading = fail_in_builds
    indexes.search("a", vectors[0], 1)
    indexes.settle()
    assert indexes.search("a", vectors[0], 1).partial
    indexes.settle()
    assert indexes.status().failures == 1
    assert "the disk is away" in indexes.status().last_failure
    rows.reading = lambda: None
    clock.advance(31)
    indexes.search("a", vectors[0], 1)
    indexes.settle()
    assert seqs_of(indexes.search("a", vectors[0], 1)) == [0]


@pytest.mark.usefixtures("faiss_there")
class TestWithFiles:
    """Indexes of large scopes over restarts."""

    @pytest.fixture
    def stored(self, rows: Any, clustered: Callable[..., Any]) -> Any:
        vectors = clustered(1_000)
        rows.put("a", range(1_000), vectors)
        return vectors

    def started(self, registry: Build, folder: Path, query: Any, **given: Any) -> IndexRegistry:
        indexes = registry(folder=folder, **given)
        indexes.search("a", query, 1)
        indexes.settle()
        return indexes

    def test_a_restart_uses_the_file_and_what_came_and_went_meanwhile(
        self, registry: Build, rows: Any, stored: Any, clustered: Callable[..., Any], tmp_path: Path
    ) -> None:
        self.started(registry, tmp_path, stored[0]).close()
        rows.put("a", [1_500], clustered(1, seed=9))
        rows.delete("a", [3])
        before = len(rows.loads)
        again = self.started(registry, tmp_path, stored[0])
        assert len(rows.loads) - before == 2  # the newest, and what is missing in the file; the rest was not read
        assert seqs_of(again.search("a", clustered(1, seed=9)[0], 1)) == [1_500]
        assert 3 not in seqs_of(again.search("a", stored[3], 1_000))
        assert seqs_of(again.search("a", stored[4], 1)) == [4]

    @pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:99] + b"\0" + data[100:]])
    def test_a_damaged_file_is_built_again(
        self, registry: Build, stored: Any, tmp_path: Path, damage: Callable[[bytes], bytes]
    ) -> None:
        self.started(registry, tmp_path, stored[0]).close()
        [file] = tmp_path.iterdir()
        good = file.read_bytes()
        file.write_bytes(damage(good))
        again = self.started(registry, tmp_path, stored[0])
        assert seqs_of(again.search("a", stored[4], 1)) == [4]
        assert file.read_bytes() == good

    def test_another_embedder_builds_its_own(self, registry: Build, stored: Any, tmp_path: Path) -> None:
        self.started(registry, tmp_path, stored[0]).close()
        [file] = tmp_path.iterdir()
        again = self.started(registry, tmp_path, stored[0], embedder="m/2")
        assert seqs_of(again.search("a", stored[4], 1)) == [4]
        assert b"m/2" in file.read_bytes()[:200]

    def test_the_file_goes_with_the_first_row_that_it_must_not_hold_and_comes_back_without_it(
        self, registry: Build, rows: Any, stored: Any, tmp_path: Path
    ) -> None:
        secret = stored[3].astype(np.float16).tobytes()
        indexes = self.started(registry, tmp_path, stored[0])
        [file] = tmp_path.iterdir()
        assert secret in file.read_bytes()
        rows.delete("a", [3])
        indexes.remove("a", [3])
        assert not file.exists()
        indexes.close()
        assert secret not in file.read_bytes()
        again = self.started(registry, tmp_path, stored[0])
        assert 3 not in seqs_of(again.search("a", stored[3], 1_000))

    def test_a_row_that_is_deleted_after_a_build_has_read_it_does_not_reach_the_disk(
        self, registry: Build, rows: Any, stored: Any, tmp_path: Path, gate: threading.Event
    ) -> None:
        read = 0
        reached = threading.Event()

        def wait_in_the_middle() -> None:
            nonlocal read
            if threading.current_thread().name.startswith("vector-index"):
                read += 1
                if read == 5:
                    reached.set()
                    gate.wait()

        rows.reading = wait_in_the_middle
        indexes = registry(folder=tmp_path)
        indexes.search("a", stored[0], 1)
        assert reached.wait(20)
        rows.delete("a", [3])
        indexes.remove("a", [3])
        gate.set()
        indexes.settle()
        [file] = tmp_path.iterdir()
        content = file.read_bytes()
        assert stored[4].astype(np.float16).tobytes() in content
        assert stored[3].astype(np.float16).tobytes() not in content
        assert 3 not in seqs_of(indexes.search("a", stored[3], 1_000))

    def test_what_is_stored_no_more_leaves_the_index_and_the_file_without_being_named(
        self, registry: Build, rows: Any, stored: Any, clustered: Callable[..., Any], tmp_path: Path
    ) -> None:
        indexes = self.started(registry, tmp_path, stored[0])
        newer = clustered(2, seed=9)
        rows.put("a", [1_500, 1_501], newer)
        indexes.add("a", np.array([1_500, 1_501]), newer)
        rows.delete("a", [3, 1_500])
        loads = len(rows.loads)
        indexes.reconcile("a")
        assert list(tmp_path.iterdir()) == []
        found = set(seqs_of(indexes.search("a", stored[3], 2_000)))
        assert {3, 1_500} & found == set()
        assert {4, 1_501} <= found
        assert len(rows.loads) == loads  # nothing was built again

    def test_a_dropped_scope_leaves_nothing(self, registry: Build, rows: Any, stored: Any, tmp_path: Path) -> None:
        indexes = self.started(registry, tmp_path, stored[0])
        rows.scopes.clear()
        indexes.drop("a")
        assert list(tmp_path.iterdir()) == []
        assert indexes.search("a", stored[0], 5).hits == ()

    def test_a_scope_that_is_dropped_while_it_is_built_leaves_nothing_either(
        self, registry: Build, rows: Any, stored: Any, tmp_path: Path, gate: threading.Event
    ) -> None:
        started = threading.Event()

        def wait_in_builds() -> None:
            if threading.current_thread().name.startswith("vector-index"):
                started.set()
                gate.wait()

        rows.reading = wait_in_builds
        indexes = registry(folder=tmp_path)
        indexes.search("a", stored[0], 1)
        assert started.wait(20)
        indexes.drop("a")
        gate.set()
        indexes.close()
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_cannot_be_written_costs_the_file_and_nothing_else(
        self, registry: Build, stored: Any, tmp_path: Path
    ) -> None:
        (tmp_path / "taken").write_text("a file where the folder should be")
        indexes = self.started(registry, tmp_path / "taken", stored[0])
        assert seqs_of(indexes.search("a", stored[4], 1)) == [4]
        assert "could not be written" in indexes.status().last_failure

    def test_no_scope_key_makes_the_file_lie_elsewhere(
        self, registry: Build, rows: Any, stored: Any, tmp_path: Path
    ) -> None:
        folder = tmp_path / "vectors"
        key = "../../etc/\0passwd\ud800"
        rows.put(key, range(1_000), stored)
        indexes = registry(folder=folder)
        indexes.search(key, stored[0], 1)
        indexes.settle()
        assert [path.parent for path in tmp_path.rglob("*.vectors")] == [folder]

    def test_a_small_scope_that_has_grown_large_gets_a_built_index(
        self, registry: Build, rows: Any, clustered: Callable[..., Any]
    ) -> None:
        vectors = clustered(600)
        rows.put("g", range(400), vectors[:400])
        indexes = registry()
        indexes.search("g", vectors[0], 1)
        rows.put("g", range(400, 600), vectors[400:])
        indexes.add("g", np.arange(400, 600), vectors[400:])
        indexes.settle()
        assert isinstance(indexes._entries["g"].index, ApproximateIndex)
        assert seqs_of(indexes.search("g", vectors[555], 1)) == [555]
