"""Agents of teams: who may make one, see it, change it and let it go.

An agent's memory is an asset that is made and bound with it, private at first, and goes with it: the rows by the one
delete path, in the transaction that removes the asset. Who may not see an agent is told that there is none.
Source: wire contract §5.3.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from memstrata.clock import Clock, Instant
from memstrata.directory.batch import Batch, NotDeleted
from memstrata.directory.label import checked_label
from memstrata.directory.membership import require_member, require_team
from memstrata.directory.ownership import require_owner
from memstrata.directory.people import named_user
from memstrata.directory.prompt_bindings import unbind_prompts
from memstrata.errors import Forbidden, InvalidRequest, NotFound
from memstrata.ids import directory_id, relation_id
from memstrata.records.agents import Agent, AgentStatus, Visibility
from memstrata.records.assets import Asset, Binding, chat_memory_id
from memstrata.records.audit import Change
from memstrata.records.people import User
from memstrata.store.audit import audited
from memstrata.store.directory import AgentFilter, DirectoryPage, Window
from memstrata.store.protocol import Repositories, Store
from memstrata.text.wellformed import well_formed

__all__ = [
    "AgentChange",
    "AgentQuery",
    "ForgetAgents",
    "NewAgent",
    "TeamAgents",
    "add_agent",
    "remove_agent",
    "require_agent",
]

ForgetAgents = Callable[[str, Sequence[str]], Awaitable[None]]
"""Told after the commit which chat memories of an instance were emptied, so that copies in memory go as well."""

MEMORY_PRIORITY = 50  # of an agent's own memory among what is bound to it


@dataclass(frozen=True, slots=True)
class NewAgent:
    """An agent to be made. `metadata` is JSON text."""

    team_id: str
    owner_user_id: str
    name: str
    description: str = ""
    prompt: str = ""
    visibility: Visibility = "team"
    status: AgentStatus = "active"
    metadata: str = "null"


@dataclass(frozen=True, slots=True)
class AgentChange:
    """What is to be different. None: as it is."""

    name: str | None = None
    description: str | None = None
    prompt: str | None = None
    visibility: Visibility | None = None
    status: AgentStatus | None = None
    metadata: str | None = None

    def of(self, agent: Agent, now: Instant) -> Agent:
        """Return the changed agent."""
        return replace(
            agent,
            name=agent.name if self.name is None else checked_label(self.name),
            description=agent.description if self.description is None else well_formed(self.description),
            prompt=agent.prompt if self.prompt is None else well_formed(self.prompt),
            visibility=self.visibility or agent.visibility,
            status=self.status or agent.status,
            metadata=agent.metadata if self.metadata is None else self.metadata,
            updated_at=now,
        )


@dataclass(frozen=True, slots=True)
class AgentQuery:
    """Which agents to list: a team's, an owner's, or an owner's in a team. `name` is exact.

    The owner is named by id, or by a user key.
    """

    team_id: str | None = None
    owner_user_id: str | None = None
    owner_key: str | None = None
    status: AgentStatus | None = None
    name: str | None = None


class TeamAgents:
    """All that can be done with agents. Every verb is one transaction; `forget_agents` is told after it."""

    def __init__(self, store: Store, clock: Clock, forget_agents: ForgetAgents) -> None:
        self._store = store
        self._clock = clock
        self._forget_agents = forget_agents

    async def create(self, instance: str, caller: User, new: NewAgent) -> Agent:
        """Make an agent of the caller's own, with its memory. Raises Forbidden, NotFound, InvalidRequest."""
        if new.owner_user_id != caller.user_id:
            raise Forbidden("permission_denied: an agent's first owner is who makes it")
        now = self._clock.now()

        def work(r: Repositories) -> Agent:
            require_member(r, instance, new.team_id, caller)
            return add_agent(r, instance, new, now)

        return await self._store.write(audited(work, now, lambda agent: _told(instance, "agent.create", agent)))

    async def get(self, instance: str, caller: User, agent_id: str) -> Agent:
        """Return an agent to whoever may see it. Raises NotFound."""
        return await self._store.read(lambda r: require_agent(r, instance, agent_id, caller))

    async def page(self, instance: str, caller: User, where: AgentQuery, window: Window) -> DirectoryPage[Agent]:
        """Return the agents that the caller may see. Raises InvalidRequest without team and owner, NotFound."""
        by_owner = where.owner_user_id is not None or where.owner_key is not None
        if where.team_id is None and not by_owner:
            raise InvalidRequest("missing_team_id: name a team or an owner")

        def work(r: Repositories) -> DirectoryPage[Agent]:
            if where.team_id is not None:
                require_team(r, instance, where.team_id, caller)
            owner = named_user(r, instance, where.owner_user_id, where.owner_key)
            if by_owner and owner is None:
                raise NotFound("user_not_found: the key is nobody's")
            viewer = None if caller.is_admin else caller.user_id
            chosen = AgentFilter(viewer, where.team_id, owner, where.status, where.name)
            return r.agents.page(instance, chosen, window)

        return await self._store.read(work)

    async def update(self, instance: str, caller: User, agent_id: str, change: AgentChange) -> Agent:
        """Change an agent of the caller's. One that is active again has a memory again. Raises NotFound, Forbidden."""
        now = self._clock.now()

        def work(r: Repositories) -> Agent:
            agent = change.of(_owned(r, instance, agent_id, caller), now)
            r.agents.replace(instance, agent)
            if change.status == "active":
                _give_memory(r, instance, agent, now)
            return agent

        return await self._store.write(audited(work, now, lambda agent: _told(instance, "agent.update", agent)))

    async def archive(self, instance: str, caller: User, agent_id: str) -> Agent:
        """Empty an agent's memory, remove its asset, and keep the agent as inactive. Raises NotFound, Forbidden."""
        now = self._clock.now()

        def work(r: Repositories) -> Agent:
            agent = replace(_owned(r, instance, agent_id, caller), status="inactive", updated_at=now)
            _take_memory(r, instance, agent)
            r.agents.replace(instance, agent)
            return agent

        agent = await self._store.write(audited(work, now, lambda agent: _told(instance, "agent.archive", agent)))
        await self._forget_agents(instance, [chat_memory_id(agent.team_id, agent.agent_id)])
        return agent

    async def delete(self, instance: str, caller: User, agent_ids: Sequence[str]) -> Batch:
        """Remove agents with their memory and all that names them.

        All of those that the caller may see must be the caller's, or none goes: Forbidden. The others are in `failed`.
        """

        now = self._clock.now()

        def work(r: Repositories) -> tuple[Batch, list[str]]:
            wanted = tuple(dict.fromkeys(agent_ids))
            known = {one: agent for one in wanted if (agent := _seen(r, instance, one, caller)) is not None}
            for agent in known.values():
                require_owner(r, instance, agent.owner_user_id, agent.team_id, caller)
            emptied = [remove_agent(r, instance, agent, caller.user_id, now) for agent in known.values()]
            failed = tuple(NotDeleted(one, "agent_not_found") for one in wanted if one not in known)
            return Batch(tuple(known), failed), emptied

        def told(done: tuple[Batch, list[str]]) -> Change | None:
            gone = done[0].deleted_ids
            return Change(instance, "agent.delete", ids={"agent": gone}) if gone else None

        batch, emptied = await self._store.write(audited(work, now, told))
        if emptied:
            await self._forget_agents(instance, emptied)
        return batch


