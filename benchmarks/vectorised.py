"""Filling a data folder with memories that have their vectors, faster than clients and an embedder could.

As in `load.py` rows go through the store's own repositories, and the program that opens the folder finds nothing to do. Of
messages there is one for twenty memories, which all cite it, so that size and time are those of memories.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.dataset import gold, texts
from benchmarks.load import Said, new_memory, new_message, sessions
from benchmarks.meanings import MadeUpEmbedder
from memstrata.records import Scope
from memstrata.store.protocol import Repositories
from memstrata.store.sqlite.store import SqliteStore
from memstrata.text.analyser import index_terms

if TYPE_CHECKING:
    from memstrata.vectors.protocol import Matrix

__all__ = ["Filler", "fill", "write_texts"]

_ROWS_PER_COMMIT = 1_000


@dataclass(slots=True)
class Filler:
    """Writes memories into an open store. `seconds` and `rows` tell what it took, without the vectors' making."""

    store: SqliteStore
    embedder: MadeUpEmbedder
    model: int
    seconds: float = 0.0
    rows: int = 0

    @classmethod
    async def of(cls, store: SqliteStore, embedder: MadeUpEmbedder) -> Filler:
        model = await store.write(lambda r: r.vectors.model(embedder.name, embedder.dimensions))
        return cls(store, embedder, model)

    async def write(self, scope: Scope, first: int, contents: Sequence[str]) -> tuple[list[int], Matrix]:
        """Write memories numbered from `first` in one commit; return their seqs and vectors."""
        vectors = self.embedder.rows(contents)
        started = time.perf_counter()
        said = [Said(number, text, index_terms(text)) for number, text in enumerate(contents, start=first)]
        seqs = await self.store.write(_rows(scope, said, vectors, self.model))
        self.seconds += time.perf_counter() - started
        self.rows += len(contents)
        return seqs, vectors


async def fill(folder: Path, scopes: Sequence[Scope], rows: int) -> float:
    """Write `rows` memories into each of the scopes and return how many that were a second. The folder must be new."""
    store = await SqliteStore.open(folder)
    try:
        filler = await Filler.of(store, MadeUpEmbedder())
        for seed, scope in enumerate(scopes):
            await write_texts(filler, scope, _contents(rows, seed))
    finally:
        await store.close()
    return filler.rows / filler.seconds


async def write_texts(filler: Filler, scope: Scope, contents: Iterator[str]) -> None:
    """Write all texts as memories of a scope, a thousand a commit."""
    first = 0
    while batch := list(islice(contents, _ROWS_PER_COMMIT)):
        await filler.write(scope, first, batch)
        first += len(batch)


def _contents(rows: int, seed: int) -> Iterator[str]:
    """Yield rows of the data set; of one that is too small for all facts, as many of them as chance puts first."""
    return islice(texts(max(rows, len(gold())), seed), rows)


def _rows(scope: Scope, batch: Sequence[Said], vectors: Matrix, model: int) -> Callable[[Repositories], list[int]]:
    """Return the work that writes memories by sessions, each with the message they cite, and the vectors of both."""
    profile = scope.profile("agent")
    stored = [row.tobytes() for row in vectors.astype("<f2")]

    def work(r: Repositories) -> list[int]:
        written: list[int] = []
        for said in sessions(batch):
            session_id, first = f"filled-{said[0].number}", said[0]
            target = r.conversations.append(scope, session_id, "", [new_message(first)], first.at)
            message = r.conversations.undistilled(target, 1)[0]
            memories = [
                r.memories.add(scope, profile, new_memory(one, f"m_{message.seq}_{place}", session_id, message.seq))
                for place, one in enumerate(said)
            ]
            r.conversations.advance(target, message.seq, 1, "")
            seqs = [memory.seq for memory in memories]
            r.profiles.mark_consumed(profile, seqs)
            own = stored[len(written) : len(written) + len(said)]
            contents = {memory.seq: memory.content for memory in memories}
            r.vectors.put("memories", model, contents, dict(zip(seqs, own, strict=True)))
            r.vectors.put("messages", model, {message.seq: message.content}, {message.seq: own[0]})
            written += seqs
        return written

    return work
