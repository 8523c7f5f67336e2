"""The file that spares a large scope's index from being built again: written whole or not at all, and believed only if intact.

Layout: a line of JSON (format, embedder, dimensions, count, last seq), the seqs, which rows are alive, faiss's own bytes, and a
SHA-256 of all that. A library's reader is not made for damaged bytes, so the sum is compared before it sees any.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from memstrata.vectors.quantized import Quantized

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memstrata.vectors.protocol import Seqs

__all__ = ["Stored", "Unusable", "read_index", "write_index"]

_FORMAT = "memstrata-vectors-2"  # 1 had fewer and longer lists
_SUM_BYTES = 32
_PIECE = 1 << 20
_LONGEST_HEADER = 4_096


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """What a file holds: rows by position with their seqs, and which of them were alive when it was written."""

    rows: Quantized
    seqs: Seqs
    live: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why a file cannot be used; the index is built again."""

    reason: str


def write_index(path: Path, embedder: str, stored: Stored) -> None:
    """Write beside, sync, rename. Raises OSError; what was there before then still is."""
    import numpy as np

    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.new")
    header = {
        "format": _FORMAT,
        "embedder": embedder,
        "dimensions": stored.rows.dimensions,
        "count": len(stored.seqs),
        "last_seq": int(stored.seqs[-1]) if len(stored.seqs) else -1,
    }
    digest = hashlib.sha256()
    try:
        with beside.open("wb") as file:

            def write(data: bytes) -> int:
                digest.update(data)
                return file.write(data)

            write(json.dumps(header).encode() + b"\n")
            write(stored.seqs.astype("<i8").tobytes())
            write(np.packbits(stored.live, bitorder="little").tobytes())
            stored.rows.write(write)
            file.write(digest.digest())
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    _sync_folder(path.parent)


def read_index(path: Path, embedder: str, dimensions: int) -> Stored | Unusable:
    """Return what the file holds, or why it is not used: missing, damaged, of another embedder."""
    import numpy as np

    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            if not _intact(file, size):
                return Unusable("its checksum is wrong")
            file.seek(0)
            header = _header(file.readline(_LONGEST_HEADER))
            if header is None:
                return Unusable("it is of another format")
            name, stored_dimensions, count = header
            if (name, stored_dimensions) != (embedder, dimensions):
                return Unusable("it is of another embedder")
            seqs = np.frombuffer(file.read(8 * count), dtype="<i8").astype(np.int64)
            alive = np.frombuffer(file.read(-(-count // 8)), dtype=np.uint8)
            rows = Quantized.read(_bounded(file, size - _SUM_BYTES))
    except FileNotFoundError:
        return Unusable("there is none yet")
    except OSError as error:
        return Unusable(f"it cannot be read: {error.strerror or error}")
    if len(rows) != count or rows.dimensions != dimensions or len(seqs) != count:
        return Unusable("its parts do not fit together")
    return Stored(rows, seqs, np.unpackbits(alive, count=count, bitorder="little").astype(bool))


def _intact(file: BinaryIO, size: int) -> bool:
    digest = hashlib.sha256()
    left = size - _SUM_BYTES
    if left <= 0:
        return False
    while left:
        piece = file.read(min(_PIECE, left))
        if not piece:
            return False
        digest.update(piece)
        left -= len(piece)
    return digest.digest() == file.read(_SUM_BYTES)


def _header(line: bytes) -> tuple[str, int, int] | None:
    try:
        match json.loads(line):
            case {"format": str(form), "embedder": str(name), "dimensions": int(dimensions), "count": int(count)}:
                return (name, dimensions, count) if form == _FORMAT and count >= 0 else None
            case _:
                return None
    except ValueError:
        return None


def _bounded(file: BinaryIO, end: int) -> Callable[[int], bytes]:
    return lambda size: file.read(min(size, end - file.tell()))


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # a folder cannot be opened there, and a rename is durable without
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
