"""`acl/*`: the access lists of assets. Source: wire contract §5.5."""

from __future__ import annotations

from typing import Any

from memstrata.clock import to_iso
from memstrata.directory.grants import NewGrant, Question
from memstrata.errors import InvalidRequest
from memstrata.records.assets import Grant, GrantEffect, Permission, SubjectType
from memstrata.server.envelope import Data
from memstrata.server.meta.call import Id, MetaCall, MetaRequest, MetaRoute, PagedRequest, paged

__all__ = ["GRANT_ROUTES"]


class GrantAdd(MetaRequest, kw_only=True, frozen=True):
    """`acl/grant`. Who grants is the caller; `granted_by` may be left out."""

    asset_id: Id
    subject_type: SubjectType
    subject_id: Id
    permission: Permission
    effect: GrantEffect | None = None
    granted_by: Id | None = None
    granted_by_key: Id | None = None


class GrantNamed(MetaRequest, kw_only=True, frozen=True):
    """`acl/revoke`."""

    id: Id


class GrantList(PagedRequest, kw_only=True, frozen=True):
    """`acl/list`."""

    asset_id: Id


class GrantCheck(MetaRequest, kw_only=True, frozen=True):
    """`acl/check`."""

    asset_id: Id
    action: Permission
    user_id: Id | None = None
    user_key: Id | None = None
    agent_id: Id | None = None


async def _grant(call: MetaCall[GrantAdd]) -> Data:
    request = call.request
    new = NewGrant(
        asset_id=request.asset_id,
        subject_type=request.subject_type,
        subject_id=request.subject_id,
        permission=request.permission,
        effect=request.effect or "allow",
        granted_by=request.granted_by,
        granted_by_key=request.granted_by_key,
    )
    return _shown(await call.memory.directory.grants.grant(call.instance, call.caller, new))


async def _revoke(call: MetaCall[GrantNamed]) -> Data:
    await call.memory.directory.grants.revoke(call.instance, call.caller, call.request.id)
    return {"ok": True}


async def _list(call: MetaCall[GrantList]) -> Data:
    request = call.request
    page = await call.memory.directory.grants.page(call.instance, call.caller, request.asset_id, request.window)
    return paged(page, request.window, _shown)


async def _check(call: MetaCall[GrantCheck]) -> Data:
    request = call.request
    if request.user_id is None and request.user_key is None:
        raise InvalidRequest("invalid_request: name a user by user_id or user_key")
    question = Question(request.asset_id, request.action, request.user_id, request.user_key, request.agent_id)
    allowed, reason = await call.memory.directory.grants.check(call.instance, call.caller, question)
    return {"allowed": allowed, "reason": reason}


def _shown(grant: Grant) -> dict[str, Any]:
    return {
        "id": grant.grant_id,
        "asset_id": grant.asset_id,
        "subject_type": grant.subject_type,
        "subject_id": grant.subject_id,
        "permission": grant.permission,
        "effect": grant.effect,
        "granted_by": grant.granted_by,
        "created_at": to_iso(grant.created_at),
        "updated_at": to_iso(grant.updated_at),
    }


GRANT_ROUTES: tuple[MetaRoute, ...] = (
    MetaRoute("/v3/meta/acl/grant", GrantAdd, _grant),
    MetaRoute("/v3/meta/acl/revoke", GrantNamed, _revoke),
    MetaRoute("/v3/meta/acl/list", GrantList, _list),
    MetaRoute("/v3/meta/acl/check", GrantCheck, _check),
)
