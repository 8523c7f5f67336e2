"""Vectors in SQLite: which rows lack one, and those that are there, by scope and model."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import apsw

from memstrata.records import Scope
from memstrata.store.shapes import Coverage, VectorKind, VectorText
from memstrata.store.sqlite.connection import open_reader, query
from memstrata.store.sqlite.errors import translated
from memstrata.store.sqlite.scopes import ScopeNumbers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SqliteVectorRows", "SqliteVectors", "index_keys"]

_ROWS: Final[Mapping[VectorKind, str]] = {"memories": "memories", "messages": "messages"}
_TABLES: Final[Mapping[VectorKind, str]] = {"memories": "memory_vectors", "messages": "message_vectors"}
# What these hold says all but the vector. The table itself is a thousand times as large and would be read from the disk.
_BY_SCOPE: Final[Mapping[VectorKind, str]] = {
    "memories": "memory_vectors_by_scope",
    "messages": "message_vectors_by_scope",
}
_LIVE: Final[Mapping[VectorKind, str]] = {"memories": "m.valid_to IS NULL", "messages": "1"}
_CHUNK = 4_096
_STORED = """
FROM {table} WHERE scope_id = ?1 AND model_id = ?2
  AND seq NOT IN (SELECT seq FROM {table} WHERE model_id = ?2 AND length(vector) = 0)
"""

_MODEL = "SELECT id FROM vector_models WHERE name = ? AND dimensions = ?"
_ADD_MODEL = "INSERT INTO vector_models (name, dimensions) VALUES (?, ?)"
_AGENT_SCOPES = "SELECT id FROM scopes WHERE instance = ? AND 'chat_memory-' || team || '-' || agent = ?"
_NEWEST = "SELECT seq FROM sqlite_sequence WHERE name = ?"


def _missing(kind: VectorKind) -> str:
    return f"""
    SELECT m.seq, m.scope_id, m.content FROM {_ROWS[kind]} m
    WHERE m.seq > ?2 AND {_LIVE[kind]} AND NOT EXISTS (
      SELECT 1 FROM {_TABLES[kind]} v INDEXED BY {_BY_SCOPE[kind]}
      WHERE v.scope_id = m.scope_id AND v.model_id = ?1 AND v.seq = m.seq
    ) ORDER BY m.seq LIMIT ?3
    """


def _put(kind: VectorKind) -> str:
    return f"""
    INSERT INTO {_TABLES[kind]} (seq, scope_id, model_id, content_hash, vector)
    SELECT m.seq, m.scope_id, ?2, ?3, ?4 FROM {_ROWS[kind]} m WHERE m.seq = ?1 AND m.content = ?5 AND {_LIVE[kind]}
    ON CONFLICT (seq) DO UPDATE SET model_id = excluded.model_id, content_hash = excluded.content_hash, vector = excluded.vector
    """


def _coverage(kind: VectorKind) -> str:
    return f"""
    SELECT (SELECT count(*) FROM {_ROWS[kind]} m WHERE {_LIVE[kind]}),
      (SELECT count(*) FROM {_TABLES[kind]} INDEXED BY {_BY_SCOPE[kind]} WHERE model_id = ?1),
      (SELECT count(*) FROM {_TABLES[kind]} WHERE model_id = ?1 AND length(vector) = 0)
    """


def _ask_again(kind: VectorKind) -> str:
    return f"DELETE FROM {_TABLES[kind]} WHERE model_id = ? AND length(vector) = 0 RETURNING seq"


def index_keys(scopes: Iterable[int]) -> tuple[str, ...]:
    """Return the keys of all indexes of these scopes."""
    return tuple(f"{kind}:{number}" for number in scopes for kind in _TABLES)


class SqliteVectors:
    """See `store.protocol.Vectors`."""

    def __init__(self, connection: apsw.Connection, scopes: ScopeNumbers) -> None:
        self._db = connection
        self._scopes = scopes

    def model(self, name: str, dimensions: int) -> int:
        rows = query(self._db, _MODEL, (name, dimensions))
        if rows:
            return int(rows[0][0])
        self._db.execute(_ADD_MODEL, (name, dimensions))
        return self._db.last_insert_rowid()

    def scope_key(self, kind: VectorKind, scope: Scope) -> str | None:
        number = self._scopes.find(scope)
        return None if number is None else f"{kind}:{number}"

    def agent_keys(self, kind: VectorKind, instance: str, chat_memory_id: str) -> tuple[str, ...]:
        rows = query(self._db, _AGENT_SCOPES, (instance, chat_memory_id))
        return tuple(f"{kind}:{number}" for (number,) in rows)

    def missing(self, kind: VectorKind, model: int, after_seq: int, limit: int) -> tuple[VectorText, ...]:
        rows = query(self._db, _missing(kind), (model, after_seq, limit))
        return tuple(VectorText(seq, f"{kind}:{number}", content) for seq, number, content in rows)

    def put(
        self, kind: VectorKind, model: int, texts: Mapping[int, str], vectors: Mapping[int, bytes]
    ) -> frozenset[int]:
        stored = set()
        for seq, vector in vectors.items():
            self._db.execute(_put(kind), (seq, model, _hash(texts[seq]), vector, texts[seq]))
            if self._db.changes():
                stored.add(seq)
        return frozenset(stored)

    def newest(self, kind: VectorKind) -> int:
        rows = query(self._db, _NEWEST, (_ROWS[kind],))
        return int(rows[0][0]) if rows else 0

    def ask_again(self, kind: VectorKind, model: int) -> tuple[int, ...]:
        return tuple(sorted(row[0] for row in query(self._db, _ask_again(kind), (model,))))

    def coverage(self, kind: VectorKind, model: int) -> Coverage:
        return Coverage(*query(self._db, _coverage(kind), (model,))[0])


class SqliteVectorRows:
    """Implements `vectors.VectorRows` for one model on a connection of its own, because indexes are built in threads."""

    def __init__(self, file: Path, model: int) -> None:
        self._file = file
        self._model = model
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None

    def count(self, scope_key: str) -> int:
        return int(self._query(f"SELECT count(*) {_STORED}", scope_key)[0][0])

    def seqs(self, scope_key: str) -> NDArray[np.int64]:
        import numpy as np

        found = self._query(f"SELECT seq {_STORED} ORDER BY seq", scope_key)
        return np.fromiter((row[0] for row in found), dtype=np.int64, count=len(found))

    def chunks(self, scope_key: str, after_seq: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float16]]]:
        import numpy as np

        sql = (
            "SELECT seq, vector FROM {table} WHERE scope_id = ?1 AND model_id = ?2 AND seq > ?3 AND length(vector) > 0"
            f" ORDER BY seq LIMIT {_CHUNK}"
        )
        while rows := self._query(sql, scope_key, after_seq):
            seqs = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
            matrix = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f2").reshape(len(rows), -1)
            yield seqs, matrix
            after_seq = int(seqs[-1])

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def _query(self, sql: str, scope_key: str, *values: int) -> list[tuple[int, bytes]]:
        kind, _, number = scope_key.partition(":")
        table = _TABLES["memories" if kind == "memories" else "messages"]
        with self._lock, translated("read vectors"):
            if self._connection is None:
                self._connection = open_reader(self._file)
                query(self._connection, "PRAGMA cache_size = -1024")  # each vector is read once
            return query(self._connection, sql.format(table=table), (int(number), self._model, *values))


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
