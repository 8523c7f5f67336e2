"""The hundred turns whose cost is counted: half Chinese, half English, each with one thing to remember.

The file is the one that the reference's cost was counted with. It is no part of the repository: it stands in the folder
`shared` beside it, or where MEMSTRATA_BENCH_SHARED says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Turn", "find_conversation", "read_turns"]

_NAME = "bench/conversation100.jsonl"


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user said, and what was answered."""

    user: str
    assistant: str


def find_conversation(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the file, None where there is none."""
    shared = environ.get("MEMSTRATA_BENCH_SHARED") or Path(__file__).resolve().parents[2] / "shared"
    file = Path(shared) / _NAME
    return file if file.is_file() else None


def read_turns(file: Path) -> list[Turn]:
    """Return the turns in their order. Raises ValueError for a line that is none."""
    turns: list[Turn] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        match json.loads(line):
            case {"user": str(user), "assistant": str(assistant)}:
                turns.append(Turn(user, assistant))
            case _:
                raise ValueError(f"{file.name} line {number}: no turn")
    return turns
