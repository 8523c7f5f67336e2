"""The indexes of all scopes that are in use: loaded when one is searched, the least recently used leaving first.

A small scope is loaded by the search that needs it (5 000 rows take 7 ms). A large one is built in the background, and until
then the newest of its rows are searched and the answer says that it is partial. Changes that come while an index is built
are applied to it before it is used.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from memstrata.clock import Clock, Instant, milliseconds
from memstrata.vectors.approximate import ApproximateIndex
from memstrata.vectors.exact import ExactIndex, fit_rows
from memstrata.vectors.hits import seq_array
from memstrata.vectors.index_file import Stored
from memstrata.vectors.index_folder import IndexFolder
from memstrata.vectors.protocol import Allowed, Hit, VectorIndex, VectorRows
from memstrata.vectors.quantized import Quantized, faiss_installed

if TYPE_CHECKING:
    from memstrata.vectors.protocol import Matrix, Seqs

__all__ = ["LARGE_ROWS", "Found", "IndexRegistry", "RegistryStatus"]

LARGE_ROWS = 20_000
"""Above it faiss is faster than comparing rows with NumPy (5 ms against 19 at 50 000), in half the memory."""
_PARTIAL_ROWS = 20_000
_RETRY_SECONDS = 30.0
_ENTRY_BYTES = 2_048  # of a scope without vectors: searching thousands of empty ones must not grow without end


@dataclass(frozen=True, slots=True)
class Found:
    """The nearest rows. `partial` says why it may not be all of them; empty when every row was considered."""

    hits: tuple[Hit, ...]
    partial: str = ""


@dataclass(frozen=True, slots=True)
class RegistryStatus:
    """What is resident. `failures` are builds and files that failed since the start; `last_failure` holds no contents."""

    scopes: int
    memory_bytes: int
    building: int
    failures: int
    last_failure: str


@dataclass(slots=True, eq=False)
class _Entry:
    """One scope. `lock` orders its loading, its changes and the exchange of its index."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    index: VectorIndex | None = None
    partial: str = ""
    building: Future[None] | None = None
    changes: list[Callable[[VectorIndex], object]] = field(default_factory=list)
    failed_at: Instant | None = None
    removals: int = 0
    saved: bool = False  # the file holds what the base holds
    gone: bool = False  # no longer told of changes


