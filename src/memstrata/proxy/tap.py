"""The copy of an answer that is read beside its way to the client. It never stands in that way.

What is in no readable encoding, or is not what it says, is counted and left unread; the client has it all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from memstrata.proxy.decoding import Decoder, decoder_for
from memstrata.proxy.wire.request import Reply, Wire

__all__ = ["Tap", "is_stream"]

_log = logging.getLogger(__name__)
_LONGEST_JSON = 32 * 1024 * 1024


def is_stream(headers: Mapping[str, str]) -> bool:
    """Whether an answer is an event stream. `headers` compare names without case."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream"


class Tap:
    """Reads one answer of a protocol. `reply` at any time; None while nothing was read, or nothing could be."""

    def __init__(self, wire: Wire, headers: Mapping[str, str]) -> None:
        self._reader = wire.replies()
        self._decoder: Decoder | None = decoder_for(headers.get("content-encoding", ""))
        self._streams = is_stream(headers)
        self._json = bytearray()
        self._read = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes as they came."""
        if self._decoder is None:
            return
        try:
            plain = self._decoder.feed(data)
            if self._streams:
                self._reader.feed(plain)
            else:
                self._json += plain
        except Exception as error:  # noqa: BLE001 - whatever a copy holds, its original goes on
            self._give_up(type(error).__name__)
            return
        self._read = True
        if len(self._json) > _LONGEST_JSON:
            self._give_up("too long")

    def reply(self) -> Reply | None:
        """Return what was said, as far as it came."""
        if self._decoder is None or not self._read:
            return None
        if not self._streams and self._json:
            self._reader.whole(bytes(self._json))
            self._json.clear()
        return self._reader.reply()

    def _give_up(self, why: str) -> None:
        _log.warning("the copy of an answer could not be read: %s", why)
        self._decoder = None
        self._json.clear()
