"""What an export holds, read from one snapshot row by row, in the order of the file.

On a connection of its own, because it lasts as long as the file takes to write; nobody waits for it meanwhile. Rows that
refer to something outside the export are given without it: a user's file names nothing of another user.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from memstrata.records.archive import (
    ArchiveSelection,
    DocumentLine,
    LayerLine,
    MemoryLine,
    MessageLine,
    OutputPart,
    ProfileLine,
    RunLine,
    SessionLine,
    TombstoneLine,
)
from memstrata.records.archive_directory import TableLine
from memstrata.store.sqlite.archive.tables import TABLES
from memstrata.store.sqlite.connection import open_reader, query
from memstrata.store.sqlite.errors import translated

__all__ = ["ArchiveReader"]

# ?1 to ?4: instance, team, agent, user; NULL for any. A scope has its agent's shared profile with it, a user has not.
_SCOPES = """
(SELECT id FROM scopes WHERE instance = ?1 AND (?2 IS NULL OR team = ?2) AND (?3 IS NULL OR agent = ?3)
  AND (?4 IS NULL OR user = ?4))
"""
_PROFILES = """
(SELECT id FROM profiles WHERE instance = ?1 AND (?2 IS NULL OR team = ?2) AND (?3 IS NULL OR agent = ?3)
  AND (?4 IS NULL OR user = ?4 OR (?2 IS NOT NULL AND user = '')))
"""
_PROFILE_LINES = f"""
SELECT team, agent, user, scenes_at, portrayed_at, persona_request FROM profiles
WHERE id IN {_PROFILES} ORDER BY team, agent, user
"""
_SESSION_LINES = f"""
SELECT c.team, c.agent, c.user, s.session_id, s.warmup, s.scene_name, s.last_message_at
FROM sessions s JOIN scopes c ON c.id = s.scope_id WHERE s.scope_id IN {_SCOPES}
ORDER BY c.team, c.agent, c.user, s.session_id
"""
# `+` keeps the order of the table, which is that of the file: nothing is sorted, nothing is held.
_MESSAGE_LINES = f"""
SELECT c.team, c.agent, c.user, s.session_id, m.seq, m.message_id, m.task_id, m.role, m.content, m.said_at, m.recorded_at,
  m.seq <= s.cursor, m.seq <= s.cursor AND m.seq >= coalesce(s.rules_from, m.seq + 1), p.reason, p.parked_at,
  coalesce(p.revived, 0), t.message_seq IS NOT NULL
FROM messages m CROSS JOIN sessions s ON s.id = m.session_key CROSS JOIN scopes c ON c.id = m.scope_id
  LEFT JOIN parked p ON p.message_seq = m.seq LEFT JOIN spent_messages t ON t.message_seq = m.seq
WHERE +m.scope_id IN {_SCOPES} ORDER BY m.seq
"""
_MEMORY_LINES = f"""
SELECT c.team, c.agent, c.user, p.user, m.seq, m.memory_id, m.version, m.type, m.content, m.priority, m.scene_name,
  m.applies_to, m.slot, m.session_id, m.task_id, m.origin, m.happened_from, m.happened_to, m.metadata, m.created_at,
  m.updated_at, m.valid_to,
  (SELECT json_group_array(message_seq) FROM (
    SELECT message_seq FROM memory_sources WHERE memory_seq = m.seq ORDER BY message_seq)),
  (SELECT json_group_array(seq) FROM (
    SELECT o.seq FROM memories o WHERE o.superseded_by = m.seq AND o.scope_id IN {_SCOPES} ORDER BY o.seq)),
  m.consumed AND p.id IN {_PROFILES}, m.seq <= p.portrayed_memory AND p.id IN {_PROFILES}
FROM memories m CROSS JOIN scopes c ON c.id = m.scope_id CROSS JOIN profiles p ON p.id = m.profile_id
WHERE +m.scope_id IN {_SCOPES} ORDER BY m.seq
"""
_DOCUMENT_LINES = f"""
SELECT p.team, p.agent, p.user, d.seq, d.kind, d.path, d.version, d.body, d.summary, d.heat, d.origin, d.created_at,
  d.updated_at, d.valid_to,
  (SELECT json_group_array(memory_seq) FROM (
    SELECT s.memory_seq FROM document_sources s CROSS JOIN memories m ON m.seq = s.memory_seq
    WHERE s.document_seq = d.seq AND m.scope_id IN {_SCOPES} ORDER BY s.memory_seq)),
  d.seq <= p.portrayed_document
FROM documents d CROSS JOIN profiles p ON p.id = d.profile_id WHERE +d.profile_id IN {_PROFILES} ORDER BY d.seq
"""
_TOMBSTONE_LINES = f"""
SELECT c.team, c.agent, c.user, t.content_hash, coalesce((
  SELECT m.seq FROM messages m WHERE m.seq <= t.up_to AND +m.scope_id = t.scope_id ORDER BY m.seq DESC LIMIT 1), 0)
