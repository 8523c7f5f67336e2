"""The files that a model sees through the Anthropic memory tool: their paths, their lines, and each answer's wording.

Wording, line numbers and sizes are those of the tool's documentation, because models were trained on them; what it leaves
open is said in the same manner. English alone, for the same reason. Pure.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

__all__ = [
    "MAX_FILE",
    "MAX_FILES",
    "ROOT",
    "Refused",
    "body_of",
    "files_below",
    "inserted",
    "integer",
    "is_hidden",
    "listing",
    "numbered",
    "replaced",
    "scene_path",
    "shown",
    "text",
]

ROOT = "/memories"
MAX_FILE = 8_192  # code points, as many as a message may have
MAX_FILES = 50  # more would crowd the list of scenes out of a prompt
MAX_PATH = 255
MAX_VIEW = 16_000
MAX_LINES = 999_999
_MAX_QUOTED = 400
_CONTEXT = 2  # lines on each side of a change
_LEVELS = 2
_REFUSED_CATEGORIES = ("Cc", "Cs", "Zl", "Zp")
_META_START = "-----META-START-----\n"
_META_END = "\n-----META-END-----\n"


class Refused(Exception):
    """A command that was not carried out; the text says to the model why."""


def scene_path(given: Mapping[str, object], name: str = "path") -> str:
    """Return the path of a scene, or the prefix of some without the slash; empty for the root.

    A path is taken as it is written. One that would read differently once percent signs are decoded or look-alikes
    normalised is refused, so that no later step can see another path than the one that was checked. Raises Refused.
    """
    path = text(given, name)
    quoted = _quoted(path)
    if path.rstrip("/") == ROOT and not path.endswith("//"):
        return ""
    if not path.startswith(f"{ROOT}/"):
        raise Refused(f"Error: The path {quoted} is outside of {ROOT}. Paths start with {ROOT}/.")
    inner = path.removeprefix(f"{ROOT}/").removesuffix("/")
    compatible = unicodedata.normalize("NFKC", inner)
    if (
        len(path) > MAX_PATH
        or unquote(path) != path
        or "\\" in compatible
        or compatible.count("/") != inner.count("/")
        or any(part.strip() in ("", ".", "..") for part in compatible.split("/"))
        or any(unicodedata.category(character) in _REFUSED_CATEGORIES for character in path)
    ):
        raise Refused(f"Error: The path {quoted} is not valid. Use plain names of files and folders below {ROOT}.")
    return unicodedata.normalize("NFC", inner)


def shown(path: str) -> str:
    """Return the path that the model knows a scene by."""
    return f"{ROOT}/{path}" if path else ROOT


def is_hidden(path: str) -> bool:
    """Whether a listing leaves the file out."""
    return any(part.startswith(".") or part == "node_modules" for part in path.split("/"))


def files_below(paths: Iterable[str], folder: str) -> list[str]:
    """Return the files in a folder and all below it."""
    return sorted(path for path in paths if not folder or path.startswith(f"{folder}/"))


def text(given: Mapping[str, object], name: str) -> str:
    """Return an argument that must be text. Raises Refused."""
    value = given.get(name)
    if not isinstance(value, str):
        raise Refused(f"Error: The parameter `{name}` is required and must be text.")
    return value


def integer(given: Mapping[str, object], name: str) -> int:
    """Return an argument that must be a whole number. Raises Refused."""
    value = given.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refused(f"Error: The parameter `{name}` is required and must be a whole number.")
    return value


def body_of(content: str) -> str:
    """Return a scene's text without the META block, which is the server's to write."""
    head, end, body = content.partition(_META_END)
    return body.removeprefix("\n") if end and head.startswith(_META_START) else content


def listing(sizes: Mapping[str, int], folder: str) -> str:
    """Return the files of a folder, two levels deep. `sizes` are in bytes, by path."""
    below = [path for path in files_below(sizes, folder) if not is_hidden(path)]
    entries: dict[str, int] = {folder: 0}
    for path in below:
        entries[folder] += sizes[path]
        parts = path.removeprefix(f"{folder}/" if folder else "").split("/")
        for level in range(1, min(len(parts), _LEVELS) + 1):
            entry = "/".join([*([folder] if folder else []), *parts[:level]])
            entries[entry] = entries.get(entry, 0) + sizes[path]
    head = (
        f"Here're the files and directories up to 2 levels deep in {shown(folder)}, excluding hidden items and"
        " node_modules:"
    )
    return "\n".join([head, *(f"{_size(size)}\t{shown(path)}" for path, size in entries.items())])


def numbered(path: str, body: str, view_range: object) -> str:
    """Return a file's lines, or some of them, with their numbers. Raises Refused."""
    lines = _lines(body)
    if len(lines) > MAX_LINES:
        raise Refused(f"File {shown(path)} exceeds maximum line limit of {MAX_LINES:,} lines.")
    start, end = _range(view_range, len(lines))
    head = f"Here's the content of {shown(path)} with line numbers:"
    kept: list[str] = []
    left = MAX_VIEW
    for number, line in enumerate(lines[start - 1 : end], start):
        row = _row(number, line)
        left -= len(row) + 1
        if left < 0 and kept:
            kept.append(f"(cut here; use view_range to read on from line {number})")
            break
        kept.append(row if left >= 0 else f"{row[:MAX_VIEW]}… (line cut)")
    return "\n".join([head, *kept])


