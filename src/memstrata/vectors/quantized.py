"""faiss, as far as this house uses it: rows of one scope in float16, compared all, or by lists of neighbours.

Up to `INVERTED_FROM` rows every row is compared. Beyond, rows are sorted into lists around learnt centres and only the nearest
lists are read; a filter that leaves few rows makes a search read proportionally more lists, up to all of them, because the
rows that are left may lie anywhere.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from memstrata.errors import InvalidRequest
from memstrata.vectors.exact import fit_rows
from memstrata.vectors.native import wait_asleep

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memstrata.vectors.protocol import Chunk, Matrix, Seqs

__all__ = ["INVERTED_FROM", "Quantized", "faiss_installed"]

INVERTED_FROM = 50_000
# At 100 000 rows 800 lists of which 128 are read find .9955 of the ten nearest in a third of the time that 64 of 100 lists
# take, which find .9995. More lists than 2 000 would make a search of a million rows faster, and building it take minutes.
_ROWS_PER_LIST = 125
_MOST_LISTS = 2_000
_LISTS_READ = 128
_SAMPLE_PER_LIST = 32
_ITERATIONS = 6


def faiss_installed() -> bool:
    """Return whether the extra `faiss` is there, without importing it."""
    return importlib.util.find_spec("faiss") is not None


class Quantized:
    """Rows that are added once and then only searched and zeroed. Their positions count from 0 in the order of adding."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._places: NDArray[np.int64] | None = None  # (rows, 2): list and offset

    @classmethod
    def build(
        cls, chunks: Callable[[], Iterable[Chunk]], count: int, dimensions: int, *, inverted_from: int = INVERTED_FROM
    ) -> tuple[Quantized, Seqs]:
        """Read all rows, for an inverted index twice, and return them with their seqs. Takes seconds to a minute.

        `count` is about how many rows will come. Raises InvalidRequest if their seqs do not ascend.
        """
        import numpy as np

        faiss = _faiss()
        kind, metric = faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
        if count < inverted_from:
            index = faiss.IndexScalarQuantizer(dimensions, kind, metric)
            index.train(np.zeros((1, dimensions), dtype=np.float32))
        else:
            lists = min(_MOST_LISTS, max(1, count // _ROWS_PER_LIST))
            centres = faiss.IndexFlatIP(dimensions)
            index = faiss.IndexIVFScalarQuantizer(centres, dimensions, lists, kind, metric, False)
            index.cp.max_points_per_centroid = 2 * _SAMPLE_PER_LIST  # the sample is taken here, not in faiss
            index.cp.min_points_per_centroid = 1
            index.cp.niter = _ITERATIONS
            index.train(_sample(chunks(), lists * _SAMPLE_PER_LIST / count, dimensions))
            index.nprobe = min(_LISTS_READ, lists)
        parts: list[Seqs] = [np.empty(0, dtype=np.int64)]
        for seqs, rows in chunks():
            seqs, wide = fit_rows(seqs, rows, dimensions)
            index.add(wide)
            parts.append(seqs)
        every = np.concatenate(parts)
        if not (np.diff(every) > 0).all():
            raise InvalidRequest("rows of an index must come in ascending order of seq")
        return cls(index), every

    @classmethod
    def read(cls, read: Callable[[int], bytes]) -> Quantized:
        """Read what `write` wrote. The caller has made sure that the bytes are undamaged."""
        faiss = _faiss()
        index = faiss.read_index(faiss.PyCallbackIOReader(read, 1 << 20))
        if hasattr(index, "nprobe"):
            index.nprobe = min(_LISTS_READ, index.nlist)
        return cls(index)

    def write(self, write: Callable[[bytes], int]) -> None:
        faiss = _faiss()
        faiss.write_index(self._index, faiss.PyCallbackIOWriter(write, 1 << 20))

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def dimensions(self) -> int:
        return int(self._index.d)

    @property
    def inverted(self) -> bool:
        return hasattr(self._index, "nprobe")

    @property
    def memory_bytes(self) -> int:
        rows = len(self) * int(self._index.sa_code_size() if not self.inverted else self._index.code_size)
        lists = 8 * len(self) + 4 * self._index.nlist * self.dimensions if self.inverted else 0
        return rows + lists + (0 if self._places is None else self._places.nbytes)

    def nearest(self, query: Matrix, limit: int, mask: NDArray[np.bool_] | None) -> tuple[NDArray[np.int64], Matrix]:
        """Return positions and cosines of the nearest rows, best first. `mask` says for each position whether it counts.

        Takes one core, the caller's: threads that share a search wait for each other, and other searches want cores too.
        """
        import numpy as np

        faiss = _faiss()
        faiss.omp_set_num_threads(1)  # of this thread alone
        limit = min(limit, len(self))
        chosen = len(self) if mask is None else int(np.count_nonzero(mask))
        if not limit or not chosen:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        given: dict[str, Any] = {}
        if mask is not None:
            bits = np.packbits(mask, bitorder="little")
            given["sel"] = faiss.IDSelectorBitmap(bits)
        if self.inverted:
            read = math.ceil(self._index.nprobe * len(self) / chosen)
            parameters = faiss.SearchParametersIVF(**given, nprobe=min(self._index.nlist, read))
        else:
            parameters = faiss.SearchParameters(**given)
        scores, positions = self._index.search(query[None], limit, params=parameters)
        there = positions[0] >= 0
        return positions[0][there], scores[0][there]

    def zero(self, positions: NDArray[np.intp]) -> None:
        """Overwrite rows, so that neither memory nor a file holds what was deleted."""
        import numpy as np

        faiss = _faiss()
        if not self.inverted:
            size = self._index.code_size
            codes = faiss.rev_swig_ptr(self._index.codes.data(), len(self) * size).reshape(len(self), size)
            codes[positions] = 0
            return
        if self._places is None:
            self._places = self._where()
        inverted, size = self._index.invlists, self._index.code_size
        for place in self._places[positions]:
            number, offset = int(place[0]), int(place[1])
            codes = faiss.rev_swig_ptr(inverted.get_codes(number), inverted.list_size(number) * size)
            codes[offset * size : (offset + 1) * size] = np.uint8(0)

    def _where(self) -> NDArray[np.int64]:
        import numpy as np

        faiss = _faiss()
        places = np.zeros((len(self), 2), dtype=np.int64)
        inverted = self._index.invlists
        for number in range(self._index.nlist):
            size = inverted.list_size(number)
            if size:
                ids = faiss.rev_swig_ptr(inverted.get_ids(number), size)
                places[ids, 0], places[ids, 1] = number, np.arange(size)
        return places


def _faiss() -> Any:
    """Return the library; its own type stubs leave half of it out."""
    wait_asleep()
    return importlib.import_module("faiss")


def _sample(chunks: Iterable[Chunk], share: float, dimensions: int) -> Matrix:
    """Return an even share of all rows: what came first is about other things than what came last."""
    import numpy as np

    chance = np.random.default_rng(20_251)
    parts: list[Matrix] = [np.empty((0, dimensions), dtype=np.float32)]
    for seqs, rows in chunks:
        _, wide = fit_rows(seqs, rows, dimensions)
        parts.append(wide[chance.random(len(wide)) < share])
    return np.concatenate(parts)