FROM tombstones t JOIN scopes c ON c.id = t.scope_id WHERE t.scope_id IN {_SCOPES}
ORDER BY c.team, c.agent, c.user, t.content_hash
"""
_RUN_LINES = f"""
SELECT coalesce(c.team, p.team), coalesce(c.agent, p.agent), coalesce(c.user, p.user), coalesce(s.session_id, ''), r.id,
  r.kind, r.outcome, r.from_seq, r.to_seq, r.written, r.retired, r.origin, r.started_at, r.finished_at, r.error, r.model,
  r.mode, r.prompt_id, r.prompt_version, r.prompt_source, r.prompt_sha256, r.calls, r.prompt_tokens, r.completion_tokens,
  r.cached_tokens, r.notes
FROM runs r LEFT JOIN sessions s ON r.kind = 'l1' AND s.id = r.target LEFT JOIN scopes c ON c.id = s.scope_id
  LEFT JOIN profiles p ON r.kind <> 'l1' AND p.id = r.target
WHERE (s.scope_id IN {_SCOPES} OR p.id IN {_PROFILES}) ORDER BY r.id
"""
_OUTPUTS = "SELECT layer, seq, action, inputs, replaced, note FROM run_outputs WHERE run_id = ? ORDER BY layer, seq"
_THERE: Final = {
    "messages": f"SELECT seq FROM messages WHERE seq IN (SELECT value FROM json_each(?5)) AND scope_id IN {_SCOPES}",
    "memories": f"SELECT seq FROM memories WHERE seq IN (SELECT value FROM json_each(?5)) AND scope_id IN {_SCOPES}",
    "documents": f"SELECT seq FROM documents WHERE seq IN (SELECT value FROM json_each(?5)) AND profile_id IN {_PROFILES}",
}
_READ: Final = {"l1": ("messages", "memories"), "l2": ("memories", "documents"), "l3": ("documents", "documents")}
"""What a layer reads, and what it writes."""


class ArchiveReader:
    """One snapshot of what a selection holds. To be closed."""

    def __init__(self, file: Path, selection: ArchiveSelection) -> None:
        s = selection
        self._selection = selection
        self._values = (s.instance, s.team, s.agent, s.user)
        with translated("export"):
            self._db = open_reader(file)
            self._db.execute("BEGIN")

    def schema(self) -> int:
        """Return the schema version. The first read, which takes the snapshot."""
        with translated("export"):
            return int(query(self._db, "PRAGMA user_version")[0][0])

    def lines(self) -> Iterator[TableLine | LayerLine]:
        """Yield all lines between header and end."""
        with translated("export"):
            yield from self._tables()
            for row in self._rows(_PROFILE_LINES):
                yield ProfileLine(*row)
            for row in self._rows(_SESSION_LINES):
                yield SessionLine(*row)
            for row in self._rows(_MESSAGE_LINES):
                yield MessageLine(*_with_flags(row, 11, 12, 15, 16))
            for row in self._rows(_MEMORY_LINES):
                yield MemoryLine(*_with_flags(_with_json(row, 18, 22, 23), 24, 25))
            for row in self._rows(_DOCUMENT_LINES):
                yield DocumentLine(*_with_flags(_with_json(row, 14), 15))
            for row in self._rows(_TOMBSTONE_LINES):
                yield TombstoneLine(*row)
            for row in self._rows(_RUN_LINES):
                yield RunLine(*(*_with_json(row, 25), self._outputs(row[4])))

    def close(self) -> None:
        self._db.close()

    def _tables(self) -> Iterator[TableLine]:
        part = self._selection.part
        for table in TABLES.values():
            if part == "scope" or (part == "user" and not table.user):
                continue
            values = (self._selection.instance, self._selection.user)[: 1 if part == "instance" else 2]
            for row in self._db.execute(table.select(of_user=part == "user"), values):
                yield table.line(*row)

    def _rows(self, sql: str) -> Iterator[tuple[Any, ...]]:
        yield from self._db.execute(sql, self._values)

    def _outputs(self, run: int) -> list[OutputPart]:
        outputs = []
        for layer, seq, action, inputs, replaced, note in query(self._db, _OUTPUTS, (run,)):
            below, own = _READ[layer]
            if self._there(own, [seq]):
                kept = self._there(below, json.loads(inputs)), self._there(own, json.loads(replaced))
                outputs.append(OutputPart(layer, seq, action, *kept, note))
        return outputs

    def _there(self, table: str, seqs: list[int]) -> list[int]:
        """Return the rows that are still there and in this export, in the order given."""
        if not seqs:
            return []
        found = {row[0] for row in query(self._db, _THERE[table], (*self._values, json.dumps(seqs)))}
        return [seq for seq in seqs if seq in found]


def _with_flags(row: Sequence[Any], *columns: int) -> list[Any]:
    return [bool(value) if at in columns else value for at, value in enumerate(row)]


def _with_json(row: Sequence[Any], *columns: int) -> list[Any]:
    return [json.loads(value) if at in columns else value for at, value in enumerate(row)]
