"""Reading answers whose shape nobody promises: a member that is missing or of another type is as good as none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from memstrata.proxy.wire.spans import without_half_pairs

__all__ = ["at", "count", "decoded", "items", "text"]

_ANY = msgspec.json.Decoder()
_MOST = 2**53


def decoded(data: bytes) -> Mapping[str, object] | None:
    """Return the object in some JSON, None where there is none.

    Half of a surrogate pair, which a server written in JavaScript sends when it cuts between the two, is U+FFFD.
    """
    for attempt in (data, without_half_pairs(data)):
        try:
            found = _ANY.decode(attempt)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            continue
        return found if isinstance(found, dict) else None
    return None


def at(value: object, *keys: str) -> object:
    """Return a member of a member, None where the way ends early."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text(value: object, *keys: str) -> str:
    """Return a text, empty where there is none."""
    found = at(value, *keys)
    return found if isinstance(found, str) else ""


def count(value: object, *keys: str) -> int:
    """Return a number of things, 0 where there is none."""
    found = at(value, *keys)
    if isinstance(found, bool) or not isinstance(found, int):
        return 0
    return min(max(found, 0), _MOST)


def items(value: object, *keys: str) -> Iterator[object]:
    """Yield the elements of an array, none where there is none."""
    found = at(value, *keys)
    yield from found if isinstance(found, list) else ()
