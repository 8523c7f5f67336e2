"""Durable timers in SQLite: what is due, who holds it, what its last run did."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import apsw

from memstrata.clock import Instant
from memstrata.errors import LeaseLost
from memstrata.records import (
    Job,
    JobKind,
    LayerLoad,
    Lease,
    Profile,
    ProfileTarget,
    PromptRef,
    Provenance,
    RunOutput,
    RunRecord,
    Scope,
    SessionTarget,
    Target,
    Usage,
)
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.scopes import ScopeNumbers

__all__ = ["RUN_COLUMNS", "SqliteJobs", "run_from_row"]

RUN_COLUMNS = (
    "r.kind, r.outcome, r.from_seq, r.to_seq, r.written, r.retired, r.origin, r.started_at, r.finished_at, r.error,"
    " r.model, r.mode, r.prompt_id, r.prompt_version, r.prompt_source, r.prompt_sha256, r.prompt_tokens,"
    " r.completion_tokens, r.cached_tokens, r.calls, r.notes"
)
# A job that failed keeps its backoff: new input would otherwise spend all its tries while a model is down. A dead letter
# comes back with new input.
_ARM = """
INSERT INTO jobs (kind, target, lock, due_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (kind, target) DO UPDATE SET dead = 0, due_at = CASE
  WHEN dead = 0 AND last_error <> '' THEN due_at
  WHEN dead = 0 AND ?5 THEN min(due_at, excluded.due_at)
  ELSE excluded.due_at END
"""
_HURRY = "UPDATE jobs SET hurried = 1 WHERE kind = ? AND target = ? AND lease_until > 0"
_DISARM = "DELETE FROM jobs WHERE kind = ? AND target = ?"
# A job whose lock another job holds is passed over; of several that share a lock, one is taken.
_CLAIM = """
UPDATE jobs SET lease_until = ?1, worker = ?2, fence = fence + 1, attempts = attempts + 1
WHERE id IN (
  SELECT min(id) FROM (
    SELECT id, lock FROM jobs j WHERE dead = 0 AND due_at <= ?3 AND lease_until <= ?3
      AND NOT EXISTS (SELECT 1 FROM jobs other WHERE other.lock = j.lock AND other.lease_until > ?3)
    ORDER BY due_at LIMIT ?4
  ) GROUP BY lock
)
RETURNING id, kind, target, fence, attempts, lease_until, deferred
"""
_RENEW = "UPDATE jobs SET lease_until = ? WHERE id = ? AND fence = ? AND lease_until > 0"
_HOLD = "SELECT 1 FROM jobs WHERE id = ? AND fence = ? AND lease_until > 0"
_FINISH = "DELETE FROM jobs WHERE id = ? AND fence = ?"
_FINISH_AGAIN = """
UPDATE jobs SET due_at = CASE WHEN hurried = 1 THEN 0 ELSE ? END, hurried = 0, lease_until = 0, worker = '', attempts = 0,
  deferred = 0, last_error = '' WHERE id = ? AND fence = ?
"""
_FAIL = """
UPDATE jobs SET due_at = ?, lease_until = 0, worker = '', last_error = ?, deferred = 0 WHERE id = ? AND fence = ?
"""
# The claim counted a try; it was none.
_DEFER = """
UPDATE jobs SET due_at = ?, lease_until = 0, worker = '', last_error = ?, attempts = attempts - 1, deferred = deferred + 1
WHERE id = ? AND fence = ?
"""
_BURY = """
UPDATE jobs SET dead = 1, lease_until = 0, worker = '', last_error = ?, deferred = 0 WHERE id = ? AND fence = ?
"""
_NEXT_FREE = """
SELECT due_at FROM jobs j WHERE dead = 0 AND lease_until <= ?1
  AND NOT EXISTS (SELECT 1 FROM jobs other WHERE other.lock = j.lock AND other.lease_until > ?1)
ORDER BY due_at LIMIT 1
"""
_NEXT_EXPIRY = "SELECT min(lease_until) FROM jobs WHERE lease_until > 0 AND lease_until > ?"  # 0: as the index says
_MINE = """
(kind = 'l1' AND target IN (SELECT id FROM sessions WHERE scope_id = ?1)) OR (kind IN ('l2', 'l3') AND target = ?2)
"""
_REVIVE = f"""
UPDATE jobs SET dead = 0, attempts = 0, deferred = 0, due_at = ?3
WHERE (dead = 1 OR (last_error <> '' AND due_at > ?3)) AND lease_until = 0 AND ({_MINE})
"""
_OF = f"""
SELECT kind, target, dead, lease_until > 0, due_at, attempts, last_error FROM jobs WHERE {_MINE} ORDER BY due_at, id
"""
_LOAD = """
SELECT j.kind, sum(j.dead = 0 AND j.lease_until = 0), sum(j.dead = 0 AND j.lease_until > 0), sum(j.dead)
FROM jobs j
LEFT JOIN sessions s ON j.kind = 'l1' AND s.id = j.target LEFT JOIN scopes c ON c.id = s.scope_id
LEFT JOIN profiles p ON j.kind <> 'l1' AND p.id = j.target
WHERE coalesce(c.instance, p.instance) = ? GROUP BY j.kind
"""
_SESSION = "SELECT scope_id, session_id FROM sessions WHERE id = ?"
_FORGOTTEN_SESSIONS = """
SELECT s.id FROM sessions s
WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'l1' AND j.target = s.id)
  AND (EXISTS (SELECT 1 FROM messages m WHERE m.session_key = s.id AND m.seq > s.cursor)
    OR EXISTS (SELECT 1 FROM parked p WHERE p.session_key = s.id AND p.revived = 1))
