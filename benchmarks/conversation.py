"""The hundred turns whose cost is counted: half Chinese, half English, each with one thing to remember.

The file is the one that the reference's cost was counted with. It is no part of the repository: it stands in the folder that
MEMSTRATA_BENCH_SHARED names, as `bench/conversation100.jsonl`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["NAME", "Turn", "find_conversation", "read_turns"]

NAME = "bench/conversation100.jsonl"


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user said, and what was answered."""

    user: str
    assistant: str


def find_conversation(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the file, None where none is named or there is none."""
    shared = environ.get("MEMSTRATA_BENCH_SHARED")
    file = Path(shared or ".") / NAME
    return file if shared and file.is_file() else None


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
