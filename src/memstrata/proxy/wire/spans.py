"""Where the members and elements of a JSON body stand, in bytes, without making Python values of them.

msgspec finds the end of a value at memory speed but does not say where it began. A value's own bytes are known, so
the positions follow by adding up: after a key its value, after the value a comma. Each value is compared with the
bytes at its position; so a key that stands twice, of which a decoder keeps the last value, cannot shift a position.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from memstrata.proxy.wire.request import Span, Unreadable

__all__ = ["Document", "Value", "decoded", "without_half_pairs"]

T = TypeVar("T")

_RAW = msgspec.json.Decoder(msgspec.Raw)
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OBJECTS = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_KEY = re.compile(rb'[ \t\n\r]*,?[ \t\n\r]*"([^"\\]*(?:\\.[^"\\]*)*)"[ \t\n\r]*:[ \t\n\r]*', re.DOTALL)
_SPACE = re.compile(rb"[ \t\n\r]*")
_COMMA = re.compile(rb"[ \t\n\r]*,?[ \t\n\r]*")
_OPENING = frozenset(b'{"[')
_ENDING = frozenset(b'}"]')
_CLOSING = ord("}")
_COMMA_BYTE = ord(",")
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)


class Value(msgspec.Struct, frozen=True):
    """One JSON value: its bytes, and the position of the first of them."""

    raw: msgspec.Raw
    start: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.start + len(self.raw))

    @property
    def first(self) -> bytes:
        """The first byte, which tells what it is: `{`, `[`, `"`, `n` for null, or another."""
        return bytes(memoryview(self.raw)[:1])


class Document:
    """A JSON text that is an object. Raises Unreadable where it is none.

    Half of a surrogate pair, which JavaScript writes when it cuts a text, is read as U+FFFD: both take six bytes, so
    the positions are those of the body as it came.
    """

    def __init__(self, body: bytes) -> None:
        try:
            raw, self._text = _RAW.decode(body), body
        except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
            self._text = without_half_pairs(body)
            if self._text == body:
                raise Unreadable("the body is not JSON") from error
            raw = decoded(_RAW, self._text)
        self.root = Value(raw, _after(_SPACE, self._text, 0))

    def members(self, value: Value) -> dict[str, Value]:
        """Return the members of an object, in order. Raises Unreadable for another value or a key that stands twice."""
        found, _ = self._walked(decoded(_OBJECT, value.raw), value.start)
        return found

    def objects(self, value: Value) -> Iterator[tuple[Span, dict[str, Value]]]:
        """Yield the elements of an array of objects, each with its members."""
        at = value.start + 1
        for raws in decoded(_OBJECTS, value.raw):
            start = self._text.index(b"{", at)
            members, at = self._walked(raws, start)
            yield Span(start, at), members

    def _walked(self, raws: dict[str, msgspec.Raw], at: int) -> tuple[dict[str, Value], int]:
        """Return the members of the object at a position, and the position after it."""
        text = self._text
        at += 1
        found: dict[str, Value] = {}
        for key, raw in raws.items():
            named = _KEY.match(text, at)
            if named is None or not _is(named[1], key):
                raise Unreadable("an object has a key twice")
            start = named.end()
            value = bytes(raw)
            if not text.startswith(value, start):
                raise Unreadable("an object has a key twice")
            found[key] = Value(raw, start)
            at = start + len(value)
        if text[at] != _CLOSING:
            at = _after(_SPACE, text, at)
        if text[at] != _CLOSING:
            raise Unreadable("an object has a key twice")
        return found, at + 1

    def elements(self, value: Value, count: int) -> list[Span]:
        """Return the places of an array's elements, of which there are `count`. Raises Unreadable for another value."""
        text, at = self._text, value.start + 1
        end = value.start + len(value.raw) - 1
        if count == 1 and text[at] in _OPENING and text[end - 1] in _ENDING:
            return [Span(at, end)]
        found: list[Span] = []
        for raw in decoded(_ARRAY, value.raw):
            if text[at] not in _OPENING:
                at = _after(_COMMA, text, at)
            found.append(Span(at, at + len(raw)))
            at += len(raw)
            if text[at] == _COMMA_BYTE:
                at += 1
        return found

    def digest(self, span: Span) -> str:
        """Return the SHA-256 of some bytes, in hex."""
        return hashlib.sha256(memoryview(self._text)[span.start : span.end]).hexdigest()


def decoded(decoder: msgspec.json.Decoder[T], text: bytes | msgspec.Raw) -> T:
    """Return what a decoder makes of a value. Raises Unreadable where it does not fit."""
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise Unreadable("a value is not of the shape that it should have") from error


def without_half_pairs(text: bytes) -> bytes:
    """Return JSON with every half of a surrogate pair replaced by U+FFFD, an escape of the same length."""
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], text)


def _after(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    """Return the position after a pattern that always matches."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _is(written: bytes, key: str) -> bool:
    """Tell whether a key as it stands in the body is this one; most have no escape in them."""
    return written == key.encode() or (b"\\" in written and msgspec.json.decode(b'"' + written + b'"') == key)
