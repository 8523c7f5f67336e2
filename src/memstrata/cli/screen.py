"""Where commands write: to a person at a terminal, to a pipe, or as JSON to a program.

What is said to people is dropped in JSON mode, and the other way round, so a command says both and asks nothing. In a
pipe there are no control codes, no boxes and no line breaks of ours, so that `grep` finds whole lines.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.panel import Panel
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from memstrata.cli.wrapping import wrapped

__all__ = ["Screen", "Step", "write_json"]

_FRAME_WIDTH = 4
_LABEL_WIDTH = 28  # of `importing examples/lin.jsonl`


def write_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object, in one line."""
    sys.stdout.write(json.dumps(data, ensure_ascii=False, default=str) + "\n")


class Screen:
    """The output of one command."""

    def __init__(self, *, as_json: bool = False, color: bool = True) -> None:
        self.as_json = as_json
        self._console = Console(
            markup=False, highlight=False, emoji=False, quiet=as_json, no_color=None if color else True
        )
        self._pretty = self._console.is_terminal and not self._console.is_dumb_terminal

    def json(self, data: Mapping[str, Any]) -> None:
        """Answer a program. Said once, at the end."""
        if self.as_json:
            write_json(data)

    def line(self, text: str = "", style: str = "", *, indent: int = 0) -> None:
        """Say a line to people."""
        self.item("", text, indent=indent, text_style=style)

    def bullet(self, text: str) -> None:
        """Say that something is done."""
        self.item("●", text, style="green")

    def item(
        self, label: str, text: str, *, indent: int = 0, width: int = 0, style: str = "bold cyan", text_style: str = ""
    ) -> None:
        """Say something under a label. Long text goes on beside the label; `width` pads the labels of one list alike."""
        margin = " " * indent
        head = f"{_padded(label, width)} " if label or width else ""
        beside = indent + cell_len(head)
        lines = wrapped(text, self._console.width - beside) if self._pretty else [text]
        self._console.print(Text.assemble(margin, (head, style), (lines[0], text_style)), soft_wrap=True)
        for line in lines[1:]:
            self._console.print(Text.assemble(" " * beside, (line, text_style)), soft_wrap=True)

    def document(self, text: str, title: str) -> None:
        """Show a Markdown text as it is: in a frame, or indented where there are no frames."""
        if self._pretty:
            lines = "\n".join(wrapped(text, self._console.width - _FRAME_WIDTH))
            frame = Panel(Text(lines), title=Text(title), title_align="left", border_style="dim", padding=(0, 1))
            self._console.print(frame)
            return
        for line in text.splitlines():
            self.line(f"    {line}".rstrip())

    @contextmanager
    def step(self, label: str, total: int | None = None) -> Iterator[Step]:
        """Show work under way: a bar at a terminal, one line at the end elsewhere. None: how much is not known."""
        if not self._pretty or self.as_json:
            step = Step()
            yield step
            self.bullet(f"{_padded(label, _LABEL_WIDTH)} {step.text}".rstrip())
            return
        progress = Progress(
            TextColumn("[green]●[/] {task.description}"),
            BarColumn(bar_width=14),
            TextColumn("{task.fields[text]}", markup=False),
            console=self._console,
        )
        with progress:
            task = progress.add_task(_padded(label, _LABEL_WIDTH), total=total, text="")
            yield Step(progress, task)
            progress.update(task, total=1, completed=1)


class Step:
    """Work under way."""

    def __init__(self, progress: Progress | None = None, task: TaskID | None = None) -> None:
        self.text = ""
        self._progress = progress
        self._task = task

    def show(self, text: str, done: float | None = None, total: float | None = None) -> None:
        """Say how far it is. The last text stays."""
        self.text = text
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, text=text, completed=done, total=total)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))
