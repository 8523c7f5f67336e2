"""Runs of the pipeline in an import: how each row came about."""

from __future__ import annotations

import json
from typing import Final

import apsw

from memstrata.records import Profile, Scope
from memstrata.records.archive import RunLine
from memstrata.store.sqlite.archive.outcome import ADDED, KNOWN, Written, conflict
from memstrata.store.sqlite.archive.renumbering import Numbers, Renumbering, free_number
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.scopes import ScopeNumbers

__all__ = ["RunWriter"]

_SESSION = "SELECT id FROM sessions WHERE scope_id = ? AND session_id = ?"
_COLUMNS: Final = (
    "kind, target, outcome, from_seq, to_seq, written, retired, origin, started_at, finished_at, error, model, mode,"
    " prompt_id, prompt_version, prompt_source, prompt_sha256, calls, prompt_tokens, completion_tokens, cached_tokens,"
    " notes"
)
# A run has no name but its number, which another database may have given to another run.
_SAME = f"""
SELECT id FROM runs WHERE kind = ?1 AND target = ?2
  AND ({_COLUMNS}) IS ({", ".join(f"?{number}" for number in range(1, 23))}) ORDER BY id <> ?23 LIMIT 1
"""
_ADD = f"INSERT INTO runs (id, {_COLUMNS}) VALUES ({', '.join('?' * 23)})"
_ADD_OUTPUT = """
INSERT OR IGNORE INTO run_outputs (layer, seq, run_id, action, inputs, replaced, note) VALUES (?, ?, ?, ?, ?, ?, ?)
"""


class RunWriter:
    """See `ArchiveWriter`."""

    def __init__(self, connection: apsw.Connection, scopes: ScopeNumbers) -> None:
        self._db = connection
        self._scopes = scopes

    def run(self, line: RunLine, instance: str, numbers: Numbers, *, dry: bool) -> Written:
        r, (below, _) = line, _tables(line.layer, numbers)
        target = self._target(line, instance)
        if target is None:
            return ADDED if dry else conflict("what it was about is not here")
        row = (
            *(r.layer, target, r.outcome, below.near(r.from_seq), below.near(r.to_seq), r.written, r.retired, r.origin),
            *(r.started_at, r.finished_at, r.error, r.model, r.mode, r.prompt_id, r.prompt_version, r.prompt_source),
            *(r.prompt_sha256, r.calls, r.prompt_tokens, r.completion_tokens, r.cached_tokens),
            json.dumps(r.notes, ensure_ascii=False),
        )
        same = query(self._db, _SAME, (*row, r.id))
        run_id = free_number(self._db, "runs", r.id)
        if same and (same[0][0] == r.id or run_id != r.id):
            return KNOWN
        if dry:
            return ADDED
        self._db.execute(_ADD, (run_id, *row))
        for output in r.outputs:
            inputs_of, rows_of = _tables(output.layer, numbers)
            seq = rows_of.of(output.seq)
            if seq is not None:
                inputs, replaced = _mapped(output.inputs, inputs_of), _mapped(output.replaced, rows_of)
                values = (output.layer, seq, run_id, output.action, inputs, replaced, output.note)
                self._db.execute(_ADD_OUTPUT, values)
        return ADDED

    def _target(self, line: RunLine, instance: str) -> int | None:
        if line.layer != "l1":
            return self._scopes.find(Profile(instance, line.team, line.agent, line.user))
        number = self._scopes.find(Scope(instance, line.team, line.agent, line.user))
        rows = [] if number is None else query(self._db, _SESSION, (number, line.session_id))
        return int(rows[0][0]) if rows else None


def _tables(layer: str, numbers: Numbers) -> tuple[Renumbering, Renumbering]:
    """Return the numbers of what a layer reads, and of what it writes."""
    match layer:
        case "l1":
            return numbers.messages, numbers.memories
        case "l2":
            return numbers.memories, numbers.documents
        case _:
            return numbers.documents, numbers.documents


def _mapped(seqs: list[int], table: Renumbering) -> str:
    return json.dumps([here for one in seqs if (here := table.of(one)) is not None])
