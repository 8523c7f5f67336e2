"""One table of a TOML text, or one string above all tables, put in, replaced or taken out. Pure: text in, text out.

Every other byte is kept. What is changed is found by its line. A line in a long string may look like it, and the same may be
written in other ways, so the result is read again: it must say what was asked for, and of all else what it said before.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["root_value", "with_root_value", "with_table", "without_root_value", "without_table"]

_HEADER = re.compile(r"^[ \t]*\[.*$", re.MULTILINE)


def with_table(text: str, path: Sequence[str], values: Mapping[str, str | bool | Sequence[str]]) -> str:
    """Return the text with a table of strings, truths and lists of strings at a path of bare names.

    Raises ValueError where the text is no TOML, or has the table in another form than under its own header.
    """
    if _at(_read(text), path) == {
        name: value if isinstance(value, str | bool) else list(value) for name, value in values.items()
    }:
        return text
    rest = without_table(text, path)
    line_end = "\r\n" if "\r\n" in text else "\n"
    if rest and not rest.endswith("\n"):
        rest += line_end
    # A JSON string without a lone surrogate is a basic string of TOML.
    lines = [
        f"[{'.'.join(path)}]",
        *(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()),
    ]
    written = rest + (line_end if rest.strip() else "") + line_end.join(lines) + line_end
    if _without(_read(written), path) != _without(_read(text), path):
        raise ValueError(f"{'.'.join(path)} cannot be written without changing something else")
    return written


def without_table(text: str, path: Sequence[str]) -> str:
    """Return the text without a table and its inner tables. Raises ValueError as `with_table`."""
    before = _read(text)
    if _at(before, path) is None:
        return text
    headers = [*_HEADER.finditer(text)]
    kept = text
    for number in range(len(headers) - 1, -1, -1):
        if not _is_of(headers[number][0], path):
            continue
        start = headers[number].start()
        end = headers[number + 1].start() if number + 1 < len(headers) else len(text)
        shorter = _joined(kept[:start], kept[start + len(_body(text[start:end])) :])
        if _says(shorter, _without(before, path), path):
            kept = shorter
    if _at(_read(kept), path) is not None:
        raise ValueError(f"{'.'.join(path)} is not a table under its own header; change it by hand")
    return kept


def root_value(text: str, name: str) -> str:
    """Return the string under a bare name above all tables, empty for none. Raises ValueError where the text is no TOML."""
    value = _read(text).get(name)
    return value if isinstance(value, str) else ""


def with_root_value(text: str, name: str, value: str) -> str:
    """Return the text with a string under a bare name above all tables. Raises ValueError as `with_table`."""
    before = _read(text)
    if before.get(name) == value:
        return text
    written = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    if name in before:
        return _with_line(
            text, name, lambda line: _assignment(name).sub(lambda _: written, line, 1), before | {name: value}
        )
    line_end = "\r\n" if "\r\n" in text else "\n"
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    return f"{mark}{written}{line_end}{text.removeprefix(mark)}"


def without_root_value(text: str, name: str) -> str:
    """Return the text without a bare name above all tables. Raises ValueError as `with_table`."""
    before = _read(text)
    if name not in before:
        return text
    return _with_line(text, name, lambda _: "", {key: value for key, value in before.items() if key != name})


def _with_line(text: str, name: str, change: Callable[[str], str], wanted: dict[str, Any]) -> str:
    """Return the text with the one line changed that makes it say what is wanted."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    lines = text.removeprefix(mark).splitlines(keepends=True)
    for number, line in enumerate(lines):
        if _assignment(name).match(line):
            changed = mark + "".join([*lines[:number], change(line), *lines[number + 1 :]])
            try:
                if _read(changed) == wanted:
                    return changed
            except ValueError:
                continue  # a line of a longer string, which only looks like it
    raise ValueError(f"{name} is not on a line of its own; change it by hand")


def _assignment(name: str) -> re.Pattern[str]:
    return re.compile(rf"""[ \t]*{re.escape(name)}[ \t]*=[ \t]*(?:"[^"\n]*"|'[^'\n]*')""")


def _says(text: str, rest: dict[str, Any], path: Sequence[str]) -> bool:
    """Whether a text is TOML and says, beside the table, just that."""
    try:
        return _without(_read(text), path) == rest
    except ValueError:
        return False


def _body(table: str) -> str:
    """Return a table up to its last value: comments and blank lines behind it belong to what follows."""
    lines = table.splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return "".join(lines)


def _joined(before: str, after: str) -> str:
    """Close the gap: the blank line that `with_table` puts before a table goes with it."""
    if before.endswith("\r\n\r\n"):
        return before[:-2] + after
    return before[:-1] + after if before.endswith("\n\n") else before + after


def _is_of(header: str, path: Sequence[str]) -> bool:
    name = header.split("#", 1)[0].strip()
    wanted = ".".join(path)
    return name == f"[{wanted}]" or name.startswith(f"[{wanted}.")


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"no TOML: {error}") from None


def _at(values: Any, path: Sequence[str]) -> Any:
    for name in path:
        values = values.get(name) if isinstance(values, dict) else None
    return values


def _without(values: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    name, *rest = path
    kept = {key: value for key, value in values.items() if key != name}
    inner = values.get(name)
    if rest and isinstance(inner, dict) and (left := _without(inner, rest)):
        kept[name] = left
    return kept
