"""`/memory-prompt/*`: custom prompts of an instance. Source: wire contract §4.2.

The ids of headers narrow nothing here; a user id is only remembered as who made a change. A user's key does: the prompts
are the operator's, a team's administrator binds them to the team, an agent's owner to the agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memstrata.directory.access import not_allowed
from memstrata.errors import InvalidRequest
from memstrata.ids import setting_id, setting_log_id
from memstrata.provenance.prompts import TargetKind
from memstrata.records import MemoryPrompt, PromptSetting, PromptSettingChange, PromptTarget
from memstrata.server.call import InstanceCall
from memstrata.server.envelope import Data
from memstrata.server.strict import (
    PagedRequest,
    PromptCreate,
    PromptDelete,
    PromptGet,
    PromptLog,
    PromptSet,
    PromptUpdate,
    SettingList,
)
from memstrata.server.times import log_window
from memstrata.store.shapes import PromptFilter

__all__ = ["create", "delete", "get", "list_settings", "log", "set_prompt", "update"]

USUAL_LIMIT = 20


async def create(call: InstanceCall[PromptCreate]) -> Data:
    """Keep a new prompt."""
    request = call.request
    created = await call.memory.prompts.create(
        call.instance, name=request.name, layer=request.layer, prompt=request.prompt, operator=call.operator
    )
    return {
        "memory_prompt_id": created.prompt_id,
        "version": created.version,
        "created_at_ms": created.created_at,
    }


async def get(call: InstanceCall[PromptGet]) -> Data:
    """Answer with one prompt, the one in force for a target, or a page of all; what is given says which."""
    request = call.request
    if request.memory_prompt_id is not None:
        if request.team_id is not None or request.agent_id is not None:
            raise InvalidRequest("memory_prompt_id goes without team_id and agent_id", field="request")
        _require_operator(call)
        return _prompt(await call.memory.prompts.get(call.instance, request.memory_prompt_id))
    if request.team_id is not None or request.agent_id is not None:
        return await _effective(call)
    _require_operator(call)
    prompts = await call.memory.prompts.list(call.instance, layer=request.layer, **_paging(request))
    return {"items": [_prompt(item) for item in prompts]}


async def update(call: InstanceCall[PromptUpdate]) -> Data:
    """Change a prompt's name or text."""
    request = call.request
    changed = await call.memory.prompts.update(
        call.instance, request.memory_prompt_id, name=request.name, prompt=request.prompt, operator=call.operator
    )
    return {
        "memory_prompt_id": changed.prompt_id,
        "version": changed.version,
        "updated_at_ms": changed.updated_at,
    }


async def delete(call: InstanceCall[PromptDelete]) -> Data:
    """Delete prompts, all or none, and their bindings."""
    deleted = await call.memory.prompts.delete(call.instance, call.request.memory_prompt_ids, operator=call.operator)
    return {"deleted_prompt_ids": deleted.prompt_ids, "cleared_settings": dict(deleted.cleared)}


async def set_prompt(call: InstanceCall[PromptSet]) -> Data:
    """Bind a prompt to a target, or clear what is bound to it."""
    request, prompts = call.request, call.memory.prompts
    await _require_target(call, request.team_id, request.agent_ids or ())
    whom: dict[str, Any] = {
        "team": request.team_id or "",
        "agents": request.agent_ids or (),
        "operator": call.operator,
    }
    if request.action == "apply":
        if request.memory_prompt_id is None:
            raise InvalidRequest("required to apply", field="memory_prompt_id")
        affected = await prompts.apply(call.instance, request.memory_prompt_id, request.layer, **whom)
    else:
        if request.memory_prompt_id is not None:
            raise InvalidRequest("goes with apply only: clear takes whatever is bound", field="memory_prompt_id")
        affected = await prompts.clear(call.instance, request.layer, **whom)
    return {"affected": affected}


async def list_settings(call: InstanceCall[SettingList]) -> Data:
    """Page through bindings. Users see those of one target: a team that they run, or an agent of theirs."""
    request = call.request
    kind = await _visible_kind(call, request)
    where = PromptFilter(
        call.instance,
        kind=kind,
        team=request.team_id,
        agent=request.agent_id,
        layer=request.layer,
        prompt_id=request.memory_prompt_id,
    )
    settings = await call.memory.prompts.settings(where, **_paging(request))
    return {"items": [_setting(item) for item in settings]}


