"""What the doctor finds: one thing looked at, how it is, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from memstrata.cli.screen import Screen
from memstrata.cli.words import say

__all__ = ["Check", "show_check"]

_SYMBOLS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "failed": ("✗", "bold red")}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `text` says what was found and, after an arrow, what to do."""

    name: str  # a phrase's name
    state: Literal["ok", "warning", "failed"]
    text: str
    subject: str = ""  # the model that it is about

    def as_json(self) -> Mapping[str, Any]:
        return {**asdict(self), "name": self.name.partition(".")[2]}


def show_check(screen: Screen, check: Check) -> None:
    """Say what was found to people."""
    symbol, style = _SYMBOLS[check.state]
    screen.item(f"{symbol} {say(check.name)}", check.text, width=14, style=style)
