"""Members of a request that are plain values: read as what the protocol says they are, or the body is not understood.

Absent and null are the same. A wrong type is Unreadable: the provider will refuse the body anyway, and a guess would
show in what is remembered.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from memstrata.proxy.wire.request import Unreadable
from memstrata.proxy.wire.spans import Value, decoded

__all__ = ["count_at", "flag_at", "is_null", "is_text", "object_at", "quoted", "text_at", "text_of"]

_TEXT = msgspec.json.Decoder(str)
_ANY = msgspec.json.Decoder()


def quoted(text: str) -> bytes:
    """Return a text as JSON; half of a surrogate pair, which no JSON may hold, becomes a question mark."""
    return msgspec.json.encode(text.encode(errors="replace").decode())


def is_null(value: Value) -> bool:
    """Tell whether a value is null."""
    return value.first == b"n"


def is_text(raw: msgspec.Raw) -> bool:
    """Tell whether a value is a string."""
    return bytes(memoryview(raw)[:1]) == b'"'


def text_of(raw: msgspec.Raw) -> str:
    """Return what a JSON string says. Raises Unreadable for another value and for bytes that are no UTF-8."""
    return decoded(_TEXT, raw)


def text_at(members: Mapping[str, Value], key: str) -> str:
    """Return the text of a member, empty without one. Raises Unreadable for another value."""
    value = members.get(key)
    return "" if value is None or is_null(value) else text_of(value.raw)


def flag_at(members: Mapping[str, Value], key: str) -> bool:
    """Return a member that is true or false, False without one. Raises Unreadable for another value."""
    value = members.get(key)
    if value is None or is_null(value):
        return False
    found: object = decoded(_ANY, value.raw)
    if not isinstance(found, bool):
        raise Unreadable("a flag is neither true nor false")
    return found


def count_at(members: Mapping[str, Value], *keys: str) -> int | None:
    """Return the first of some members that is there, a whole number. Raises Unreadable for another value."""
    for key in keys:
        value = members.get(key)
        if value is None or is_null(value):
            continue
        found: object = decoded(_ANY, value.raw)
        if isinstance(found, bool) or not isinstance(found, int | float) or found != int(found):
            raise Unreadable("a count is not a whole number")
        return int(found)
    return None


def object_at(members: Mapping[str, Value], key: str) -> Mapping[str, object]:
    """Return a member that is an object, empty without one or where it is something else."""
    value = members.get(key)
    if value is None or value.first != b"{":
        return {}
    found: object = decoded(_ANY, value.raw)
    return found if isinstance(found, dict) else {}
