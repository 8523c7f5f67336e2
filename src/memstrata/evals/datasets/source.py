"""The files that a data set is read from: JSON whole or by lines, or columns. Every complaint names file and place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memstrata.errors import InvalidRequest
from memstrata.transfer.encoding import decode, read_bytes
from memstrata.transfer.node import Node, parse_values
from memstrata.transfer.place import Place

__all__ = ["file_text", "files_in", "id_of", "json_values", "texts_of"]


def file_text(file: Path) -> str:
    """Return a file's text. Raises InvalidRequest if it is not there or no text."""
    return decode(read_bytes(file), Place(str(file)))


def files_in(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a folder that fit a pattern, by name. Raises InvalidRequest if there is none."""
    if not folder.is_dir():
        raise InvalidRequest("there is no such folder", field=str(folder))
    found = sorted(file for file in folder.glob(pattern) if file.is_file())
    if not found:
        raise InvalidRequest(f"holds no {pattern}", field=str(folder))
    return found


def json_values(file: Path) -> Iterator[Node]:
    """Yield the JSON values of a file: one, or one per line. Raises InvalidRequest with the place of a fault."""
    yield from parse_values(file_text(file), Place(str(file)))


def id_of(node: Node) -> str:
    """Return an id that is text or a whole number. Raises InvalidRequest for anything else."""
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        return str(node.value)
    return node.text()


def texts_of(node: Node | None) -> list[str]:
    """Return the ids or texts of a list; of a single one, that; of nothing, none."""
    if node is None:
        return []
    return [id_of(item) for item in node.items()] if node.is_list() else [id_of(node)]