class IndexRegistry:
    """Indexes by scope key, for vectors of one embedder. Blocking and safe for threads; call it from worker threads.

    `folder` is where indexes of large scopes are kept over restarts; without one, and without faiss, they are built anew.
    `with_faiss` None uses faiss where it is installed.
    A row counts as stored before it is added here, and as deleted before it is removed here.
    """

    def __init__(
        self,
        rows: VectorRows,
        embedder: str,
        dimensions: int,
        clock: Clock,
        *,
        budget_bytes: int = 1_024 * 1024 * 1024,
        folder: Path | None = None,
        large_rows: int = LARGE_ROWS,
        partial_rows: int = _PARTIAL_ROWS,
        with_faiss: bool | None = None,
    ) -> None:
        self._rows = rows
        self._dimensions = dimensions
        self._clock = clock
        self._budget_bytes = budget_bytes
        self._folder = IndexFolder(folder, embedder, dimensions)
        self._large_rows = large_rows
        self._partial_rows = partial_rows
        self._faiss = faiss_installed() if with_faiss is None else with_faiss
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()
        self._builder = ThreadPoolExecutor(1, thread_name_prefix="vector-index")
        self._closed = False

    def search(self, scope_key: str, query: Matrix, limit: int, allowed: Allowed | None = None) -> Found:
        """Return the nearest rows of a scope. Raises what reading its rows raises."""
        while True:
            entry = self._entry(scope_key)
            with entry.lock:
                is_new = entry.index is None
                index = self._load(scope_key, entry) if entry.index is None else entry.index
                partial = entry.partial
                if partial:
                    self._build(scope_key, entry)
            if (
                is_new
            ):  # adding up a thousand scopes takes milliseconds; rows that are added are counted with the next load
                self._evict(scope_key)
            hits = index.search(query, limit, allowed)
            if not entry.gone:
                return Found(tuple(hits), partial)

    def add(self, scope_key: str, seqs: Seqs, rows: Matrix) -> None:
        """Take rows that were stored. A scope that nobody has searched stays unloaded. Raises InvalidRequest."""
        seqs, wide = fit_rows(seqs, rows, self._dimensions)
        self._change(scope_key, lambda index: index.add(seqs, wide))

    def remove(self, scope_key: str, seqs: Allowed) -> None:
        """Forget rows that were deleted: in memory at once, and the file that may hold them is deleted."""
        gone = seq_array(seqs)
        self._change(scope_key, lambda index: index.remove(gone), removes=True)
        self._folder.delete(scope_key)

    def reconcile(self, scope_key: str) -> None:
        """Forget what is no longer stored, where it is not known which rows went; the file that may hold them is deleted.

        Raises what reading the rows raises.
        """
        with self._lock:
            entry = self._entries.get(scope_key)
        if entry is not None:
            # With the lock no row can be added between the look at what is stored and the forgetting of the rest.
            with entry.lock:
                there = self._rows.seqs(scope_key)
                self._change(scope_key, lambda index: index.keep_only(there), removes=True)
        self._folder.delete(scope_key)

    def drop(self, scope_key: str) -> None:
        """Forget a whole scope, in memory and on disk."""
        with self._lock:
            entry = self._entries.pop(scope_key, None)
        if entry is not None:
            with entry.lock:
                entry.gone = True
                entry.removals += 1
        self._folder.delete(scope_key)

    def status(self) -> RegistryStatus:
        with self._lock:
            entries = list(self._entries.values())
        indexes = [entry.index for entry in entries]
        return RegistryStatus(
            len(entries),
            sum(index.memory_bytes for index in indexes if index is not None),
            sum(entry.building is not None for entry in entries),
            self._folder.failures,
            self._folder.last_failure,
        )

    def settle(self) -> None:
        """Wait until no index is being built."""
        while True:
            with self._lock:
                builds = [entry.building for entry in self._entries.values() if entry.building is not None]
            if not builds:
                return
            for build in builds:
                build.result()

    def close(self) -> None:
        """Let the build under way end, write what is not on disk, and forget all indexes."""
        self._closed = True
        self._builder.shutdown(cancel_futures=True)
        with self._lock:
            entries = list(self._entries.items())
            self._entries.clear()
        for scope_key, entry in entries:
            if isinstance(entry.index, ApproximateIndex) and not entry.saved:
                self._save(scope_key, entry, entry.index)

    def _entry(self, scope_key: str) -> _Entry:
        with self._lock:
            entry = self._entries.setdefault(scope_key, _Entry())
            self._entries.move_to_end(scope_key)
            return entry

    def _change(self, scope_key: str, change: Callable[[VectorIndex], object], *, removes: bool = False) -> None:
        with self._lock:
            entry = self._entries.get(scope_key)
        if entry is None:
            return
        with entry.lock:
            if removes:
                entry.removals += 1
                entry.saved = False
            if entry.building is not None:
                entry.changes.append(change)
            if entry.index is None:
                return
            change(entry.index)
            worn = isinstance(entry.index, ApproximateIndex) and entry.index.worn
            grown = isinstance(entry.index, ExactIndex) and self._faiss and len(entry.index) > self._large_rows
            if worn or grown:
                self._build(scope_key, entry)

    def _load(self, scope_key: str, entry: _Entry) -> VectorIndex:
        index, after, partial = ExactIndex(self._dimensions), -1, ""
        if self._rows.count(scope_key) > self._large_rows:
            seqs = self._rows.seqs(scope_key)
            if len(seqs) > self._partial_rows:
                after = int(seqs[-self._partial_rows - 1])
                partial = (
                    f"the index of {len(seqs)} vectors is being built, the newest {self._partial_rows} were searched"
                )
        for seqs, rows in self._rows.chunks(scope_key, after):
            index.add(seqs, rows)
        entry.index, entry.partial = index, partial
        return index

    def _build(self, scope_key: str, entry: _Entry) -> None:
        """Start to build, unless it is done already or has just failed. Called with the entry's lock."""
        now = self._clock.now()
        resting = entry.failed_at is not None and now < entry.failed_at + milliseconds(_RETRY_SECONDS)
        if entry.building is not None or resting or self._closed:
            return
        entry.changes.clear()
        entry.building = self._builder.submit(self._built, scope_key, entry)

    def _built(self, scope_key: str, entry: _Entry) -> None:
        try:
            index = self._opened(scope_key, entry)
            with entry.lock:
                for change in entry.changes:
                    change(index)
                entry.index, entry.partial, entry.failed_at = index, "", None
        except Exception as error:  # noqa: BLE001 (nobody waits for a build: its failure is told by status and answers)
            self._folder.failed("an index could not be built", error)
            with entry.lock:
                entry.failed_at = self._clock.now()
        finally:
            with entry.lock:
                entry.changes.clear()
                entry.building = None
        self._evict(scope_key)

    def _opened(self, scope_key: str, entry: _Entry) -> VectorIndex:
        """Return an index of all rows: from the file if it is usable and not worn, else from the store."""
        if not self._faiss:
            exact = ExactIndex(self._dimensions)
            for seqs, rows in self._rows.chunks(scope_key, -1):
                exact.add(seqs, rows)
            return exact
        stored = self._folder.read(scope_key)
        if stored is not None:
            index = ApproximateIndex(stored)
            entry.saved = self._catch_up(scope_key, index)
            if not index.worn:
                return index
        return self._fresh(scope_key, entry)

    def _catch_up(self, scope_key: str, index: ApproximateIndex) -> bool:
        """Bring an index from a file to what is stored now, and return whether the file may stay.

        It goes if it holds what was deleted meanwhile.
        """
        import numpy as np

        there = self._rows.seqs(scope_key)
        stays = not index.keep_only(there)
        if not stays:
            self._folder.delete(scope_key)
        missing = np.setdiff1d(there, index.live_seqs(), assume_unique=True)
        if not len(missing):
            return stays
        for seqs, rows in self._rows.chunks(scope_key, int(missing[0]) - 1):
            new = np.isin(seqs, missing)
            index.add(seqs[new], rows[new])
        return stays

    def _fresh(self, scope_key: str, entry: _Entry) -> ApproximateIndex:
        import numpy as np

        count = self._rows.count(scope_key)
        rows, seqs = Quantized.build(lambda: self._rows.chunks(scope_key, -1), count, self._dimensions)
        index = ApproximateIndex(Stored(rows, seqs, np.ones(len(seqs), dtype=bool)))
        with entry.lock:
            # What was deleted during the build must not reach the disk.
            for change in entry.changes:
                change(index)
            entry.changes.clear()
        self._save(scope_key, entry, index)
        return index

    def _save(self, scope_key: str, entry: _Entry, index: ApproximateIndex) -> None:
        """Write the file, and delete it again if meanwhile rows were deleted that it holds."""
        with entry.lock:
            before, snapshot = entry.removals, index.snapshot()
        written = not entry.gone and self._folder.write(scope_key, snapshot)
        with entry.lock:
            stale = entry.gone or entry.removals != before
            entry.saved = written and not stale
            if stale:
                self._folder.delete(scope_key)

    def _evict(self, used: str) -> None:
        """Drop the least recently used until the rest fits; the scope in use and those being built stay."""
        with self._lock:
            loaded = {key: entry.index for key, entry in self._entries.items() if entry.index is not None}
            sizes = {key: index.memory_bytes + _ENTRY_BYTES for key, index in loaded.items()}
            total = sum(sizes.values())
            for key in list(sizes):
                if total <= self._budget_bytes:
                    return
                if key != used and self._entries[key].building is None:
                    total -= sizes[key]
                    self._entries.pop(key).gone = True
