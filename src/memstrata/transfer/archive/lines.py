"""Bytes to checked lines. A file comes from anywhere: each line is bounded, typed, and named by its number when it is wrong."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Final

import msgspec

from memstrata.errors import InvalidRequest
from memstrata.records.archive import ARCHIVE_VERSION, ArchiveHeader, EndLine, LayerLine
from memstrata.records.archive_directory import TableLine

__all__ = ["MAX_LINE_BYTES", "decoded_header", "decoded_line", "is_archive", "numbered"]

MAX_LINE_BYTES: Final = 16 << 20
_HEADER: Final = msgspec.json.Decoder(ArchiveHeader)
_LINE: Final[msgspec.json.Decoder[TableLine | LayerLine | EndLine]] = msgspec.json.Decoder(
    TableLine | LayerLine | EndLine
)
_MARK: Final = "memstrata_export"


def is_archive(first_line: bytes) -> bool:
    """Say whether a file that begins with this line is an export that `Archives` reads, or a newer one."""
    try:
        value = msgspec.json.decode(first_line)
    except (msgspec.DecodeError, RecursionError):
        return False
    version = value.get(_MARK) if isinstance(value, dict) else None
    return isinstance(version, int) and version >= ARCHIVE_VERSION


def decoded_header(data: bytes) -> ArchiveHeader:
    """Read the first line. Raises InvalidRequest."""
    if not is_archive(data):
        raise InvalidRequest(f'not an export of version {ARCHIVE_VERSION}: no "{_MARK}"', field="line 1")
    version = msgspec.json.decode(data)[_MARK]
    if version != ARCHIVE_VERSION:
        raise InvalidRequest(f"export version {version}, this program reads {ARCHIVE_VERSION}", field="line 1")
    try:
        return _HEADER.decode(data)
    except msgspec.DecodeError as error:
        raise InvalidRequest(str(error), field="line 1") from error


def decoded_line(data: bytes, number: int) -> TableLine | LayerLine | EndLine:
    """Read any other line. Raises InvalidRequest naming it."""
    try:
        return _LINE.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidRequest(str(error), field=f"line {number}") from error


async def numbered(chunks: AsyncIterable[bytes]) -> AsyncIterator[tuple[int, bytes]]:
    """Yield the lines of a stream with their numbers from 1, blank ones left out.

    Raises InvalidRequest for a line of more than `MAX_LINE_BYTES`, before it is held.
    """
    rest, number = bytearray(), 0
    async for chunk in chunks:
        rest += chunk
        if b"\n" in chunk:
            *whole, last = rest.split(b"\n")
            rest = bytearray(last)
            for line in whole:
                number += 1
                if line.strip():
                    yield number, bytes(line)
        if len(rest) > MAX_LINE_BYTES:
            raise InvalidRequest(f"longer than {MAX_LINE_BYTES} bytes", field=f"line {number + 1}")
    if rest.strip():
        yield number + 1, bytes(rest)
