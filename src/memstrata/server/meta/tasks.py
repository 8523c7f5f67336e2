"""`task/*` and `task-agent/*`: the tasks of teams and who works on them. Source: wire contract §5.4."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from memstrata.clock import to_iso
from memstrata.directory.tasks import AgentPart, NewTask, TaskChange, TaskQuery
from memstrata.records.agents import Task, TaskAgent, TaskSource, TaskStatus
from memstrata.server.envelope import Data
from memstrata.server.meta.batch import shown_batch
from memstrata.server.meta.call import Id, MetaCall, MetaRequest, MetaRoute, PagedRequest, paged
from memstrata.server.meta.metadata import NO_METADATA, given_metadata, shown_metadata

__all__ = ["TASK_ROUTES"]

Title = Annotated[str, Meta(min_length=1)]
LINKED = "active"  # the one state that a link has: unlinked, it is gone


class LinkedAgent(msgspec.Struct, kw_only=True, frozen=True):
    """An agent of a new task."""

    agent_id: Id
    role_in_task: str | None = None


class TaskCreate(MetaRequest, kw_only=True, frozen=True):
    """`task/create`."""

    team_id: Id
    creator_user_id: Id
    title: Title
    description: str | None = None
    source_type: TaskSource | None = None
    source_url: str | None = None
    status: TaskStatus | None = None
    auto_assign_floating_assets: bool | None = None
    risk_level: str | None = None
    metadata_json: msgspec.Raw = msgspec.Raw()
    linked_agents: Annotated[list[LinkedAgent], Meta(max_length=100)] | None = None


class TaskNamed(MetaRequest, kw_only=True, frozen=True):
    """`task/get` and `task/archive`."""

    task_id: Id


class TaskUpdate(MetaRequest, kw_only=True, frozen=True):
    """`task/update`."""

    task_id: Id
    title: Title | None = None
    description: str | None = None
    source_type: TaskSource | None = None
    source_url: str | None = None
    status: TaskStatus | None = None
    auto_assign_floating_assets: bool | None = None
    risk_level: str | None = None
    metadata_json: msgspec.Raw = msgspec.Raw()


class TaskDelete(MetaRequest, kw_only=True, frozen=True):
    """`task/delete`."""

    task_ids: Annotated[list[Id], Meta(min_length=1, max_length=100)]


class TaskList(PagedRequest, kw_only=True, frozen=True):
    """`task/list`."""

    team_id: Id | None = None
    creator_user_id: Id | None = None
    creator_user_key: Id | None = None
    status: TaskStatus | None = None
    title: Title | None = None


class TaskAgentLink(MetaRequest, kw_only=True, frozen=True):
    """`task-agent/link`."""

    task_id: Id
    agent_id: Id
    role_in_task: str | None = None


class TaskAgentUnlink(MetaRequest, kw_only=True, frozen=True):
    """`task-agent/unlink`."""

    task_id: Id
    agent_id: Id


class TaskAgentList(PagedRequest, kw_only=True, frozen=True):
    """`task-agent/list`."""

    task_id: Id


async def _create(call: MetaCall[TaskCreate]) -> Data:
    request = call.request
    new = NewTask(
        team_id=request.team_id,
        creator_user_id=request.creator_user_id,
        title=request.title,
        description=request.description or "",
        source_type=request.source_type or "manual",
        source_url=request.source_url or "",
        status=request.status or "running",
        auto_assign=request.auto_assign_floating_assets or False,
        risk_level=request.risk_level or "",
        metadata=given_metadata(request.metadata_json) or NO_METADATA,
        agents=tuple(AgentPart(one.agent_id, one.role_in_task or "") for one in request.linked_agents or ()),
    )
    return _shown(await call.memory.directory.tasks.create(call.instance, call.caller, new))


async def _get(call: MetaCall[TaskNamed]) -> Data:
    return _shown(await call.memory.directory.tasks.get(call.instance, call.caller, call.request.task_id))


async def _update(call: MetaCall[TaskUpdate]) -> Data:
    request = call.request
    change = TaskChange(
        title=request.title,
        description=request.description,
        source_type=request.source_type,
        source_url=request.source_url,
        status=request.status,
        auto_assign=request.auto_assign_floating_assets,
        risk_level=request.risk_level,
        metadata=given_metadata(request.metadata_json),
    )
    return _shown(await call.memory.directory.tasks.update(call.instance, call.caller, request.task_id, change))


async def _delete(call: MetaCall[TaskDelete]) -> Data:
    return shown_batch(await call.memory.directory.tasks.delete(call.instance, call.caller, call.request.task_ids))


async def _archive(call: MetaCall[TaskNamed]) -> Data:
    return _shown(await call.memory.directory.tasks.archive(call.instance, call.caller, call.request.task_id))


async def _list(call: MetaCall[TaskList]) -> Data:
    request = call.request
    where = TaskQuery(request.team_id, request.creator_user_id, request.creator_user_key, request.status, request.title)
    page = await call.memory.directory.tasks.page(call.instance, call.caller, where, request.window)
    return paged(page, request.window, _shown)


async def _link(call: MetaCall[TaskAgentLink]) -> Data:
    request = call.request
    part = AgentPart(request.agent_id, request.role_in_task or "")
    return _shown_link(await call.memory.directory.tasks.link(call.instance, call.caller, request.task_id, part))


async def _unlink(call: MetaCall[TaskAgentUnlink]) -> Data:
    request = call.request
    await call.memory.directory.tasks.unlink(call.instance, call.caller, request.task_id, request.agent_id)
    return {"ok": True}


async def _links(call: MetaCall[TaskAgentList]) -> Data:
    request = call.request
    page = await call.memory.directory.tasks.links(call.instance, call.caller, request.task_id, request.window)
    return paged(page, request.window, _shown_link)


def _shown(task: Task) -> dict[str, Any]:
    return {
        "task_id": task.task_id,
        "team_id": task.team_id,
        "creator_user_id": task.creator_user_id,
        "title": task.title,
        "description": task.description,
        "source_type": task.source_type,
        "source_url": task.source_url,
        "status": task.status,
        "auto_assign_floating_assets": task.auto_assign,
        "risk_level": task.risk_level,
        "created_at": to_iso(task.created_at),
        "updated_at": to_iso(task.updated_at),
        "metadata_json": shown_metadata(task.metadata),
    }


def _shown_link(link: TaskAgent) -> dict[str, Any]:
    return {
        "id": link.link_id,
        "task_id": link.task_id,
        "agent_id": link.agent_id,
        "role_in_task": link.role_in_task,
        "status": LINKED,
        "created_at": to_iso(link.created_at),
    }


TASK_ROUTES: tuple[MetaRoute, ...] = (
    MetaRoute("/v3/meta/task/create", TaskCreate, _create),
    MetaRoute("/v3/meta/task/get", TaskNamed, _get),
    MetaRoute("/v3/meta/task/update", TaskUpdate, _update),
    MetaRoute("/v3/meta/task/delete", TaskDelete, _delete),
    MetaRoute("/v3/meta/task/archive", TaskNamed, _archive),
    MetaRoute("/v3/meta/task/list", TaskList, _list),
    MetaRoute("/v3/meta/task-agent/link", TaskAgentLink, _link),
    MetaRoute("/v3/meta/task-agent/unlink", TaskAgentUnlink, _unlink),
    MetaRoute("/v3/meta/task-agent/list", TaskAgentList, _links),
)
