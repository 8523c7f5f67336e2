"""A scene as clients see it: a META block of times, summary and heat, an empty line, the body.

The block is written from the record every time and never stored inside the body, so a client that reads a scene, edits
it and writes it back cannot nest blocks, and a text that somebody else chose cannot add keys. Source: wire contract §3.3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memstrata.clock import Instant, from_iso, to_iso
from memstrata.errors import InvalidRequest
from memstrata.records import Document

__all__ = ["ParsedScene", "one_line", "parse_scene", "render_scene"]

_START = "-----META-START-----"
_END = "-----META-END-----"
_KEYS = frozenset({"created", "updated", "summary", "heat"})
_BREAKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class ParsedScene:
    """What a scene's text says. A value is None when the text has no such line or one that cannot be read."""

    body: str
    summary: str | None = None
    heat: int | None = None
    created: Instant | None = None
    updated: Instant | None = None


def one_line(text: str) -> str:
    """Return `text` on one line: every run of white space, line separators and control characters is one space."""
    return _BREAKS.sub(" ", text).strip()


def render_scene(document: Document) -> str:
    """Return META block, empty line and body: the content that the wire and the mirror show."""
    block = (
        _START,
        f"created: {to_iso(document.created_at)}",
        f"updated: {to_iso(document.updated_at)}",
        f"summary: {one_line(document.summary)}",
        f"heat: {document.heat}",
        _END,
        "",
    )
    return "\n".join(block) + "\n" + document.body


def parse_scene(text: str) -> ParsedScene:
    """Read a scene's text. Never fails: without a META block all of it is body.

    Blocks that stand one after another or inside one another are all taken off; the outermost, which is the newest,
    wins, and a key it lacks is taken from the next.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    fields: dict[str, str] = {}
    body_at = _read_blocks(lines, fields)
    if body_at == 0:
        return ParsedScene(text)
    heat = fields.get("heat", "")
    return ParsedScene(
        body="\n".join(lines[body_at:]),
        summary=fields.get("summary"),
        heat=int(heat) if _NUMBER.fullmatch(heat) else None,
        created=_instant(fields.get("created")),
        updated=_instant(fields.get("updated")),
    )


def _read_blocks(lines: list[str], fields: dict[str, str]) -> int:
    """Fill `fields` and return the index of the body's first line; 0 when no block is complete."""
    body_at = 0
    depth = 0
    for index, raw in enumerate(lines):
        line = raw.strip()
        if line == _START:
            depth += 1
        elif depth and line == _END:
            depth -= 1
            body_at = index + 1
        elif depth:
            key, colon, value = line.partition(":")
            if colon and key.strip() in _KEYS:
                fields.setdefault(key.strip(), value.strip())
        elif line:
            break
    if body_at and body_at < len(lines) and not lines[body_at].strip():
        body_at += 1  # the one empty line that belongs to the layout, not to the body
    return body_at


def _instant(text: str | None) -> Instant | None:
    if text is None:
        return None
    try:
        return from_iso(text)
    except InvalidRequest:
        return None
