"""What the routes about forgetting and policies accept. They are ours alone, so an unknown key is an error where it can be.

Of `/v3/forget` it cannot: it carries the ids of a scope as every route of the data plane does. A key that is misspelt
there makes the request wider or empty, which is why what is not named by id has to be confirmed.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from memstrata.records.policy import MAX_RETENTION_DAYS
from memstrata.server.requests import Limit, Offset, Request
from memstrata.server.requests import MemoryId as Id
from memstrata.server.strict import StrictRequest

__all__ = ["ForgetRequest", "PolicyGet", "PolicyList", "PolicySet", "ReceiptRequest"]

Ids = Annotated[list[Id], Meta(min_length=1, max_length=5_000)]


class ForgetRequest(Request, kw_only=True, frozen=True):
    """`/v3/forget`. Ids and times are of the asking scope; `user` and `agent` are all of either, both: all of the scope.

    `user` reaches all teams and agents, with `team_only` those of the asking team.
    """

    message_ids: Ids | None = None
    memory_ids: Ids | None = None
    session_ids: Annotated[list[Id], Meta(min_length=1, max_length=100)] | None = None
    user: bool = False
    agent: bool = False
    team_only: bool = False
    time_start: str | None = None
    time_end: str | None = None
    dry_run: bool = False
    confirm: bool = False


class ReceiptRequest(StrictRequest, kw_only=True, frozen=True):
    """`/v3/forget/receipt`."""

    forgetting_id: Id


class PolicyGet(StrictRequest, kw_only=True, frozen=True):
    """`/v3/policy/get`: of a scope, or of a part of the instance; an id that is left out stands for all."""

    team_id: Id | None = None
    agent_id: Id | None = None
    user_id: Id | None = None


class PolicySet(PolicyGet, kw_only=True, frozen=True):
    """`/v3/policy/set`. Both rules are replaced; one that is null or left out is left to the wider part."""

    redact_secrets: bool | None = None
    l0_l1_retention_days: Annotated[int, Meta(ge=0, le=MAX_RETENTION_DAYS)] | None = None


class PolicyList(StrictRequest, kw_only=True, frozen=True):
    """`/v3/policy/list`."""

    limit: Limit | None = None
    offset: Offset | None = None
