"""What every suite is handed: how to start a server, which folders are loaded already, and where results go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.load import load
from benchmarks.record import Record
from benchmarks.server import Server, running
from memstrata.records import Scope

__all__ = ["CONNECTIONS", "L1_OFF", "SCOPE", "SHORT_WAITS", "Bench"]

CONNECTIONS = (1, 8, 32)
SCOPE = Scope("default", "team-b", "agent-b", "user-b")

L1_OFF: Mapping[str, str] = {
    "MEMSTRATA_PIPELINE_WARMUP": "0",
    "MEMSTRATA_PIPELINE_EVERY_N": "1000000",
    "MEMSTRATA_PIPELINE_L1_IDLE_SECONDS": "100000",
}
"""Adding alone is measured, as in the reference's figures: no session comes to its distillation."""

SHORT_WAITS: Mapping[str, str] = {
    "MEMSTRATA_PIPELINE_L1_IDLE_SECONDS": "5",
    "MEMSTRATA_PIPELINE_L2_DELAY_SECONDS": "2",
    "MEMSTRATA_PIPELINE_L2_MIN_INTERVAL_SECONDS": "5",
    "MEMSTRATA_PIPELINE_L2_MAX_INTERVAL_SECONDS": "60",
}
"""As in the reference's figures of sessions: the last turns of one wait for the idle time."""


@dataclass(slots=True)
class Bench:
    """One run. Folders are made in `work`, which the caller removes."""

    command: Sequence[str]
    work: Path
    record: Record
    rounds: int
    seconds: float
    rows: int  # of the large scope
    small_scopes: int
    _loaded: dict[str, Path] = field(default_factory=dict)
    _made: int = 0

    @property
    def large(self) -> str:
        """The name of the store with one large scope: `100k`."""
        return f"{self.rows // 1000}k"

    def serve(self, folder: Path, environ: Mapping[str, str]) -> AbstractAsyncContextManager[Server]:
        """Run the server on a folder for a block."""
        return running(self.command, folder, environ)

    def new_folder(self) -> Path:
        """Return where a server may make a folder of its own."""
        self._made += 1
        return self.work / f"empty-{self._made}"

    async def loaded(self, scopes: Sequence[Scope], rows: int) -> Path:
        """Return a folder with so many memories and messages in each scope, loaded at the first call. Read only."""
        name = f"loaded-{len(scopes)}x{rows}"
        if name not in self._loaded:
            folder = self.work / name
            done = await load(folder, scopes, rows)
            self.record.figure(f"load.{len(scopes)}x{rows}.rows_per_second", done.rows_per_second, rows=done.rows)
            self._loaded[name] = folder
        return self._loaded[name]
