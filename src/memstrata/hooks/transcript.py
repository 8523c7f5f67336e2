"""The last answer in a transcript, for clients too old to say it: the end of a JSONL file, read tolerantly.

Only answers are taken from here. What the transcript has as the user's words holds what hooks added to them. The formats
are their programs' own business and change, so a line that is not understood is no error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["last_answer"]

_TAIL = 1_000_000  # bytes
_TEXTS = ("text", "output_text", "input_text")


def last_answer(path: Path) -> str:
    """Return the text of the last assistant message behind the last user message, empty without one. Raises OSError."""
    for line in reversed(_lines(path)):
        role, text = _message(line)
        if role == "user" and text:
            return ""
        if role == "assistant" and text:
            return text
    return ""


def _lines(path: Path) -> list[bytes]:
    with path.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(0, size - _TAIL))
        return stream.read(_TAIL).split(b"\n")[1 if size > _TAIL else 0 :]


def _message(line: bytes) -> tuple[str, str]:
    """Return who says what in a line: Claude Code's `message`, Codex's `payload`; nothing of a sub-agent or a tool."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return "", ""
    if not isinstance(entry, dict) or entry.get("isSidechain") or entry.get("isMeta"):
        return "", ""
    for name in ("message", "payload"):
        message = entry.get(name)
        if isinstance(message, dict) and message.get("role") in ("user", "assistant"):
            return str(message["role"]), "\n\n".join(_texts(message)).strip()
    return "", ""


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") in _TEXTS and isinstance(block.get("text"), str):
            yield block["text"]
