"""Reading a copy of an answer in the encoding that it travels in, piece by piece. What cannot be read is left unread."""

from __future__ import annotations

import zlib
from typing import Protocol

__all__ = ["Decoder", "decoder_for"]


class Decoder(Protocol):
    """Takes pieces that are cut anywhere. Raises ValueError for what is not in its encoding."""

    def feed(self, data: bytes) -> bytes: ...


def decoder_for(encoding: str) -> Decoder | None:
    """Return a fresh decoder for a Content-Encoding, None for one that is unknown here or several on top of each other."""
    match encoding.strip().lower():
        case "" | "identity":
            return _Identity()
        case "gzip" | "x-gzip":
            return _Inflating(16 + zlib.MAX_WBITS)
        case "deflate":
            return _Deflate()
        case _:
            return None


class _Identity:
    def feed(self, data: bytes) -> bytes:
        return data


class _Inflating:
    def __init__(self, window: int) -> None:
        self._inflate = zlib.decompressobj(window)

    def feed(self, data: bytes) -> bytes:
        try:
            return self._inflate.decompress(data)
        except zlib.error as error:
            raise ValueError("not in the encoding that it says") from error


class _Deflate:
    """With the header that the standard asks for, or without it, as many servers send it."""

    def __init__(self) -> None:
        self._inflating: _Inflating | None = None

    def feed(self, data: bytes) -> bytes:
        if self._inflating is None and data:
            self._inflating = _Inflating(zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS)
        return b"" if self._inflating is None else self._inflating.feed(data)
