"""`/v3/forget`: what goes, the proof of it, and `/v3/policy/*`, what is kept for how long. All ours."""

from __future__ import annotations

from typing import Any

from memstrata.clock import to_iso
from memstrata.directory.access import may_change
from memstrata.errors import InvalidRequest, NotFound
from memstrata.forgetting import PolicyInForce
from memstrata.records import Scope
from memstrata.records.forgetting import Forgetting, ForgettingReceipt
from memstrata.records.policy import Policy
from memstrata.server.call import Call, InstanceCall, distinct, window
from memstrata.server.envelope import Data
from memstrata.server.forgetting import ForgetRequest, PolicyGet, PolicyList, PolicySet, ReceiptRequest

__all__ = ["forget", "get_policy", "list_policies", "receipt", "set_policy"]

USUAL_LIMIT = 20


async def forget(call: Call[ForgetRequest]) -> Data:
    """Let it go, or with `dry_run` answer what would go."""
    request = call.request
    what = _selector(call.scope, request)
    await _require(call, what)
    if request.dry_run:
        foreseen = await call.memory.forgettable(what)
        return {
            "dry_run": True,
            "counts": dict(foreseen.counts.by_layer()),
            "session_ids": foreseen.session_ids,
            "message_ids": foreseen.message_ids,
            "memory_ids": foreseen.memory_ids,
            "scene_paths": foreseen.scene_paths,
        }
    named = what.message_ids or what.memory_ids or what.session_ids
    if not request.confirm and not (named and not what.is_timed):
        raise InvalidRequest("must be true for what is not named by id; dry_run says what it is", field="confirm")
    # No user's id: the receipt stays when the user is forgotten.
    return _receipt(await call.memory.forget(what, actor="gateway" if call.user_id is None else "user"))


async def receipt(call: InstanceCall[ReceiptRequest]) -> Data:
    """Answer with a receipt as it is now."""
    found = await call.memory.forgetting_receipt(call.instance, call.request.forgetting_id)
    if call.user_id is not None and not await _is_theirs(call, found, call.user_id):
        raise NotFound(f"no such receipt: {call.request.forgetting_id[:64]}")
    return _receipt(found)


async def get_policy(call: InstanceCall[PolicyGet]) -> Data:
    """Answer with what is set for exactly this part, and what holds there."""
    return await _policy(call, await call.memory.policies.one(call.instance, *_part(call.request)))


async def set_policy(call: InstanceCall[PolicySet]) -> Data:
    """Replace what is set for a part; answer as `get_policy`."""
    request = call.request
    policy = await call.memory.policies.set(
        call.instance,
        *_part(request),
        redact_secrets=request.redact_secrets,
        retention_days=request.l0_l1_retention_days,
        operator=call.operator,
    )
    return await _policy(call, policy)


async def list_policies(call: InstanceCall[PolicyList]) -> Data:
    """Page through what is set in an instance."""
    request = call.request
    page = await call.memory.policies.page(
        call.instance, limit=request.limit or USUAL_LIMIT, offset=request.offset or 0
    )
    return {"items": [_set(item) for item in page.items], "total": page.total}


def _selector(scope: Scope, request: ForgetRequest) -> Forgetting:
    since, until = window(request.time_start, request.time_end)
    messages, memories, sessions = (
        distinct(ids or ()) for ids in (request.message_ids, request.memory_ids, request.session_ids)
    )
    whole = request.user or request.agent
    if whole and (messages or memories or sessions):
        raise InvalidRequest("user and agent go without ids", field="(root)")
    if request.team_only and (request.agent or not request.user):
        raise InvalidRequest("goes with user alone; an agent is in one team anyway", field="team_only")
    if not (whole or messages or memories or sessions or since is not None or until is not None):
        raise InvalidRequest("name messages, memories, sessions, a time, user or agent", field="(root)")
    everywhere = request.user and not request.agent
    return Forgetting(
        scope.instance,
        team=None if everywhere and not request.team_only else scope.team,
        agent=None if everywhere else scope.agent,
        user=None if request.agent and not request.user else scope.user,
        message_ids=messages,
        session_ids=sessions,
        memory_ids=memories,
        since=since,
        until=until,
    )


async def _require(call: Call[ForgetRequest], what: Forgetting) -> None:
    """Raise Forbidden unless the caller may forget it: users what is their own, an agent's owner all of the agent.

    Who is in no team any more may still forget all of themself: nothing but their own rows is looked at.
    """
    if call.user_id is None:
        return
    access, scope = call.memory.directory.access, call.scope
    if what.user is None:
        await access.require_change(scope.instance, call.user_id, scope.team, [scope.agent])
    elif what.agent is not None:
        await access.require_use(scope.instance, call.user_id, scope.team, scope.agent)


async def _is_theirs(call: InstanceCall[ReceiptRequest], found: ForgettingReceipt, user_id: str) -> bool:
    told, own = found.selector, Forgetting(call.instance, user=user_id).told()
    if "user_sha256" in told:
        return told["user_sha256"] == own["user_sha256"]
    standing = await call.memory.directory.access.standing(
        call.instance, user_id, str(told.get("team", "")), str(told.get("agent", ""))
    )
    return may_change(standing)


def _receipt(item: ForgettingReceipt) -> Data:
    return {
        "forgetting_id": item.forgetting_id,
        "selector": dict(item.selector),
        "counts": dict(item.counts.by_layer()),
        "complete": item.complete,
        "at": to_iso(item.at),
    }


def _part(request: PolicyGet) -> tuple[str, str, str]:
    return request.team_id or "", request.agent_id or "", request.user_id or ""


async def _policy(call: InstanceCall[Any], policy: Policy | None) -> Data:
    holds = await call.memory.policies.in_force_for(call.instance, *_part(call.request))
    return {"policy": None if policy is None else _set(policy), "in_force": _in_force(holds)}


def _in_force(holds: PolicyInForce) -> Data:
    return {"redact_secrets": holds.redact_secrets, "l0_l1_retention_days": holds.retention_days}


def _set(policy: Policy) -> Data:
    return {
        "team_id": policy.team,
        "agent_id": policy.agent,
        "user_id": policy.user,
        "redact_secrets": policy.redact_secrets,
        "l0_l1_retention_days": policy.retention_days,
        "updated_by": policy.updated_by,
        "updated_at": to_iso(policy.updated_at),
    }
