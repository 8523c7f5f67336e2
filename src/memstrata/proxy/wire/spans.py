"""Where the members and elements of a JSON body stand, in bytes, without making Python values of them.

msgspec finds the end of a value at memory speed but does not say where it began. A value's own bytes are known, so
the positions follow by adding up: after a key its value, after the value a comma. Each value is compared with the
bytes at its position; so a key that stands twice, of which a decoder keeps the last value, cannot shift a position.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from memstrata.proxy.wire.request import Span, Unreadable

__all__ = ["Document", "Value"]

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_KEY = re.compile(rb'[ \t\n\r]*("(?:[^"\\]|\\.)*")[ \t\n\r]*:[ \t\n\r]*')
_SPACE = re.compile(rb"[ \t\n\r]*")
_COMMA = re.compile(rb"[ \t\n\r]*,[ \t\n\r]*")
_END = re.compile(rb"[ \t\n\r]*,?")
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Value:
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
            raw, self._text = msgspec.json.decode(body, type=msgspec.Raw), body
        except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
            self._text = _ESCAPE.sub(_without_half_pair, body)
            if self._text == body:
                raise Unreadable("the body is not JSON") from error
            raw = _decoded(self._text, _RAW, "the body")
        self.root = Value(raw, _after(_SPACE, self._text, 0))

    def members(self, value: Value) -> dict[str, Value]:
        """Return the members of an object, in order. Raises Unreadable for another value or a key that stands twice."""
        decoded = _decoded(value.raw, _OBJECT, "a member or element")
        text, at = self._text, value.start + 1
        found: dict[str, Value] = {}
        for key, raw in decoded.items():
            named = _KEY.match(text, at)
            if named is None or not text.startswith(bytes(raw), named.end()) or not _is(named[1], key):
                raise Unreadable("an object has a key twice")
            found[key] = Value(raw, named.end())
            at = _after(_END, text, named.end() + len(raw))
        if _after(_SPACE, text, at) + 1 != value.start + len(value.raw):
            raise Unreadable("an object has a key twice")
        return found

    def elements(self, value: Value) -> list[Value]:
        """Return the elements of an array. Raises Unreadable for another value."""
        text, at = self._text, _after(_SPACE, self._text, value.start + 1)
        found: list[Value] = []
        for raw in _decoded(value.raw, _ARRAY, "a member or element"):
            found.append(Value(raw, at))
            at += len(raw)
            if text[at : at + 1] == b"," and text[at + 1 : at + 2] in _OPENING:
                at += 1
            else:
                gap = _COMMA.match(text, at)
                at = gap.end() if gap else at
        return found


_OPENING = frozenset({b"{", b'"', b"["})


def _decoded[T](text: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[T], what: str) -> T:
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise Unreadable(f"{what} is not of the shape that it should have") from error


def _without_half_pair(found: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if found[1] else found[0]


def _after(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    """Return the position after a pattern that always matches."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _is(quoted: bytes, key: str) -> bool:
    """Tell whether a key as it stands in the body is this one; most have no escape in them."""
    return quoted[1:-1] == key.encode() or (b"\\" in quoted and msgspec.json.decode(quoted) == key)
