"""`config`: every setting with its value and where that comes from; and the same table as documentation.

`docs/settings.md` is what `--markdown` prints, and `make check` compares them: the page cannot drift from the program.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memstrata.cli.place import Place, read_settings
from memstrata.cli.screen import Screen
from memstrata.settings import FILE_NAME, Setting, settings_table

__all__ = ["markdown_page", "show_settings"]

_MASK = "••••••"
_EMPTY = "–"
_INTRODUCTION = f"""\
# Settings

Each setting is read from, in this order: a flag of the command line, its environment variable, `{FILE_NAME}` in the
working directory (or the file that `--config` names), its default. A name that is no setting stops the start with file
and line; a `MEMSTRATA_…` variable that is none is warned of. `memstrata config` shows what is in force and why.

In the file, the part before the dot is a table:

```toml
data_dir = "/var/lib/memstrata"

[server]
port = 8420
```

This page is printed by `memstrata config --markdown`.
"""


def show_settings(screen: Screen, place: Place, *, markdown: bool) -> None:
    """Show the settings in force, or print the page of the documentation. Raises Misconfigured."""
    if markdown:
        page = markdown_page()
        screen.line(page.rstrip("\n"))
        screen.json({"markdown": page})
        return
    settings, origins = read_settings(place.data_dir, place.config)
    rows = settings_table(settings, origins)
    width = max(len(row.name) for row in rows)
    for row in rows:
        # What is not a default is what one looks for here.
        style = "bold" if row.origin != "default" else "dim"
        origin = f"{row.origin} {row.env}" if row.origin == "environment" else row.origin
        screen.item(row.name, f"{_text(_shown(row)) or _EMPTY}   ({origin})", width=width, style=style)
    screen.json({"settings": [_as_json(row) for row in rows]})


def markdown_page() -> str:
    """Return the page: an introduction, then a table for each section."""
    sections: dict[str, list[Setting]] = {}
    for row in settings_table():
        sections.setdefault(row.name.rpartition(".")[0], []).append(row)
    parts = [_INTRODUCTION]
    for section, rows in sections.items():
        head = ["| setting | variable | type | default | what it does |", "|---|---|---|---|---|"]
        parts.append("\n".join([f"## {section or 'General'}", "", *head, *map(_row, rows), ""]))
    return "\n".join(parts)


def _row(row: Setting) -> str:
    kind = row.kind.replace("|", ", ")
    default = f"`{_text(row.default)}`" if _text(row.default) else "empty"
    return f"| `{row.name}` | `{row.env}` | {kind} | {default} | {row.text} |"


def _shown(row: Setting) -> Any:
    return _MASK if row.secret and row.value else row.value


def _as_json(row: Setting) -> Mapping[str, Any]:
    value, default = _shown(row), row.default
    return {
        "name": row.name,
        "env": row.env,
        "kind": row.kind,
        "value": str(value) if isinstance(value, os.PathLike) else value,
        "default": str(default) if isinstance(default, os.PathLike) else default,
        "origin": row.origin,
        "help": row.text,
    }


def _text(value: Any) -> str:
    match value:
        case bool():
            return "on" if value else "off"
        case float():
            return f"{value:g}"
        case tuple():
            return ", ".join(value)
        case Path():
            return value.as_posix()
        case _:
            return str(value)