def add_agent(r: Repositories, instance: str, new: NewAgent, now: Instant) -> Agent:
    """Make an agent with its memory, whoever may. Raises InvalidRequest for a blank name."""
    agent = Agent(
        agent_id=directory_id("agt", now),
        team_id=new.team_id,
        owner_user_id=new.owner_user_id,
        name=checked_label(new.name),
        description=well_formed(new.description),
        prompt=well_formed(new.prompt),
        visibility=new.visibility,
        status=new.status,
        metadata=new.metadata,
        created_at=now,
        updated_at=now,
    )
    r.agents.add(instance, agent)
    _give_memory(r, instance, agent, now)
    return agent


def remove_agent(r: Repositories, instance: str, agent: Agent, operator: str, now: Instant) -> str:
    """Remove an agent with all that is its own, whoever may. Return the id of the memory to be forgotten afterwards."""
    memory_id = _take_memory(r, instance, agent)
    unbind_prompts(r, instance, agent.team_id, operator, now, agent.agent_id)
    r.agents.remove(instance, agent.agent_id)
    return memory_id


def require_agent(r: Repositories, instance: str, agent_id: str, caller: User) -> Agent:
    """Return an agent to whoever may see it. Raises NotFound."""
    agent = _seen(r, instance, agent_id, caller)
    if agent is None:
        raise NotFound(f"agent_not_found: {agent_id[:128]}")
    return agent


def _told(instance: str, action: str, agent: Agent) -> Change:
    return Change(instance, action, agent.team_id, agent.agent_id)


def _seen(r: Repositories, instance: str, agent_id: str, caller: User) -> Agent | None:
    if caller.is_admin:
        return r.agents.get(instance, agent_id)
    return r.agents.seen(instance, agent_id, caller.user_id)


def _owned(r: Repositories, instance: str, agent_id: str, caller: User) -> Agent:
    agent = require_agent(r, instance, agent_id, caller)
    require_owner(r, instance, agent.owner_user_id, agent.team_id, caller)
    return agent


def _give_memory(r: Repositories, instance: str, agent: Agent, now: Instant) -> None:
    asset_id = chat_memory_id(agent.team_id, agent.agent_id)
    if r.assets.get(instance, asset_id) is not None:
        return
    asset = Asset(
        asset_id=asset_id,
        team_id=agent.team_id,
        asset_type="chat_memory",
        name=agent.name,
        description="",
        owner_user_id=agent.owner_user_id,
        source_type="agent",
        source_ref=agent.agent_id,
        version=1,
        visibility="private",
        status="approved",
        confidence=None,
        expires_at="",
        last_used_at=None,
        usage_count=0,
        content_ref="",
        metadata="null",
        created_at=now,
        updated_at=now,
    )
    r.assets.add(instance, asset, None)
    owner = agent.owner_user_id
    own = Binding(relation_id(), agent.agent_id, asset_id, "chat_memory", "summary", MEMORY_PRIORITY, owner, now)
    r.assets.add_binding(instance, own)


def _take_memory(r: Repositories, instance: str, agent: Agent) -> str:
    """Remove what the agent remembers, and the asset that stands for it. Return the asset's id."""
    asset_id = chat_memory_id(agent.team_id, agent.agent_id)
    r.erasure.agent(instance, agent.team_id, agent.agent_id)
    r.assets.remove(instance, asset_id)
    return asset_id
