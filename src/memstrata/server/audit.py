"""What the routes about the audit trail accept. They are ours alone, so an unknown key is an error."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from memstrata.server.requests import Limit
from memstrata.server.requests import MemoryId as Id
from memstrata.server.strict import StrictRequest

__all__ = ["AuditList", "AuditVerify"]


class AuditList(StrictRequest, kw_only=True, frozen=True):
    """`/v3/audit/list`. `action` is a whole one or, ending in `.`, all of a noun; `before` is the last row of a page."""

    user_id: Id | None = None
    action: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    time_start: str | None = None
    time_end: str | None = None
    limit: Limit | None = None
    before: Annotated[int, Meta(ge=1, le=2**63 - 1)] | None = None


class AuditVerify(StrictRequest, kw_only=True, frozen=True):
    """`/v3/audit/verify`. Nothing is to be said."""
