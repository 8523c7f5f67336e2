"""The way in: a path or bytes, whatever the format, to an `ImportFile`.

The format is told from what the file holds, not from its name: ChatGPT and Claude both write a `conversations.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Protocol

from memstrata.errors import InvalidRequest
from memstrata.transfer import chatgpt, claude, openai, own, plain
from memstrata.transfer.conversation import ImportFile
from memstrata.transfer.encoding import decode, read_bytes
from memstrata.transfer.node import Node, parse_values
from memstrata.transfer.place import Place

__all__ = ["FORMATS", "read_data", "read_file"]


class _JsonReader(Protocol):
    def __call__(self, values: Iterable[Node]) -> ImportFile: ...


_JSON_READERS: Mapping[str, _JsonReader] = {
    "openai": openai.read,
    "chatgpt": chatgpt.read,
    "claude": claude.read,
    "memstrata": own.read,
}

FORMATS = ("auto", *_JSON_READERS, "plain")
"""What `format` may be: `auto`, or the name of one format."""


def read_file(path: Path, format: str = "auto") -> ImportFile:  # noqa: A002 - the word of the command line
    """Read a conversation file.

    Raises InvalidRequest with one line that says what is wrong and where: the file's name, then the line and column or
    the JSON path (`chat.jsonl line 17: …`, `conversations.json [3].chat_messages[5]: no "sender"`).
    """
    _check_format(format)
    return read_data(read_bytes(path), path.name, format)


def read_data(data: bytes, name: str, format: str = "auto") -> ImportFile:  # noqa: A002
    """Read the bytes of a conversation file that errors shall call `name`. Raises InvalidRequest like `read_file`."""
    _check_format(format)
    place = Place(name)
    text = decode(data, place)
    if format == "auto":
        return _read_any(text, place)
    if format == "plain":
        return plain.read(text, place)
    return _JSON_READERS[format](parse_values(text, place))


def _check_format(name: str) -> None:
    if name not in FORMATS:
        raise InvalidRequest(f'unknown format "{name}" (known: {", ".join(FORMATS)})', field="format")


def _read_any(text: str, place: Place) -> ImportFile:
    # A line such as `[2026-01-02 03:04] User: …` opens like a JSON list, so labels are looked for first.
    if plain.is_plain(text):
        return plain.read(text, place)
    if not text.lstrip().startswith(("{", "[")):
        raise place.error(
            "no known format: neither JSON nor text in which each turn starts with a label such as `User:` or `助手：`"
        )
    values = parse_values(text, place)
    first = next(values)
    return _JSON_READERS[_json_format(first)](chain((first,), values))


def _json_format(first: Node) -> str:
    """Return the format whose mark the first value bears; message lists bear none, so they are what remains."""
    sample = next(first.items(), first) if first.is_list() else first
    if sample.has("memstrata_export"):
        return "memstrata"
    if sample.has("mapping"):
        return "chatgpt"
    if sample.has("chat_messages"):
        return "claude"
    return "openai"
