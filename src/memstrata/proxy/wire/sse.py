"""Server-sent events out of bytes that arrive cut anywhere, and into bytes.

Lines end in CR, LF or CRLF; a byte order mark at the very start is skipped; comments and unknown fields are passed over;
several data lines are one text. Source: the WHATWG standard, section "Interpreting an event stream".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

__all__ = ["Event", "EventParser", "event_bytes"]

_LINE_END = re.compile(rb"\r\n|\r|\n")
_MARK = b"\xef\xbb\xbf"
_LONGEST = 16 * 1024 * 1024  # bytes of one event; a longer one is dropped and counted, so that memory stays bounded


@dataclass(frozen=True, slots=True)
class Event:
    """`name` is empty where none was given. `data` is UTF-8 as sent; several lines are joined by LF."""

    name: str
    data: bytes


class EventParser:
    """Feed it bytes, take events. `dropped` counts events that were too long. What no blank line ends is no event."""

    def __init__(self, longest: int = _LONGEST) -> None:
        self.dropped = 0
        self._longest = longest
        self._rest = bytearray()
        self._at_start = True
        self._after_cr = False
        self._name = b""
        self._data: list[bytes] = []
        self._size = 0
        self._too_long = False

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that these bytes complete."""
        if self._after_cr and data:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        if data.endswith(b"\r"):
            self._after_cr = True
        *lines, rest = _LINE_END.split(data)
        events: list[Event] = []
        for line in lines:
            whole = bytes(self._rest) + line if self._rest else line
            self._rest.clear()
            if (event := self._take(whole)) is not None:
                events.append(event)
        self._keep(rest)
        return events

    def _keep(self, rest: bytes) -> None:
        if len(self._rest) + len(rest) > self._longest:
            self._too_long = True
            self._rest[:] = b"-"  # not empty: the line must not look like the blank one that ends an event
        else:
            self._rest += rest

    def _take(self, line: bytes) -> Event | None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_MARK)
        if not line:
            return self._finished()
        if len(line) > self._longest:
            self._too_long = True
            return None
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._size += len(value) + 1
            if self._size > self._longest:
                self._too_long = True
                self._data.clear()
                self._size = 0
            elif not self._too_long:
                self._data.append(value)
        elif field == b"event":
            self._name = value[:200]
        return None

    def _finished(self) -> Event | None:
        event = Event(self._name.decode(errors="replace"), b"\n".join(self._data)) if self._data else None
        if self._too_long:
            self.dropped += 1
            event = None
        self._name, self._data, self._size, self._too_long = b"", [], 0, False
        return event


def event_bytes(data: Mapping[str, object] | str, name: str = "") -> bytes:
    """Return one event; `data` is an object, or a text of one line."""
    text = data.encode() if isinstance(data, str) else msgspec.json.encode(data)
    return (b"event: " + name.encode() + b"\n" if name else b"") + b"data: " + text + b"\n\n"
