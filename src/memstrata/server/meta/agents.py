"""`agent/*`: the agents of teams. Source: wire contract §5.3."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from memstrata.clock import to_iso
from memstrata.directory.agents import AgentChange, AgentQuery, NewAgent
from memstrata.records.agents import Agent, AgentStatus, Visibility
from memstrata.server.envelope import Data
from memstrata.server.meta.batch import shown_batch
from memstrata.server.meta.call import Id, MetaCall, MetaRequest, MetaRoute, PagedRequest, paged
from memstrata.server.meta.metadata import NO_METADATA, given_metadata, shown_metadata

__all__ = ["AGENT_ROUTES"]

Name = Annotated[str, Meta(min_length=1)]


class AgentCreate(MetaRequest, kw_only=True, frozen=True):
    """`agent/create`."""

    team_id: Id
    owner_user_id: Id
    name: Name
    description: str | None = None
    prompt: str | None = None
    visibility: Visibility | None = None
    status: AgentStatus | None = None
    metadata_json: msgspec.Raw = msgspec.Raw()


class AgentNamed(MetaRequest, kw_only=True, frozen=True):
    """`agent/get` and `agent/archive`."""

    agent_id: Id


class AgentUpdate(MetaRequest, kw_only=True, frozen=True):
    """`agent/update`."""

    agent_id: Id
    name: Name | None = None
    description: str | None = None
    prompt: str | None = None
    visibility: Visibility | None = None
    status: AgentStatus | None = None
    metadata_json: msgspec.Raw = msgspec.Raw()


class AgentDelete(MetaRequest, kw_only=True, frozen=True):
    """`agent/delete`. Each takes its memory along, in one transaction: no more of them than a page has."""

    agent_ids: Annotated[list[Id], Meta(min_length=1, max_length=100)]


class AgentList(PagedRequest, kw_only=True, frozen=True):
    """`agent/list`."""

    team_id: Id | None = None
    owner_user_id: Id | None = None
    owner_user_key: Id | None = None
    status: AgentStatus | None = None
    name: Name | None = None


async def _create(call: MetaCall[AgentCreate]) -> Data:
    request = call.request
    new = NewAgent(
        team_id=request.team_id,
        owner_user_id=request.owner_user_id,
        name=request.name,
        description=request.description or "",
        prompt=request.prompt or "",
        visibility=request.visibility or "team",
        status=request.status or "active",
        metadata=given_metadata(request.metadata_json) or NO_METADATA,
    )
    return _shown(await call.memory.directory.agents.create(call.instance, call.caller, new))


async def _get(call: MetaCall[AgentNamed]) -> Data:
    return _shown(await call.memory.directory.agents.get(call.instance, call.caller, call.request.agent_id))


async def _update(call: MetaCall[AgentUpdate]) -> Data:
    request = call.request
    change = AgentChange(
        name=request.name,
        description=request.description,
        prompt=request.prompt,
        visibility=request.visibility,
        status=request.status,
        metadata=given_metadata(request.metadata_json),
    )
    return _shown(await call.memory.directory.agents.update(call.instance, call.caller, request.agent_id, change))


async def _delete(call: MetaCall[AgentDelete]) -> Data:
    return shown_batch(await call.memory.directory.agents.delete(call.instance, call.caller, call.request.agent_ids))


async def _list(call: MetaCall[AgentList]) -> Data:
    request = call.request
    where = AgentQuery(request.team_id, request.owner_user_id, request.owner_user_key, request.status, request.name)
    page = await call.memory.directory.agents.page(call.instance, call.caller, where, request.window)
    return paged(page, request.window, _shown)


async def _archive(call: MetaCall[AgentNamed]) -> Data:
    return _shown(await call.memory.directory.agents.archive(call.instance, call.caller, call.request.agent_id))


def _shown(agent: Agent) -> dict[str, Any]:
    return {
        "agent_id": agent.agent_id,
        "team_id": agent.team_id,
        "owner_user_id": agent.owner_user_id,
        "name": agent.name,
        "description": agent.description,
        "prompt": agent.prompt,
        "visibility": agent.visibility,
        "status": agent.status,
        "created_at": to_iso(agent.created_at),
        "updated_at": to_iso(agent.updated_at),
        "metadata_json": shown_metadata(agent.metadata),
    }


AGENT_ROUTES: tuple[MetaRoute, ...] = (
    MetaRoute("/v3/meta/agent/create", AgentCreate, _create),
    MetaRoute("/v3/meta/agent/get", AgentNamed, _get),
    MetaRoute("/v3/meta/agent/update", AgentUpdate, _update),
    MetaRoute("/v3/meta/agent/delete", AgentDelete, _delete),
    MetaRoute("/v3/meta/agent/list", AgentList, _list),
    MetaRoute("/v3/meta/agent/archive", AgentNamed, _archive),
)
