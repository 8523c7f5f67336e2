"""The `memstrata` executable in a folder, with nothing of this machine's settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["DEADLINE_SECONDS", "Finished", "Shell"]

EXECUTABLE = Path(sys.executable).with_name("memstrata")
DEADLINE_SECONDS = 120


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The answer to a program: the only thing on standard output."""
        assert self.out.count("\n") == 1, self
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """A folder to run commands in. Nothing of this machine's settings reaches them."""

    folder: Path

    def __call__(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Finished:
        done = subprocess.run(
            [EXECUTABLE, *arguments],
            cwd=self.folder,
            env=self.environment(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=DEADLINE_SECONDS,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start a command that goes on."""
        return subprocess.Popen(
            [EXECUTABLE, *arguments],
            cwd=self.folder,
            env=self.environment(env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def environment(self, env: Mapping[str, str] | None) -> dict[str, str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MEMSTRATA_", "LC_", "LANG")) and name not in ("COLUMNS", "FORCE_COLOR", "NO_COLOR")
        }
        return {**inherited, "LC_ALL": "C.UTF-8", **(env or {})}

    def write(self, name: str, text: str) -> Path:
        """Write a file into the folder."""
        file = self.folder / name
        file.write_text(text, encoding="utf-8")
        return file