def replaced(path: str, body: str, old: str, new: str) -> tuple[str, str]:
    """Return the new body and the answer that shows the change. Raises Refused unless `old` is there once."""
    quoted = _quoted(old)
    found = _occurrences(body, old)
    if not found:
        raise Refused(f"No replacement was performed, old_str `{quoted}` did not appear verbatim in {shown(path)}.")
    if len(found) > 1:
        where = ", ".join(dict.fromkeys(str(body.count("\n", 0, at) + 1) for at in found))
        raise Refused(
            f"No replacement was performed. Multiple occurrences of old_str `{quoted}` in lines: {where}."
            " Please ensure it is unique"
        )
    at = found[0]
    after = _bounded(path, body[:at] + new + body[at + len(old) :])
    first = body.count("\n", 0, at) + 1
    lines = _lines(after)
    start, end = max(1, first - _CONTEXT), min(len(lines), first + new.count("\n") + _CONTEXT)
    snippet = [_row(number, line) for number, line in enumerate(lines[start - 1 : end], start)]
    return after, "\n".join(["The memory file has been edited.", *snippet])


def inserted(path: str, body: str, at: int, new: str) -> str:
    """Return the body with a text behind its line `at`; 0 is the beginning. Raises Refused."""
    lines = _lines(body)
    if not 0 <= at <= len(lines):
        raise Refused(
            f"Error: Invalid `insert_line` parameter: {at}. It should be within the range of lines of the file:"
            f" [0, {len(lines)}]"
        )
    lines[at:at] = new.removesuffix("\n").split("\n")
    return _bounded(path, "\n".join(lines) + ("\n" if body.endswith("\n") or not body else ""))


def _bounded(path: str, body: str) -> str:
    if len(body) > MAX_FILE:
        raise Refused(f"Error: {shown(path)} would have {len(body):,} characters; a file may have {MAX_FILE:,}.")
    return body


def _lines(body: str) -> list[str]:
    """Return the lines; a line end at the very end begins no further one."""
    return body.removesuffix("\n").split("\n") if body else []


def _range(given: object, count: int) -> tuple[int, int]:
    if given is None:
        return 1, count
    match given:
        case [int() as start, int() as end] if not isinstance(start, bool) and not isinstance(end, bool):
            last = count if end == -1 else end
            if 1 <= start <= last and start <= max(count, 1):
                return start, min(last, count)
    raise Refused(
        f"Error: Invalid `view_range` parameter: {_quoted(repr(given))}. It should be two line numbers within [1, {count}],"
        " the second not before the first; -1 is the last line."
    )


def _occurrences(body: str, old: str) -> list[int]:
    found: list[int] = []
    at = body.find(old) if old else -1
    while at >= 0:
        found.append(at)
        at = body.find(old, at + 1)
    return found


def _row(number: int, line: str) -> str:
    return f"{number:>6}\t{line}"


def _size(count: float) -> str:
    for unit in ("B", "K"):
        if count < 1_024:
            return f"{count:.0f}{unit}" if count == int(count) else f"{count:.1f}{unit}"
        count /= 1_024
    return f"{count:.0f}M" if count == int(count) else f"{count:.1f}M"


def _quoted(given: str) -> str:
    """What a model sent, for an answer to it: not more of it than helps."""
    cut = given if len(given) <= _MAX_QUOTED else given[:_MAX_QUOTED] + "…"
    return cut.encode("utf-8", "backslashreplace").decode()
