"""A JSON value that knows its place in the file, and the two ways in which a file holds JSON: whole, or one per line.

Readers ask a node for what the format promises; when the promise is broken, the node says where. That keeps every
reader free of checks and every error message in one form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from memstrata.errors import InvalidRequest
from memstrata.transfer.place import Place

__all__ = ["Node", "parse_values"]


@dataclass(frozen=True, slots=True)
class Node:
    """A JSON value and where it stands. All methods raise InvalidRequest with that place."""

    value: object
    place: Place

    def is_list(self) -> bool:
        return isinstance(self.value, list)

    def is_object(self) -> bool:
        return isinstance(self.value, dict)

    def is_text(self) -> bool:
        return isinstance(self.value, str)

    def items(self) -> Iterator[Node]:
        """Yield the elements of a list."""
        if not isinstance(self.value, list):
            raise self.place.error(f"expected a list, found {_kind(self.value)}")
        for index, value in enumerate(self.value):
            yield Node(value, self.place.at_index(index))

    def fields(self) -> dict[str, Node]:
        """Return the fields of an object by name, nulls included."""
        return {key: Node(value, self.place.at_key(key)) for key, value in self._object().items()}

    def has(self, key: str) -> bool:
        """Say whether this is an object with that field, even if the field is null."""
        return isinstance(self.value, dict) and key in self.value

    def get(self, *keys: str) -> Node | None:
        """Return the first of the named fields that is there and not null."""
        fields = self._object()
        for key in keys:
            if fields.get(key) is not None:
                return Node(fields[key], self.place.at_key(key))
        return None

    def need(self, key: str) -> Node:
        """Return a field that must be there."""
        found = self.get(key)
        if found is None:
            raise self.place.error(f'no "{key}"')
        return found

    def text(self) -> str:
        """Return the string that this must be."""
        if not isinstance(self.value, str):
            raise self.place.error(f"expected a string, found {_kind(self.value)}")
        return self.value

    def name(self, *keys: str) -> str | None:
        """Return the first of the named fields that holds an id or a title: text, or a whole number as its digits."""
        for key in keys:
            found = self.get(key)
            if found is None:
                continue
            if isinstance(found.value, int) and not isinstance(found.value, bool):
                return str(found.value)
            if found.text().strip():
                return found.text().strip()
        return None

    def _object(self) -> dict[str, object]:
        if not isinstance(self.value, dict):
            raise self.place.error(f"expected an object, found {_kind(self.value)}")
        return self.value


def parse_values(text: str, place: Place) -> Iterator[Node]:
    """Yield the JSON values of a file: one if the whole file is one, else one per line that is not blank.

    Raises InvalidRequest with the line and the column of the fault. The file is read by lines when it has several and
    the first is JSON on its own; a fault in the first line is therefore reported as a fault of the whole, at that line.
    """
    first, _, rest = text.strip().partition("\n")
    if not (rest.strip() and _is_json(first)):
        yield _parse(text, place)
        return
    # Lines end at a line feed only: JSON strings may hold U+2028 and its kin, at which `splitlines` would split.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _parse(line, place.at_line(number))


def _parse(text: str, place: Place) -> Node:
    try:
        return Node(json.loads(text), place)
    except json.JSONDecodeError as error:
        fault = place if place.line else place.at_line(error.lineno)
        raise fault.error(f"not JSON ({error.msg.removesuffix(' at')} at column {error.colno})") from None
    except RecursionError:
        raise place.error("not readable JSON (nested too deeply)") from None
    except ValueError as error:
        # A number of thousands of digits: Python refuses to convert it, by a plain ValueError without a position.
        raise place.error(f"not readable JSON ({str(error).partition(';')[0]})") from None


def _is_json(text: str) -> bool:
    try:
        _parse(text, Place(""))
    except InvalidRequest:
        return False
    return True


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"
