"""Who did what: the trail's rows are written with the changes themselves; here it is watched, read and verified."""

from __future__ import annotations

from memstrata.audit.chain import AuditReport
from memstrata.audit.trail import AuditTrail

__all__ = ["AuditReport", "AuditTrail"]
