"""How SQLite reads the audit trail: by its index or its rowid always, from the end that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import apsw

from memstrata.records.audit import AuditEntry, AuditFilter
from memstrata.store.sqlite.audit import SqliteAudit


def use_every_verb(connection: apsw.Connection) -> None:
    audit = SqliteAudit(connection)
    audit.append(AuditEntry(1, "default", "cli", "memory.delete", "[]", "{}"))
    audit.after(0, 10)
    audit.page(AuditFilter("default"), None, 10)
    audit.page(AuditFilter("default", "lin", "memory.", 1, 2), 5, 10)


def test_nothing_scans_or_sorts(
    plans_of: Callable[[Callable[[apsw.Connection], object]], Mapping[str, list[str]]],
) -> None:
    plans = plans_of(use_every_verb)
    assert len(plans) == 4
    steps = {sql: plan for sql, plan in plans.items() if any("TEMP B-TREE" in step for step in plan)}
    assert steps == {}
    # The last row is a scan from the end that stops at once.
    scans = [sql for sql, plan in plans.items() if any(step.startswith("SCAN") for step in plan)]
    assert all(sql.endswith("ORDER BY seq DESC LIMIT 1") for sql in scans)
    page = next(plan for sql, plan in plans.items() if "instance = ?1" in sql)
    assert page == ["SEARCH audit USING INDEX audit_by_instance (instance=? AND rowid<?)"]
