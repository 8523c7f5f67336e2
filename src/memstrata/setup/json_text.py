"""Changes of a JSON text, in the indentation and line ends that it has. Pure: text in, text out.

An element is added behind the last one and what belongs to it, on a line of its own, with a comma if the last one has
one; an element that is taken out takes its line and one comma along. Comments stay where they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from memstrata.setup.json_tree import Array, Node, Object, Scalar, parse

__all__ = ["EMPTY", "Value", "plain", "with_appended", "with_member", "without_items", "without_member"]

Value: TypeAlias = "str | int | bool | Sequence[Value] | dict[str, Value]"

EMPTY = "{}\n"
"""What a file that does not exist is taken for."""


def with_member(text: str, path: Sequence[str], value: Value) -> str:
    """Return the text with a value at a path of names; objects that are missing on the way are made.

    Raises ValueError where the text is no JSON, or something else than an object stands in the way.
    """
    holder = parse(text)
    for depth, name in enumerate(path):
        if not isinstance(holder, Object):
            raise ValueError(f"{'.'.join(path[:depth]) or 'the file'} is no object")
        inner = holder.get(name)
        if inner is None:
            missing = value
            for outer in reversed(path[depth + 1 :]):
                missing = {outer: missing}
            return _appended(text, holder, depth + 1, missing, f"{json.dumps(name, ensure_ascii=False)}: ")
        holder = inner
    if plain(holder) == value:
        return text
    return text[: holder.start] + _written(text, value, len(path)) + text[holder.end :]


def with_appended(text: str, path: Sequence[str], value: Value) -> str:
    """Return the text with a value at the end of the array at a path, which is made if it is missing. Raises ValueError."""
    array = _at(parse(text), path)
    if array is None:
        return with_member(text, path, [value])
    if not isinstance(array, Array):
        raise ValueError(f"{'.'.join(path)} is no list")
    return _appended(text, array, len(path) + 1, value, "")


def without_member(text: str, path: Sequence[str]) -> str:
    """Return the text without what is at a path, and without objects that this leaves empty. Raises ValueError."""
    holder = _at(parse(text), path[:-1])
    index = holder.index(path[-1]) if isinstance(holder, Object) else None
    if not isinstance(holder, Object) or index is None:
        return text
    if len(holder.items) == 1 and len(path) > 1:
        return without_member(text, path[:-1])
    return _without(text, holder, index)


def without_items(text: str, path: Sequence[str], is_ours: Callable[[object], bool]) -> str:
    """Return the text without the elements of an array that are ours, and without what this leaves empty."""
    while True:
        array = _at(parse(text), path)
        if not isinstance(array, Array):
            return text
        ours = [at for at, item in enumerate(array.items) if is_ours(plain(item))]
        if not ours:
            return text
        text = without_member(text, path) if len(array.items) == 1 else _without(text, array, ours[-1])


def plain(node: Node) -> object:
    """Return what a node stands for, as `json.loads` would."""
    match node:
        case Scalar():
            return node.value
        case Array():
            return [plain(item) for item in node.items]
        case Object():
            return {key[0]: plain(item) for key, item in zip(node.keys, node.items, strict=True)}


def _at(node: Node | None, path: Sequence[str]) -> Node | None:
    for name in path:
        node = node.get(name) if isinstance(node, Object) else None
    return node


def _appended(text: str, holder: Array | Object, depth: int, value: Value, name: str) -> str:
    closing = holder.end - 1
    kept = len(text[:closing].rstrip())
    line_end, unit = _line_end(text), _indentation(text)
    after = text[kept:closing]
    if "\n" not in after:
        after = line_end + unit * (depth - 1)
    new = f"{line_end}{unit * depth}{name}{_written(text, value, depth)}"
    if not holder.items:
        return text[:kept] + new + after + text[closing:]
    if len(holder.commas) == len(holder.items):
        return text[:kept] + new + "," + after + text[closing:]
    last = holder.items[-1].end
    return f"{text[:last]},{text[last:kept]}{new}{after}{text[closing:]}"


def _without(text: str, holder: Array | Object, index: int) -> str:
    start, end = holder.spans()[index]
    start = len(text[:start].rstrip())
    if index < len(holder.commas):
        comma = holder.commas[index]
        return text[:start] + text[end:comma] + text[comma + 1 :]
    if index:
        comma = holder.commas[index - 1]
        return text[:comma] + text[comma + 1 : start] + text[end:]
    return text[:start] + text[end : holder.end - 1].rstrip() + text[holder.end - 1 :]


def _written(text: str, value: Value, depth: int) -> str:
    unit = _indentation(text)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return f"{_line_end(text)}{unit * depth}".join(lines)


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indentation(text: str) -> str:
    """Return what one level is indented by: what the first indented line begins with, two spaces without one."""
    found = re.search(r'^([ \t]+)["{\[]', text, re.MULTILINE)
    return found[1] if found else "  "