async def log(call: InstanceCall[PromptLog]) -> Data:
    """Page through the history of a prompt's or a target's bindings. A team names itself alone, not its agents."""
    request = call.request
    since, until = log_window(request.start_time, request.end_time)
    kind = await _visible_kind(call, request)
    alone = request.team_id is not None and request.agent_id is None and request.target_type is None
    where = PromptFilter(
        call.instance,
        kind="team" if alone else kind,
        team=request.team_id,
        agent=request.agent_id,
        layer=request.layer,
        prompt_id=request.memory_prompt_id,
        action=request.action,
        since=since,
        until=until,
    )
    changes = await call.memory.prompts.changes(where, **_paging(request))
    return {"items": [_change(item) for item in changes]}


async def _effective(call: InstanceCall[PromptGet]) -> Data:
    request = call.request
    if request.layer is None:
        raise InvalidRequest("required with team_id", field="layer")
    if call.user_id is not None:
        access, team = call.memory.directory.access, request.team_id or ""
        if request.agent_id is None:
            await access.require_member(call.instance, call.user_id, team)
        else:
            await access.require_use(call.instance, call.user_id, team, request.agent_id)
    found = await call.memory.prompts.effective(
        call.instance, request.layer, team=request.team_id or "", agent=request.agent_id or ""
    )
    return {
        "memory_prompt_id": found.ref.prompt_id,
        "prompt": found.text,
        "layer": request.layer,
        "source": found.ref.source,
        "version": found.ref.version,
    }


def _require_operator(call: InstanceCall[Any]) -> None:
    if call.user_id is not None:
        raise not_allowed()


async def _require_target(call: InstanceCall[Any], team: str | None, agents: Sequence[str]) -> None:
    """Raise Forbidden unless the caller may bind to the agents, else to the team, else to the instance."""
    if call.user_id is None:
        return
    access = call.memory.directory.access
    if team is None:
        raise not_allowed()
    if agents:
        await access.require_change(call.instance, call.user_id, team, agents)
    else:
        await access.require_team_admin(call.instance, call.user_id, team)


async def _visible_kind(call: InstanceCall[Any], request: SettingList | PromptLog) -> TargetKind | None:
    """Return the kind of targets to show. To a user a team is itself alone: not all of its agents are theirs to see."""
    await _require_target(call, request.team_id, [] if request.agent_id is None else [request.agent_id])
    if call.user_id is None:
        return request.target_type
    kind: TargetKind = "team" if request.agent_id is None else "agent"
    if request.target_type not in (None, kind):
        raise not_allowed()
    return kind


def _paging(request: PagedRequest) -> dict[str, Any]:
    return {
        "limit": request.limit or USUAL_LIMIT,
        "offset": request.offset or 0,
        "newest_first": request.time_order != "asc",
    }


def _prompt(prompt: MemoryPrompt) -> dict[str, Any]:
    return {
        "memory_prompt_id": prompt.prompt_id,
        "name": prompt.name,
        "layer": prompt.layer,
        "prompt": prompt.text,
        "version": prompt.version,
        "status": "active",
        "created_by": prompt.created_by,
        "updated_by": prompt.updated_by,
        "created_at_ms": prompt.created_at,
        "updated_at_ms": prompt.updated_at,
    }


def _setting(setting: PromptSetting) -> dict[str, Any]:
    target = setting.target
    return {
        "setting_id": setting_id(target.team, target.agent, setting.layer),
        **_target(target),
        "layer": setting.layer,
        "memory_prompt_id": setting.prompt_id,
        "updated_by": setting.updated_by,
        "updated_at_ms": setting.updated_at,
    }


def _change(change: PromptSettingChange) -> dict[str, Any]:
    return {
        "setting_log_id": setting_log_id(change.target.instance, change.seq),
        **_target(change.target),
        "layer": change.layer,
        "action": change.action,
        "reason": change.reason,
        "before_memory_prompt_id": change.before_prompt_id or None,
        "after_memory_prompt_id": change.after_prompt_id or None,
        "operator_id": change.operator,
        "operated_at_ms": change.at,
    }


def _target(target: PromptTarget) -> dict[str, Any]:
    return {"target_type": target.kind, "team_id": target.team or None, "agent_id": target.agent or None}
