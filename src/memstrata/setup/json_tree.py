"""A JSON text with the place of everything in it, so that one value can be changed and every other byte kept.

Comments and commas behind the last element are read too, as the editors that these files belong to write them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Array", "Node", "Object", "Scalar", "parse"]

MAX_DEPTH = 100
_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_LITERAL = re.compile(r"[-+.\w]+")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, a number, true, false or null, from `start` to before `end`."""

    start: int
    end: int
    value: object


@dataclass(slots=True)
class Array:
    """`commas` are the places of its commas, one behind each element that has one."""

    start: int
    end: int = 0
    items: list[Node] = field(default_factory=list)
    commas: list[int] = field(default_factory=list)

    def spans(self) -> list[tuple[int, int]]:
        """Return where its elements begin and end."""
        return [(item.start, item.end) for item in self.items]


@dataclass(slots=True)
class Object:
    """`keys` are (name, where the name begins), one for each of `items`."""

    start: int
    end: int = 0
    items: list[Node] = field(default_factory=list)
    commas: list[int] = field(default_factory=list)
    keys: list[tuple[str, int]] = field(default_factory=list)

    def spans(self) -> list[tuple[int, int]]:
        """Return where its members begin and end, names included."""
        return [(key[1], item.end) for key, item in zip(self.keys, self.items, strict=True)]

    def index(self, name: str) -> int | None:
        """Return the place of a member; of the last one, if several have the name."""
        return next((at for at in range(len(self.keys) - 1, -1, -1) if self.keys[at][0] == name), None)

    def get(self, name: str) -> Node | None:
        """Return the value of a member, None without one."""
        at = self.index(name)
        return None if at is None else self.items[at]


Node: TypeAlias = Scalar | Array | Object


def parse(text: str) -> Node:
    """Raises ValueError, with the line, for a text that is no JSON."""
    reader = _Reader(text)
    node = reader.value(reader.skip(1 if text.startswith("\ufeff") else 0), 0)
    if reader.skip(node.end) != len(text):
        raise reader.wrong(node.end)
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def wrong(self, at: int) -> ValueError:
        return ValueError(f"line {self._text.count(chr(10), 0, at) + 1} is no JSON")

    def value(self, at: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise self.wrong(at)
        match self._text[at : at + 1]:
            case "{":
                return self._object(at, depth)
            case "[":
                return self._array(at, depth)
            case '"':
                return self._scalar(_STRING, at)
            case _:
                return self._scalar(_LITERAL, at)

    def _scalar(self, pattern: re.Pattern[str], at: int) -> Scalar:
        found = pattern.match(self._text, at)
        if found is None:
            raise self.wrong(at)
        try:
            return Scalar(at, found.end(), json.loads(found[0]))
        except ValueError:
            raise self.wrong(at) from None

    def _array(self, at: int, depth: int) -> Array:
        array = Array(at)
        at = self.skip(at + 1)
        while self._text[at : at + 1] != "]":
            array.items.append(self.value(at, depth + 1))
            at = self._after(array.items[-1].end, "]", array.commas)
        array.end = at + 1
        return array

    def _object(self, at: int, depth: int) -> Object:
        found = Object(at)
        at = self.skip(at + 1)
        while self._text[at : at + 1] != "}":
            name = self._scalar(_STRING, at)
            colon = self.skip(name.end)
            if self._text[colon : colon + 1] != ":":
                raise self.wrong(colon)
            found.keys.append((str(name.value), at))
            found.items.append(self.value(self.skip(colon + 1), depth + 1))
            at = self._after(found.items[-1].end, "}", found.commas)
        found.end = at + 1
        return found

    def _after(self, at: int, closing: str, commas: list[int]) -> int:
        at = self.skip(at)
        if self._text[at : at + 1] == ",":
            commas.append(at)
            return self.skip(at + 1)
        if self._text[at : at + 1] != closing:
            raise self.wrong(at)
        return at