"""
_FORGOTTEN_PROFILES = """
SELECT DISTINCT m.profile_id FROM memories m WHERE m.valid_to IS NULL AND m.consumed = 0
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'l2' AND j.target = m.profile_id)
"""
_RECORD = """
INSERT INTO runs (kind, target, outcome, from_seq, to_seq, written, retired, origin, started_at, finished_at, error,
  model, mode, prompt_id, prompt_version, prompt_source, prompt_sha256, calls, prompt_tokens, completion_tokens,
  cached_tokens, notes)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_RECORD_OUTPUT = """
INSERT OR REPLACE INTO run_outputs (layer, seq, run_id, action, inputs, replaced, note) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_LAST_RUN = f"""
SELECT {RUN_COLUMNS} FROM runs r WHERE id = (
  SELECT max((SELECT max(id) FROM runs WHERE kind = ?3 AND target = t.id))
  FROM (SELECT id FROM sessions WHERE scope_id = ?1 AND ?3 = 'l1' UNION ALL SELECT ?2 WHERE ?3 <> 'l1') t
)
"""
_HASTEN = "UPDATE jobs SET due_at = min(due_at, ?) WHERE kind = ? AND dead = 0 AND last_error = ''"


def run_from_row(row: Sequence[Any], outputs: tuple[RunOutput, ...] = ()) -> RunRecord:
    """Return the run of a row selected with RUN_COLUMNS."""
    model, mode, prompt_id, version, source, sha256, prompt, completion, cached, calls, notes = row[10:21]
    made = Provenance(
        model,
        mode,
        PromptRef(prompt_id, version, source, sha256) if prompt_id else None,
        Usage(prompt, completion, cached, calls),
        tuple(json.loads(notes)),
    )
    return RunRecord(*(*row[:10], made, outputs))


class SqliteJobs:
    """See `store.protocol.Jobs`."""

    def __init__(self, connection: apsw.Connection, scopes: ScopeNumbers) -> None:
        self._db = connection
        self._scopes = scopes

    def arm(self, kind: JobKind, target: Target, due_at: Instant, *, only_earlier: bool = False) -> None:
        self._db.execute(_ARM, (kind, target.key, _lock(target), due_at, only_earlier))

    def hurry(self, kind: JobKind, target: Target) -> None:
        self._db.execute(_HURRY, (kind, target.key))

    def claim(self, worker: str, now: Instant, until: Instant, limit: int) -> tuple[Lease, ...]:
        rows = query(self._db, _CLAIM, (until, worker, now, limit))
        leases = []
        for job_id, kind, key, fence, attempt, expires_at, deferrals in rows:
            target = self._target(kind, key)
            if target is None:  # its session was deleted: nothing is left to do
                self._db.execute(_DISARM, (kind, key))
            else:
                leases.append(Lease(job_id, kind, target, fence, attempt, expires_at, deferrals))
        return tuple(leases)

    def renew(self, lease: Lease, until: Instant) -> bool:
        self._db.execute(_RENEW, (until, lease.job_id, lease.fence))
        return self._db.changes() == 1

    def hold(self, lease: Lease) -> None:
        if not query(self._db, _HOLD, (lease.job_id, lease.fence)):
            raise LeaseLost(f"{lease.kind} job {lease.job_id}: another worker took over, or its data was deleted")

    def finish(self, lease: Lease, next_due: Instant | None) -> None:
        if next_due is None:
            self._db.execute(_FINISH, (lease.job_id, lease.fence))
        else:
            self._db.execute(_FINISH_AGAIN, (next_due, lease.job_id, lease.fence))

    def fail(self, lease: Lease, due_at: Instant, error: str) -> None:
        self._db.execute(_FAIL, (due_at, error, lease.job_id, lease.fence))

    def defer(self, lease: Lease, due_at: Instant, error: str) -> None:
        self._db.execute(_DEFER, (due_at, error, lease.job_id, lease.fence))

    def bury(self, lease: Lease, error: str) -> None:
        self._db.execute(_BURY, (error, lease.job_id, lease.fence))

    def revive(self, scope: Scope, profile: Profile, now: Instant) -> int:
        self._db.execute(_REVIVE, (self._scopes.find(scope), self._scopes.find(profile), now))
        return self._db.changes()

    def next_due(self, now: Instant) -> Instant | None:
        free = query(self._db, _NEXT_FREE, (now,))
        expiry = query(self._db, _NEXT_EXPIRY, (now,))[0][0]
        return min((at for at in (free[0][0] if free else None, expiry) if at is not None), default=None)

    def of(self, scope: Scope, profile: Profile) -> tuple[Job, ...]:
        rows = query(self._db, _OF, (self._scopes.find(scope), self._scopes.find(profile)))
        found = ((self._target(row[0], row[1]), row) for row in rows)
        return tuple(_job(target, row) for target, row in found if target is not None)

    def load(self, instance: str) -> Mapping[JobKind, LayerLoad]:
        rows = {kind: LayerLoad(*counts) for kind, *counts in query(self._db, _LOAD, (instance,))}
        return {kind: rows.get(kind, LayerLoad(0, 0, 0)) for kind in get_args(JobKind)}

    def forgotten(self) -> tuple[Target, ...]:
        sessions = [self._target("l1", key) for (key,) in query(self._db, _FORGOTTEN_SESSIONS)]
        profiles = [self._target("l2", key) for (key,) in query(self._db, _FORGOTTEN_PROFILES)]
        return tuple(target for target in sessions + profiles if target is not None)

    def record(self, target: Target, run: RunRecord) -> None:
        made, used = run.provenance, run.provenance.usage
        prompt = made.prompt or PromptRef("", 0, "system")
        row = (
            *(run.kind, target.key, run.outcome, run.from_seq, run.to_seq, run.written, run.retired, run.origin),
            *(run.started_at, run.finished_at, run.error, made.model, made.mode),
            *(prompt.prompt_id, prompt.version, prompt.source, prompt.sha256),
            *(used.calls, used.prompt_tokens, used.completion_tokens, used.cached_tokens),
            json.dumps(made.notes, ensure_ascii=False),
        )
        self._db.execute(_RECORD, row)
        run_id = self._db.last_insert_rowid()
        outputs = [
            (one.layer, one.seq, run_id, one.action, json.dumps(one.inputs), json.dumps(one.replaced), one.note)
            for one in run.outputs
        ]
        self._db.executemany(_RECORD_OUTPUT, outputs)

    def hasten(self, kind: JobKind, now: Instant) -> int:
        self._db.execute(_HASTEN, (now, kind))
        return self._db.changes()

    def last_run(self, kind: JobKind, scope: Scope, profile: Profile) -> RunRecord | None:
        rows = query(self._db, _LAST_RUN, (self._scopes.find(scope), self._scopes.find(profile), kind))
        return run_from_row(rows[0]) if rows else None

    def _target(self, kind: str, key: int) -> Target | None:
        if kind != "l1":
            return ProfileTarget(key, self._scopes.profile(key))
        rows = query(self._db, _SESSION, (key,))
        return SessionTarget(key, self._scopes.scope(rows[0][0]), rows[0][1]) if rows else None


def _lock(target: Target) -> str:
    match target:
        case SessionTarget():
            return f"session {target.key}"
        case ProfileTarget():
            return f"profile {target.key}"


def _job(target: Target, row: tuple[Any, ...]) -> Job:
    kind, _, dead, running, due_at, attempts, last_error = row
    return Job(kind, target, "dead" if dead else "running" if running else "waiting", due_at, attempts, last_error)
