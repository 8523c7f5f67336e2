"""The generation log: how memories, scenes and portraits came about, read from the runs that made them.

There is no second copy to fall behind: the log shows failures as it shows successes, and names for each record what it
alone rests on. Source: wire contract §4.3; pipeline reference W40.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from memstrata.clock import Clock, Instant
from memstrata.errors import NotFound, Unavailable
from memstrata.provenance.log_ids import GenerationStatus, next_cursor, parse_log_id, read_cursor
from memstrata.provenance.record import GenerationRecord, describe, names_of
from memstrata.provenance.window import window
from memstrata.records import Layer, OutputAction
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import GenerationFilter

__all__ = ["GenerationLog", "GenerationPage"]

T = TypeVar("T")
_WROTE: frozenset[OutputAction] = frozenset({"store", "update", "merge", "revise", "write"})


@dataclass(frozen=True, slots=True)
class GenerationPage:
    """Records, the newest first, and where to go on; None at the end."""

    records: tuple[GenerationRecord, ...]
    next_cursor: str | None


class GenerationLog:
    """Reads the log of an instance. A store that cannot be read is Unavailable, never an empty page or a bad cursor."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def list(
        self,
        instance: str,
        *,
        layer: Layer | None = None,
        status: GenerationStatus | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> GenerationPage:
        """Return a page of records, of the last 7 days unless told otherwise; what is made meanwhile comes before it.

        Raises InvalidRequest for a time that `window` refuses and for a cursor that no page gave.
        """
        since, until = window(since, until, self._clock.now())
        before = None if cursor is None else read_cursor(cursor)
        where = GenerationFilter(layer, None if status is None else status == "failed", since, until)

        def work(r: Repositories) -> GenerationPage:
            found = r.generations.page(instance, where, before, limit + 1)
            names = names_of(r.generations, instance, found[:limit])
            records = tuple(describe(one, names) for one in found[:limit])
            return GenerationPage(records, next_cursor(records[-1].log_id) if len(found) > limit else None)

        return await self._read(work)

    async def get(self, instance: str, log_id: str) -> GenerationRecord:
        """Return the record of a log id with all references of its run. Raises NotFound."""
        parsed = parse_log_id(log_id)

        def work(r: Repositories) -> GenerationRecord:
            found = None if parsed is None else r.generations.one(instance, parsed.run_id)
            if found is None or parsed is None or not parsed.names(found.run):
                raise _not_found()
            return describe(found, names_of(r.generations, instance, [found]))

        return await self._read(work)

    async def get_by_memory_id(self, instance: str, memory_id: str, layer: Layer) -> GenerationRecord:
        """Return the record of the newest run that wrote a memory or a document, with the references of that one alone.

        What only lent it evidence, or proposed a change that was not made, did not write it. Raises NotFound.
        """

        def work(r: Repositories) -> GenerationRecord:
            for seq in r.generations.rows(instance, layer, memory_id):
                for touched in r.generations.of_output(instance, layer, seq):
                    whole = r.generations.one(instance, touched.run_id)
                    if whole is not None and any(one.action in _WROTE for one in touched.run.outputs):
                        return describe(whole, names_of(r.generations, instance, [whole]), only=(layer, seq))
            raise _not_found()

        return await self._read(work)

    async def _read(self, work: Callable[[Repositories], T]) -> T:
        try:
            return await self._store.read(work)
        except Unavailable as error:
            told = f"GENERATION_LOG_STORE_UNAVAILABLE: {error}"
            raise Unavailable(told, retry_after=error.retry_after) from error


def _not_found() -> NotFound:
    return NotFound("MEMORY_GENERATION_LOG_NOT_FOUND: no generation of that id")
