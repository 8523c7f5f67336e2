"""How rows came about, in SQLite: runs with whose rows they were about, what they wrote, and what those rows are called.

Rows are known outside by ids, inside by numbers. What was deleted since has no id any more, so an output, an input or a
replaced row that is gone is left out here and nobody above has to ask.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import apsw

from memstrata.clock import Instant
from memstrata.ids import document_id
from memstrata.records import Generation, Layer, RunOutput
from memstrata.store.evidence import BELOW, EvidenceLayer, rows_of
from memstrata.store.shapes import GenerationFilter, RowName
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.jobs import RUN_COLUMNS, run_from_row

__all__ = ["SqliteGenerations"]

_KINDS = {"l2": "scene", "l3": "persona"}
_OWNER = """
coalesce(c.instance, p.instance), coalesce(c.team, p.team), coalesce(c.agent, p.agent), coalesce(c.user, p.user),
  coalesce(s.session_id, '')
"""
_OWNED = """
LEFT JOIN sessions s ON r.kind = 'l1' AND s.id = r.target LEFT JOIN scopes c ON c.id = s.scope_id
  LEFT JOIN profiles p ON r.kind <> 'l1' AND p.id = r.target
"""
# Rules that found nothing to do left nothing to explain; a model that was paid for did.
_TELLS = "(r.outcome <> 'nothing' OR r.model <> '') AND coalesce(c.instance, p.instance) = ?1"
_FAILED = "r.outcome IN ('retry', 'poison')"
_RUNS = f"SELECT r.id, {_OWNER}, {RUN_COLUMNS} FROM runs r {_OWNED} WHERE {_TELLS}"
_ONE = f"{_RUNS} AND r.id = ?2"
_OF_OUTPUT = f"""
SELECT r.id, {_OWNER}, {RUN_COLUMNS} FROM run_outputs o CROSS JOIN runs r ON r.id = o.run_id {_OWNED}
WHERE {_TELLS} AND o.layer = ?2 AND o.seq = ?3 ORDER BY o.run_id DESC
"""
_OUTPUTS = """
SELECT run_id, layer, seq, action, inputs, replaced, note FROM run_outputs
WHERE run_id IN (SELECT value FROM json_each(?)) ORDER BY run_id, layer, seq
"""
_PRUNED = "finished_at < ? AND outcome IN ('retry', 'poison')"
_PRUNE_OUTPUTS = f"DELETE FROM run_outputs WHERE run_id IN (SELECT id FROM runs WHERE {_PRUNED})"
_PRUNE = f"DELETE FROM runs WHERE {_PRUNED}"

# Rows are looked up by number first and checked for their owner then, never the other way round.
_MESSAGE_NAMES = """
SELECT m.seq, m.message_id FROM messages m CROSS JOIN scopes c ON c.id = m.scope_id
WHERE m.seq IN (SELECT value FROM json_each(?)) AND c.instance = ?
"""
_MEMORY_NAMES = """
SELECT m.seq, m.memory_id, m.version FROM memories m CROSS JOIN scopes c ON c.id = m.scope_id
WHERE m.seq IN (SELECT value FROM json_each(?)) AND c.instance = ?
"""
_DOCUMENT_NAMES = """
SELECT d.seq, p.team, p.agent, p.user, d.kind, d.path, d.version FROM documents d CROSS JOIN profiles p ON p.id = d.profile_id
WHERE d.seq IN (SELECT value FROM json_each(?)) AND p.instance = ? AND d.kind = ?
"""
_MEMORY_ROWS = """
SELECT m.seq FROM memories m CROSS JOIN scopes c ON c.id = m.scope_id
WHERE c.instance = ? AND m.memory_id = ? ORDER BY m.seq DESC
"""
_PATHS = """
SELECT DISTINCT p.id, p.team, p.agent, p.user, d.path FROM profiles p CROSS JOIN documents d ON d.profile_id = p.id
WHERE p.instance = ? AND d.kind = ?
"""
_DOCUMENT_ROWS = "SELECT seq FROM documents WHERE profile_id = ? AND kind = ? AND path = ? ORDER BY version DESC"


class SqliteGenerations:
    """See `store.protocol.Generations`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    def page(
        self, instance: str, where: GenerationFilter, before: tuple[Instant, int] | None, limit: int
    ) -> tuple[Generation, ...]:
        clauses, values = [_RUNS], list[str | int]([instance])
        if where.failed is not None:
            clauses.append(_FAILED if where.failed else f"NOT {_FAILED}")
        for clause, value in (
            ("+r.kind = ?", where.layer),
            ("r.finished_at >= ?", where.since),
            ("r.finished_at <= ?", where.until),
        ):
            if value is not None:
                clauses.append(clause)
                values.append(value)
        if before is not None:
            clauses.append("(r.finished_at, r.id) < (?, ?)")
            values += before
        sql = f"{' AND '.join(clauses)} ORDER BY r.finished_at DESC, r.id DESC LIMIT ?"
        return self._with_outputs(instance, query(self._db, sql, (*values, limit)), lambda _: True)

    def one(self, instance: str, run_id: int) -> Generation | None:
        found = self._with_outputs(instance, query(self._db, _ONE, (instance, run_id)), lambda _: True)
        return found[0] if found else None

    def of_output(self, instance: str, layer: Layer, seq: int) -> tuple[Generation, ...]:
        rows = query(self._db, _OF_OUTPUT, (instance, layer, seq))
        found = self._with_outputs(instance, rows, lambda output: (output.layer, output.seq) == (layer, seq))
        return tuple(one for one in found if one.run.outputs)

    def names(self, instance: str, layer: EvidenceLayer, seqs: Collection[int]) -> Mapping[int, RowName]:
        if not seqs:
            return {}
        listed = json.dumps(sorted(seqs))
        match layer:
            case "l0":
                rows = query(self._db, _MESSAGE_NAMES, (listed, instance))
                return {seq: RowName(message_id) for seq, message_id in rows}
            case "l1":
                rows = query(self._db, _MEMORY_NAMES, (listed, instance))
                return {seq: RowName(memory_id, version) for seq, memory_id, version in rows}
            case "l2" | "l3":
                rows = query(self._db, _DOCUMENT_NAMES, (listed, instance, _KINDS[layer]))
                return {seq: RowName(document_id(instance, *rest), version) for seq, *rest, version in rows}

    def rows(self, instance: str, layer: Layer, record_id: str) -> tuple[int, ...]:
        if layer == "l1":
            return tuple(seq for (seq,) in query(self._db, _MEMORY_ROWS, (instance, record_id)))
        # A document's id is a hash, which names nothing by itself: the instance's paths are hashed one by one.
        kind = _KINDS[layer]
        for number, team, agent, user, path in query(self._db, _PATHS, (instance, kind)):
            if document_id(instance, team, agent, user, kind, path) == record_id:
                return tuple(seq for (seq,) in query(self._db, _DOCUMENT_ROWS, (number, kind, path)))
        return ()

    def prune(self, before: Instant) -> int:
        self._db.execute(_PRUNE_OUTPUTS, (before,))
        self._db.execute(_PRUNE, (before,))
        return self._db.changes()

    def _with_outputs(
        self, instance: str, rows: Sequence[tuple[Any, ...]], wanted: Callable[[RunOutput], bool]
    ) -> tuple[Generation, ...]:
        outputs: dict[int, list[RunOutput]] = {row[0]: [] for row in rows}
        for run_id, layer, seq, action, inputs, replaced, note in query(
            self._db, _OUTPUTS, (json.dumps(list(outputs)),)
        ):
            output = RunOutput(layer, seq, action, tuple(json.loads(inputs)), tuple(json.loads(replaced)), note)
            if wanted(output):
                outputs[run_id].append(output)
        referred = rows_of(output for some in outputs.values() for output in some)
        kept = {layer: self.names(instance, layer, seqs) for layer, seqs in referred.items()}
        return tuple(_generation(row, tuple(_present(outputs[row[0]], kept))) for row in rows)


def _generation(row: tuple[Any, ...], outputs: tuple[RunOutput, ...]) -> Generation:
    run_id, instance, team, agent, user, session_id, *run = row
    return Generation(run_id, instance, team, agent, user, session_id, run_from_row(run, outputs))


def _present(outputs: Iterable[RunOutput], kept: Mapping[EvidenceLayer, Collection[int]]) -> Iterable[RunOutput]:
    for output in outputs:
        if output.seq in kept[output.layer]:
            below, own = kept[BELOW[output.layer]], kept[output.layer]
            yield replace(
                output,
                inputs=tuple(seq for seq in output.inputs if seq in below),
                replaced=tuple(seq for seq in output.replaced if seq in own),
            )
