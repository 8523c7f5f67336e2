"""Tasks of teams and the agents linked to them: who may make, see and change them. Source: wire contract §5.4."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memstrata.clock import Clock, Instant
from memstrata.directory.agents import require_agent
from memstrata.directory.batch import Batch, NotDeleted
from memstrata.directory.label import checked_label
from memstrata.directory.membership import active_member, require_member, require_team
from memstrata.directory.ownership import require_owner
from memstrata.directory.people import named_user
from memstrata.errors import Conflict, Forbidden, InvalidRequest, NotFound
from memstrata.ids import directory_id, relation_id
from memstrata.records.agents import Task, TaskAgent, TaskSource, TaskStatus
from memstrata.records.audit import Change
from memstrata.records.people import User
from memstrata.store.audit import audited
from memstrata.store.directory import DirectoryPage, TaskFilter, Window
from memstrata.store.protocol import Repositories, Store
from memstrata.text.wellformed import well_formed

__all__ = ["AgentPart", "NewTask", "TaskChange", "TaskQuery", "TeamTasks"]


@dataclass(frozen=True, slots=True)
class AgentPart:
    """An agent to be linked to a task, and what as."""

    agent_id: str
    role_in_task: str = ""


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to be made, with its first agents. `metadata` is JSON text."""

    team_id: str
    creator_user_id: str
    title: str
    description: str = ""
    source_type: TaskSource = "manual"
    source_url: str = ""
    status: TaskStatus = "running"
    auto_assign: bool = False
    risk_level: str = ""
    metadata: str = "null"
    agents: tuple[AgentPart, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskChange:
    """What is to be different. None: as it is."""

    title: str | None = None
    description: str | None = None
    source_type: TaskSource | None = None
    source_url: str | None = None
    status: TaskStatus | None = None
    auto_assign: bool | None = None
    risk_level: str | None = None
    metadata: str | None = None

    def of(self, task: Task, now: Instant) -> Task:
        """Return the changed task."""
        return replace(
            task,
            title=task.title if self.title is None else checked_label(self.title, "title"),
            description=task.description if self.description is None else well_formed(self.description),
            source_type=self.source_type or task.source_type,
            source_url=task.source_url if self.source_url is None else well_formed(self.source_url),
            status=self.status or task.status,
            auto_assign=task.auto_assign if self.auto_assign is None else self.auto_assign,
            risk_level=task.risk_level if self.risk_level is None else well_formed(self.risk_level),
            metadata=task.metadata if self.metadata is None else self.metadata,
            updated_at=now,
        )


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """Which tasks to list: a team's, a creator's, or a creator's in a team. `title` is exact.

    The creator is named by id, or by a user key.
    """

    team_id: str | None = None
    creator_user_id: str | None = None
    creator_key: str | None = None
    status: TaskStatus | None = None
    title: str | None = None


class TeamTasks:
    """All that can be done with tasks. Every verb is one transaction."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def create(self, instance: str, caller: User, new: NewTask) -> Task:
        """Make a task in the caller's name and link its agents, all or nothing.

        Raises NotFound for an unknown team or agent, Forbidden, Conflict for an agent that is named twice.
        """
        if new.creator_user_id != caller.user_id:
            raise Forbidden("permission_denied: a task's creator is who makes it")
        if len({part.agent_id for part in new.agents}) < len(new.agents):
            raise Conflict("duplicate_entry: an agent is linked more than once")
        now = self._clock.now()

        def work(r: Repositories) -> Task:
            require_member(r, instance, new.team_id, caller)
            task = _made(new, now)
            r.tasks.add(instance, task)
            for part in new.agents:
                _link(r, instance, task, part, caller, now)
            return task

        return await self._store.write(audited(work, now, lambda task: _told(instance, "task.create", task.task_id)))

    async def get(self, instance: str, caller: User, task_id: str) -> Task:
        """Return a task to whoever may see it. Raises NotFound."""
        return await self._store.read(lambda r: _require_task(r, instance, task_id, caller))

    async def page(self, instance: str, caller: User, where: TaskQuery, window: Window) -> DirectoryPage[Task]:
        """Return the tasks that the caller may see. Raises InvalidRequest without team and creator, NotFound."""
        by_creator = where.creator_user_id is not None or where.creator_key is not None
        if where.team_id is None and not by_creator:
            raise InvalidRequest("missing_team_id: name a team or a creator")

        def work(r: Repositories) -> DirectoryPage[Task]:
            if where.team_id is not None:
                require_team(r, instance, where.team_id, caller)
            creator = named_user(r, instance, where.creator_user_id, where.creator_key)
            if by_creator and creator is None:
                raise NotFound("user_not_found: the key is nobody's")
            viewer = None if caller.is_admin else caller.user_id
            chosen = TaskFilter(viewer, where.team_id, creator, where.status, where.title)
            return r.tasks.page(instance, chosen, window)

        return await self._store.read(work)

    async def update(self, instance: str, caller: User, task_id: str, change: TaskChange) -> Task:
        """Change a task of the caller's. Raises NotFound, Forbidden."""
        now = self._clock.now()

        def work(r: Repositories) -> Task:
            task = change.of(_created(r, instance, task_id, caller), now)
            r.tasks.replace(instance, task)
            return task

        return await self._store.write(audited(work, now, _told(instance, "task.update", task_id)))

    async def archive(self, instance: str, caller: User, task_id: str) -> Task:
        """Complete a task of the caller's. Raises NotFound, Forbidden."""
        return await self.update(instance, caller, task_id, TaskChange(status="completed"))

    async def delete(self, instance: str, caller: User, task_ids: Sequence[str]) -> Batch:
        """Remove tasks with their links and the log of who took part.

        All of those that the caller may see must be the caller's, or none goes: Forbidden. The others are in `failed`.
        """

        def work(r: Repositories) -> Batch:
            wanted = tuple(dict.fromkeys(task_ids))
            known = {one: task for one in wanted if (task := _seen(r, instance, one, caller)) is not None}
            for task in known.values():
                require_owner(r, instance, task.creator_user_id, task.team_id, caller)
            for task_id in known:
                r.tasks.remove(instance, task_id)
            return Batch(tuple(known), tuple(NotDeleted(one, "task_not_found") for one in wanted if one not in known))

        def told(done: Batch) -> Change | None:
            return _told(instance, "task.delete", *done.deleted_ids) if done.deleted_ids else None

        return await self._store.write(audited(work, self._clock.now(), told))

    async def link(self, instance: str, caller: User, task_id: str, part: AgentPart) -> TaskAgent:
        """Link an agent of the team to a task of the caller's; one that is linked gets the new role.

        Raises NotFound, Forbidden for an agent of another team.
        """
        now = self._clock.now()

        def work(r: Repositories) -> TaskAgent:
            return _link(r, instance, _created(r, instance, task_id, caller), part, caller, now)

        linked = _told(instance, "task.link", task_id, agent=part.agent_id)
        return await self._store.write(audited(work, now, linked))

    async def unlink(self, instance: str, caller: User, task_id: str, agent_id: str) -> None:
        """Take an agent off a task of the caller's. Raises NotFound, Forbidden for one that is not linked."""

        def work(r: Repositories) -> None:
            _created(r, instance, task_id, caller)
            if not r.tasks.unlink(instance, task_id, agent_id):
                raise Forbidden(f"task_agent_not_linked: {agent_id[:128]}")

        unlinked = _told(instance, "task.unlink", task_id, agent=agent_id)
        await self._store.write(audited(work, self._clock.now(), unlinked))

    async def links(self, instance: str, caller: User, task_id: str, window: Window) -> DirectoryPage[TaskAgent]:
        """Return the agents of a task to whoever may see it. Raises NotFound."""

        def work(r: Repositories) -> DirectoryPage[TaskAgent]:
            _require_task(r, instance, task_id, caller)
            return r.tasks.links(instance, task_id, window)

        return await self._store.read(work)


def _told(instance: str, action: str, *task_ids: str, agent: str = "") -> Change:
    return Change(instance, action, agent=agent, ids={"task": task_ids})


def _made(new: NewTask, now: Instant) -> Task:
    return Task(
        task_id=directory_id("task", now),
        team_id=new.team_id,
        creator_user_id=new.creator_user_id,
        title=checked_label(new.title, "title"),
        description=well_formed(new.description),
        source_type=new.source_type,
        source_url=well_formed(new.source_url),
        status=new.status,
        auto_assign=new.auto_assign,
        risk_level=well_formed(new.risk_level),
        metadata=new.metadata,
        created_at=now,
        updated_at=now,
    )


def _link(r: Repositories, instance: str, task: Task, part: AgentPart, caller: User, now: Instant) -> TaskAgent:
    agent = require_agent(r, instance, part.agent_id, caller)
    if agent.team_id != task.team_id:
        raise Forbidden(f"agent_team_mismatch: {part.agent_id[:128]} is of another team than the task")
    link = TaskAgent(relation_id(), task.task_id, agent.agent_id, well_formed(part.role_in_task), now)
    return r.tasks.link(instance, link)


def _seen(r: Repositories, instance: str, task_id: str, caller: User) -> Task | None:
    """The task, unless the caller is neither its creator, nor in its team, nor the administrator (as `page` has it)."""
    task = r.tasks.get(instance, task_id)
    if task is None or caller.is_admin or task.creator_user_id == caller.user_id:
        return task
    return task if active_member(r, instance, task.team_id, caller.user_id) is not None else None


def _require_task(r: Repositories, instance: str, task_id: str, caller: User) -> Task:
    task = _seen(r, instance, task_id, caller)
    if task is None:
        raise NotFound(f"task_not_found: {task_id[:128]}")
    return task


def _created(r: Repositories, instance: str, task_id: str, caller: User) -> Task:
    task = _require_task(r, instance, task_id, caller)
    require_owner(r, instance, task.creator_user_id, task.team_id, caller)
    return task
