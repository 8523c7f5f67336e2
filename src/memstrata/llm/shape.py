"""What an answer must look like, and how far one that looks different may be bent to it without guessing.

Accepted: a list or an object around it, one object for a list of one, known other names of keys, camelCase, null for
what has a default, a scalar for a list of one, numbers as text, a list written as an object with numbered keys. Not
accepted: anything that would have to be invented, the schema itself, and the input said back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import inspect

__all__ = ["Fitted", "Shape", "fit"]

T = TypeVar("T", bound=msgspec.Struct)

_WRAPPERS = ("items", "result", "results", "data", "output", "answer", "response", "list", "value")
_MOST_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    """A list of `item`, or one alone. Types and ranges are those of the msgspec struct; `check` tells the rest.

    `name`: the key under which an object holds the list. `aliases`: other names of keys → the right ones, at any depth.
    `check` returns what is wrong with an item, or an empty text. `partial`: valid items count without the invalid ones;
    leave it off where an item that is left out would change what the others mean.
    """

    item: type[T]
    name: str = "items"
    many: bool = True
    aliases: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[T], str] | None = None
    partial: bool = False

    def json_schema(self) -> dict[str, Any]:
        """Return the schema for the endpoint, in the strict subset that OpenAI takes; its root is an object."""
        return _schema_of(self.item, self.name if self.many else "")


@dataclass(frozen=True, slots=True)
class Fitted(Generic[T]):
    """The items that fit, and what is wrong with those that do not."""

    items: tuple[T, ...]
    problems: tuple[str, ...] = ()


@lru_cache(maxsize=64)  # deriving it takes 2 ms, and it is sent with every call
def _schema_of(item: type[msgspec.Struct], list_name: str) -> dict[str, Any]:
    """Return the schema of an item, or of a list of them under a name."""
    schema = msgspec.json.schema(item)
    definitions = schema.pop("$defs", {})
    root: dict[str, Any] = definitions.pop(schema["$ref"].rsplit("/", 1)[1]) if "$ref" in schema else schema
    if list_name:
        root = {"type": "object", "properties": {list_name: {"type": "array", "items": root}}}
    strict: dict[str, Any] = _strict(root)
    return strict | {"$defs": _strict(definitions)} if definitions else strict


def fit(value: Any, shape: Shape[T]) -> Fitted[T]:
    """Return the items in a decoded value. No items and no problems: it is an empty list."""
    if not shape.many:
        return _one(value, shape)
    elements = _elements(value, shape, depth=0)
    if elements is None:
        fault = _echo(value, {one.encode_name for one in _fields(shape.item)}) if isinstance(value, dict) else ""
        return Fitted((), (fault or f"expected a list of objects, got {_kind(value)}",))
    items: list[T] = []
    problems: list[str] = []
    for number, element in enumerate(elements):
        found = _item(element, shape)
        if isinstance(found, str):
            problems.append(f"item {number}: {found}")
        else:
            items.append(found)
    return Fitted(tuple(items), tuple(problems[:_MOST_PROBLEMS]))


def _one(value: Any, shape: Shape[T]) -> Fitted[T]:
    readings = [value]
    if isinstance(value, list) and len(value) == 1:
        readings = value
    elif isinstance(value, list):
        lists = [one.encode_name for one in _fields(shape.item) if isinstance(_plain(one.type), inspect.ListType)]
        readings = [{lists[0]: value}] if len(lists) == 1 else []
    elif isinstance(value, dict) and len(value) == 1:
        (only,) = value.values()
        readings = [value, only] if isinstance(only, dict) else [value]
    problem = f"expected an object, got {_kind(value)}"
    for reading in readings:
        found = _item(reading, shape)
        if not isinstance(found, str):
            return Fitted((found,))
        problem = found
    return Fitted((), (problem,))


def _elements(value: Any, shape: Shape[T], depth: int) -> list[Any] | None:
    """Return the list that a value is, holds, or stands for; None if that cannot be told."""
    if isinstance(value, list):
        return value
    if isinstance(value, str) and depth and value.lstrip()[:1] in ("[", "{"):
        return _decoded(value, shape, depth)
    if not isinstance(value, dict) or not value or depth > 2:
        return None
    names = {one.encode_name for one in _fields(shape.item)}
    is_item = bool(names & {_right_name(key, names, shape.aliases) for key in value})
    own = [key for key in value if key == shape.name or shape.aliases.get(key) == shape.name]
    # An item may have keys that nobody asked for, so it is looked at before the names that lists are known to hide under.
    if is_item and not own and not isinstance(_item(value, shape), str):
        return [value]
    for wrapper in (*own, *_WRAPPERS):
        inner = value.get(wrapper) if wrapper in own or wrapper not in names else None
        if isinstance(inner, list | dict | str) and (found := _elements(inner, shape, depth + 1)) is not None:
            return found
    if all(re.fullmatch(r"\d{1,6}", key) for key in value):
        return list(value.values())
    if is_item:
        return [value]
    lists = [inner for inner in value.values() if isinstance(inner, list) and inner]
    return lists[0] if len(lists) == 1 and all(isinstance(element, dict) for element in lists[0]) else None


def _decoded(text: str, shape: Shape[T], depth: int) -> list[Any] | None:
    try:
        return _elements(msgspec.json.decode(text), shape, depth + 1)
    except (msgspec.DecodeError, RecursionError):
        return None


def _item(element: Any, shape: Shape[T]) -> T | str:
    """Return the item, or what is wrong with it."""
    if not isinstance(element, dict):
        return f"expected an object, got {_kind(element)}"
    names = {one.encode_name for one in _fields(shape.item)}
    if echo := _echo(element, names):
        return echo
    try:
        bent = _bent(element, _info(shape.item), shape.aliases)
        if not bent:
            return "expected an object with some of the keys " + ", ".join(sorted(names))
        item = msgspec.convert(bent, shape.item, strict=False)
    except (msgspec.ValidationError, RecursionError) as error:
        return str(error) or "nested too deep"
    return (shape.check(item) if shape.check else "") or item


def _echo(element: Mapping[str, Any], names: set[str]) -> str:
    if "properties" in element and "type" in element and not {"properties", "type"} <= names:
        return "the schema itself was given back"
    if {"role", "content"} <= element.keys() and "role" not in names:
        return "a message of the input was given back"
    return ""


def _bent(value: Any, kind: inspect.Type, aliases: Mapping[str, str]) -> Any:
    """Return a value with the names and the nesting that `kind` has, as far as that is no guess."""
    kind = _plain(kind)
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        fields = {one.encode_name: one for one in kind.fields}
        bent: dict[str, Any] = {key: inner for key, inner in value.items() if key in fields}
        for key, inner in value.items():
            bent.setdefault(_right_name(key, fields.keys(), aliases), inner)
        return {
            key: _bent(inner, fields[key].type, aliases)
            for key, inner in bent.items()
            if key in fields and (inner is not None or fields[key].required)
        }
    if isinstance(kind, inspect.ListType | inspect.VarTupleType):
        elements = value if isinstance(value, list) else [value]
        return [_bent(element, kind.item_type, aliases) for element in elements]
    return _clean(value) if isinstance(value, str) else value


def _right_name(key: str, names: Any, aliases: Mapping[str, str]) -> str:
    if key in names:
        return key
    if key in aliases:
        return aliases[key]
    snake = re.sub(r"[\s-]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.strip())).lower()
    return snake if snake in names else aliases.get(snake, key)


def _plain(kind: inspect.Type) -> inspect.Type:
    """Return the type without annotation, and without null where that leaves one."""
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.UnionType):
        others = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
        return _plain(others[0]) if len(others) == 1 else kind
    return kind


def _clean(text: str) -> str:
    """Return a text that every store can hold: no NUL, no lone surrogate."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@lru_cache(maxsize=64)
def _info(item: type[msgspec.Struct]) -> inspect.Type:
    return inspect.type_info(item)


def _fields(item: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    info = _info(item)
    return info.fields if isinstance(info, inspect.StructType) else ()


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object that holds no such list"


def _strict(schema: Any) -> Any:
    """Return a schema whose objects are closed and whose fields are all required, without defaults and titles."""
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: _strict(inner) for key, inner in schema.items() if key not in ("default", "title")}
    if isinstance(schema.get("properties"), dict):
        properties = {name: _strict(inner) for name, inner in schema["properties"].items()}
        strict |= {"properties": properties, "required": list(properties), "additionalProperties": False}
    return strict
