"""Exports and imports of an open memory.

An export is one snapshot, read in a thread of its own and handed on in blocks; what is written meanwhile is not in it. An
import is written batch by batch beside the ordinary work: one that is cut off is run again, and finds what it has written.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol, TypeVar

import msgspec

from memstrata.clock import Clock, Instant
from memstrata.errors import InvalidRequest
from memstrata.records.archive import (
    ARCHIVE_VERSION,
    ArchiveHeader,
    ArchiveSelection,
    EndLine,
    ImportProblem,
    ImportReport,
    LayerLine,
    Outcome,
)
from memstrata.records.archive_directory import TableLine
from memstrata.records.audit import AuditEntry, Change
from memstrata.store.audit import actor
from memstrata.store.sqlite.archive.outcome import Written
from memstrata.store.sqlite.archive.reader import ArchiveReader
from memstrata.store.sqlite.archive.renumbering import Numbers
from memstrata.store.sqlite.archive.writer import ArchiveWriter
from memstrata.transfer.archive.cleaning import Clean, cleaned, has_texts, sets_rules
from memstrata.transfer.archive.lines import decoded_header, decoded_line, numbered
from memstrata.transfer.archive.mapping import mapped

__all__ = ["Archives"]

T = TypeVar("T")
Numbered = tuple[int, TableLine | LayerLine]

_BLOCK_BYTES: Final = 256 << 10
_BATCH_LINES: Final = 200
_BATCH_BYTES: Final = 4 << 20
_MOST_PROBLEMS: Final = 100
_SKIPPED: Final = Written("skipped", "it names the user, who is another one here")


class _ArchiveStore(Protocol):
    def archive(self, selection: ArchiveSelection) -> ArchiveReader: ...
    async def write_lines(
        self, work: Callable[[ArchiveWriter], T], tell: Callable[[T], AuditEntry | None] = ...
    ) -> T: ...


class Archives:
    """Both ways. `imported` is awaited after rows have come in, so that what waits with them is taken up.

    `clean` returns texts as they may be written for an owner.
    """

    def __init__(
        self,
        store: _ArchiveStore,
        clock: Clock,
        terms: Callable[[str], tuple[str, ...]],
        imported: Callable[[], Awaitable[None]],
        clean: Clean,
    ) -> None:
        self._store = store
        self._clock = clock
        self._terms = terms
        self._imported = imported
        self._clean = clean

    async def export(self, selection: ArchiveSelection) -> AsyncGenerator[bytes, None]:
        """Yield an export in blocks of whole lines. To be closed early with `aclose`. Raises Unavailable."""
        s, loop = selection, asyncio.get_running_loop()
        told = Change(s.instance, "archive.export", s.team or "", s.agent or "", s.user or "")
        entry = told.entry(actor(), self._clock.now())
        await self._store.write_lines(lambda _: None, lambda _: entry)
        with ThreadPoolExecutor(1, "memstrata-export") as thread:
            reader = await loop.run_in_executor(thread, self._store.archive, selection)
            try:
                blocks = _blocks(reader, selection, self._clock.now())
                while block := await loop.run_in_executor(thread, next, blocks, b""):
                    yield block
            finally:
                await loop.run_in_executor(thread, reader.close)

    async def import_lines(
        self, chunks: AsyncIterable[bytes], instance: str, *, as_user: str | None = None, dry_run: bool = False
    ) -> ImportReport:
        """Bring an export into an instance; nothing that is there is changed. Chunks may be cut anywhere.

        Texts lose their secrets where the rule of their owner here says so, and policies of the file hold from their line
        on; a dry run writes none, so it goes by those that are here.

        With `as_user` the user of a user's or scope's export becomes that one; directory rows about the user are left
        out. Raises InvalidRequest naming the line that is wrong; the batches before its own are stored then, and the same
        import may be run again. Raises Unavailable likewise.
        """
        lines = numbered(chunks)
        first = await anext(lines, None)
        header = decoded_header(b"" if first is None else first[1])
        if as_user is not None and header.user is None:
            raise InvalidRequest("this export is of a whole instance, not of one user", field="as_user")
        import_ = _Import(
            self._store, self._clock, self._terms, self._clean, instance, header.user, as_user, dry_run=dry_run
        )
        end: EndLine | None = None
        number = 1
        try:
            async for number, data in lines:
                if end is not None:
                    raise InvalidRequest("something follows the last line", field=f"line {number}")
                line = decoded_line(data, number)
                if isinstance(line, EndLine):
                    end = line
                else:
                    await import_.add(number, line, len(data))
            if end is None or end.lines != import_.lines:
                raise InvalidRequest("the file was cut short: its last lines are missing", field=f"line {number}")
            await import_.finish()
        finally:
            if not dry_run:
                await self._imported()
        return import_.report()


class _Import:
    """One import under way."""

    def __init__(
        self,
        store: _ArchiveStore,
        clock: Clock,
        terms: Callable[[str], tuple[str, ...]],
        clean: Clean,
        instance: str,
        user: str | None,
        as_user: str | None,
        *,
        dry_run: bool,
    ) -> None:
        self.lines = 0
        self._store = store
        self._clock = clock
        self._terms = terms
        self._clean = clean
        self._instance = instance
        self._user = user
        self._as_user = as_user
        self._dry_run = dry_run
        self._numbers = Numbers()
        self._batch: list[Numbered] = []
        self._bytes = 0
        self._has_rules = False  # in the batch
        self._counts: defaultdict[str, defaultdict[Outcome, int]] = defaultdict(lambda: defaultdict(int))
        self._problems: list[ImportProblem] = []

    async def add(self, number: int, line: TableLine | LayerLine, size: int) -> None:
        self.lines += 1
        if self._user is not None and self._as_user is not None:
            moved = mapped(line, self._user, self._as_user)
            if moved is None:
                self._count(number, line, _SKIPPED)
                return
            line = moved
        if self._has_rules and has_texts(line):
            await self.finish()
        self._has_rules |= sets_rules(line)
        self._batch.append((number, line))
        self._bytes += size
        if len(self._batch) >= _BATCH_LINES or self._bytes >= _BATCH_BYTES:
            await self.finish()

    async def finish(self) -> None:
        """Write what has been added."""
        lines = await cleaned([line for _, line in self._batch], self._instance, self._clean)
        batch = [(number, line) for (number, _), line in zip(self._batch, lines, strict=True)]
        mark = self._numbers.mark()
        self._batch, self._bytes, self._has_rules = [], 0, False

        def work(writer: ArchiveWriter) -> list[Written]:
            self._numbers.rewind(mark)  # the writer may run a work again
            return [self._written(writer, number, line) for number, line in batch]

        who, now = actor(), self._clock.now()

        def tell(done: list[Written]) -> AuditEntry | None:
            added = Counter(_kind(line) for (_, line), one in zip(batch, done, strict=True) if one.outcome == "added")
            if self._dry_run or not added:
                return None
            return Change(self._instance, "archive.import", user=self._as_user or self._user or "", counts=added).entry(
                who, now
            )

        outcomes = await self._store.write_lines(work, tell)
        for (number, line), written in zip(batch, outcomes, strict=True):
            self._count(number, line, written)

    def report(self) -> ImportReport:
        counts = {kind: dict(outcomes) for kind, outcomes in self._counts.items()}
        return ImportReport(self._instance, self._dry_run, counts, tuple(self._problems))

    def _written(self, writer: ArchiveWriter, number: int, line: TableLine | LayerLine) -> Written:
        try:
            return writer.write(line, self._instance, self._numbers, self._terms, dry=self._dry_run)
        except ValueError as error:
            raise InvalidRequest(str(error), field=f"line {number}") from error

    def _count(self, number: int, line: TableLine | LayerLine, written: Written) -> None:
        kind = _kind(line)
        self._counts[kind][written.outcome] += 1
        if written.outcome == "conflict" and len(self._problems) < _MOST_PROBLEMS:
            self._problems.append(ImportProblem(number, kind, written.reason))


def _kind(line: TableLine | LayerLine) -> str:
    return str(line.__struct_config__.tag)


def _blocks(reader: ArchiveReader, selection: ArchiveSelection, now: Instant) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    s = selection
    header = ArchiveHeader(ARCHIVE_VERSION, now, reader.schema(), s.instance, s.team, s.agent, s.user)
    block = [encode(header)]
    size = lines = 0
    for line in reader.lines():
        block.append(encode(line))
        lines += 1
        size += len(block[-1])
        if size >= _BLOCK_BYTES:
            yield b"\n".join(block) + b"\n"
            block, size = [], 0
    block.append(encode(EndLine(lines)))
    yield b"\n".join(block) + b"\n"
