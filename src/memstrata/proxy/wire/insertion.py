"""The edits that put one JSON value into an array, or make an array of a string to have room for it."""

from __future__ import annotations

from memstrata.proxy.wire.request import Said, Span, Unreadable
from memstrata.proxy.wire.splice import Edit

__all__ = ["after", "before", "inside", "instead", "member_first", "placed_in_message", "wrapped"]


def before(element: Span, value: bytes) -> Edit:
    """Return the edit that puts a value before an element of an array."""
    return Edit(element.start, element.start, value + b",")


def after(element: Span, value: bytes) -> Edit:
    """Return the edit that puts a value after an element of an array."""
    return Edit(element.end, element.end, b"," + value)


def inside(array: Span, value: bytes) -> Edit:
    """Return the edit that puts a value into an array that has no elements."""
    return Edit(array.start + 1, array.start + 1, value)


def instead(old: Span, value: bytes) -> Edit:
    """Return the edit that replaces a value by an array with one element."""
    return Edit(old.start, old.end, b"[" + value + b"]")


def wrapped(old: Span, opening: bytes, closing: bytes) -> tuple[Edit, Edit]:
    """Return the edits that put bytes around a value, which stays as it came."""
    return Edit(old.start, old.start, opening), Edit(old.end, old.end, closing)


def member_first(body: bytes, key: bytes, value: bytes) -> Edit:
    """Return the edit that puts a member before all others of a body, which has at least one."""
    at = body.index(b"{") + 1
    return Edit(at, at, b'"' + key + b'":' + value + b",")


def placed_in_message(said: Said, block: bytes, kind: bytes) -> tuple[Edit, ...]:
    """Return the edits that put a text block into a message: before its first text, after its tool results.

    So a cache mark on the client's last block stays on the last block and covers ours. A content that was a string
    becomes ours and a text block of `kind` with the string in it. Raises Unreadable without a content, and for a
    message that is not the user's: nothing was recalled for another.
    """
    if said.content is None or said.role != "user":
        raise Unreadable("the message is not a user's, or it has no content to put a block in")
    if said.plain:
        if not said.blocks[0].text:
            return (instead(said.content, block),)
        return wrapped(said.content, b"[" + block + b',{"type":"' + kind + b'","text":', b"}]")
    blocks = [one for one in said.blocks if said.content.start < one.span.start < said.content.end]
    if not blocks:
        return (inside(said.content, block),)
    results = [at for at, one in enumerate(blocks) if one.kind == "tool_result"]
    rest = blocks[results[-1] + 1 :] if results else blocks
    if not rest:
        return (after(blocks[-1].span, block),)
    return (before(next((one for one in rest if one.kind == "text"), rest[0]).span, block),)
