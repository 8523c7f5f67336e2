"""Breaking long text into the lines of a terminal, in scripts with and without spaces.

Rich breaks at spaces only, so a Chinese sentence behind an English word is pushed whole onto the next line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len

__all__ = ["wrapped"]

_WIDE = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_CLOSING = "，。！？；：、）】」』》”’…"
# White space; or a wide character or a word, with the closing marks that no line may begin with.
_PIECE = re.compile(rf"(?P<space>\s+)|(?:[{_WIDE}]|[^\s{_WIDE}]+)[{_CLOSING}]*")


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of `text`, each at most `width` cells wide (one cell at least). Its own line breaks stay."""
    return [line for paragraph in text.split("\n") for line in _lines(paragraph, max(1, width))]


def _lines(paragraph: str, width: int) -> Iterator[str]:
    line = ""
    for match in _PIECE.finditer(paragraph):
        piece = match[0]
        if cell_len(line) + cell_len(piece.rstrip()) <= width:
            line += piece
            continue
        if line.strip():
            yield line.rstrip()
        line = "" if match["space"] else piece
        while cell_len(line) > width:
            head = _head(line, width)
            yield head
            line = line[len(head) :]
    yield line.rstrip()


def _head(word: str, width: int) -> str:
    """Return as much of a word as fits, one character at least."""
    end = 1
    while end < len(word) and cell_len(word[: end + 1]) <= width:
        end += 1
    return word[:end]
