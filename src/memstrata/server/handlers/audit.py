"""`/v3/audit/*`: who did what, and whether the trail is whole. Both ours, for the operator."""

from __future__ import annotations

import json

from memstrata.clock import to_iso
from memstrata.records.audit import AuditFilter, AuditRow
from memstrata.server.audit import AuditList, AuditVerify
from memstrata.server.call import InstanceCall, window
from memstrata.server.envelope import Data

__all__ = ["list_rows", "verify"]

USUAL_LIMIT = 50


async def list_rows(call: InstanceCall[AuditList]) -> Data:
    """Answer with rows of the instance, the newest first; `next_before` where there may be more."""
    request, limit = call.request, call.request.limit or USUAL_LIMIT
    since, until = window(request.time_start, request.time_end)
    where = AuditFilter(call.instance, request.user_id, request.action, since, until)
    rows = await call.memory.audit.page(where, before=request.before, limit=limit)
    return {"items": [_row(row) for row in rows], "next_before": rows[-1].seq if len(rows) == limit else None}


async def verify(call: InstanceCall[AuditVerify]) -> Data:
    """Answer whether the trail is whole; `rows` are the instance's."""
    report = await call.memory.audit.verify(call.instance)
    return {
        "intact": report.is_intact,
        "rows": report.rows,
        "broken_seq": report.broken_seq,
        "reason": report.reason,
        "head": report.head,
        "warnings": list(report.warnings),
    }


def _row(row: AuditRow) -> Data:
    team, agent, user = json.loads(row.entry.owner)
    return {
        "seq": row.seq,
        "at": to_iso(row.entry.at),
        "actor": row.entry.actor,
        "action": row.entry.action,
        "team_id": team,
        "agent_id": agent,
        "user": user,
        "subject": json.loads(row.entry.subject),
        "hash": row.hash.hex(),
    }
