"""Teams: made by anybody, run by their owner and administrators, seen by their members. Source: wire contract §5.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memstrata.clock import Clock, Instant
from memstrata.directory.agents import ForgetAgents, remove_agent
from memstrata.directory.batch import Batch, NotDeleted
from memstrata.directory.label import checked_label
from memstrata.directory.membership import require_team, require_team_admin
from memstrata.directory.people import named_user
from memstrata.directory.prompt_bindings import unbind_prompts
from memstrata.errors import Conflict, Forbidden, InvalidRequest, NotFound
from memstrata.ids import directory_id, relation_id
from memstrata.records.audit import Change
from memstrata.records.people import Member, Team, TeamStatus, User
from memstrata.settings import DirectorySettings
from memstrata.store.audit import audited
from memstrata.store.directory import DirectoryPage, Window
from memstrata.store.protocol import Repositories, Store
from memstrata.text.wellformed import well_formed

__all__ = ["NewTeam", "TeamChange", "Teams", "add_team"]


@dataclass(frozen=True, slots=True)
class NewTeam:
    """A team to be made. `metadata` is JSON text."""

    name: str
    owner_user_id: str
    description: str = ""
    status: TeamStatus = "active"
    metadata: str = "null"


@dataclass(frozen=True, slots=True)
class TeamChange:
    """What is to be different. None: as it is."""

    name: str | None = None
    description: str | None = None
    status: TeamStatus | None = None
    metadata: str | None = None

    def of(self, team: Team, now: Instant) -> Team:
        """Return the changed team."""
        return replace(
            team,
            name=team.name if self.name is None else checked_label(self.name),
            description=team.description if self.description is None else well_formed(self.description),
            status=self.status or team.status,
            metadata=team.metadata if self.metadata is None else self.metadata,
            updated_at=now,
        )


class Teams:
    """All that can be done with teams. Every verb is one transaction; `forget_agents` is told after it."""

    def __init__(self, store: Store, clock: Clock, settings: DirectorySettings, forget_agents: ForgetAgents) -> None:
        self._store = store
        self._clock = clock
        self._most = settings.max_teams
        self._forget_agents = forget_agents

    async def create(self, instance: str, caller: User, new: NewTeam) -> Team:
        """Make a team of the caller's own. Raises Forbidden, InvalidRequest, Conflict `team_limit_exceeded`."""
        if new.owner_user_id != caller.user_id:
            raise Forbidden("permission_denied: a team's first owner is who makes it")
        now = self._clock.now()

        def work(r: Repositories) -> Team:
            if r.teams.count(instance) >= self._most:
                raise Conflict(f"team_limit_exceeded: at most {self._most} teams in an instance")
            return add_team(r, instance, new, now)

        return await self._store.write(audited(work, now, lambda team: _told(instance, "team.create", team.team_id)))

    async def get(self, instance: str, caller: User, team_id: str) -> Team:
        """Return a team to whoever may see it. Raises NotFound."""
        return await self._store.read(lambda r: require_team(r, instance, team_id, caller))

    async def update(self, instance: str, caller: User, team_id: str, change: TeamChange) -> Team:
        """Change a team. For its owner and administrators. Raises NotFound, Forbidden, InvalidRequest."""
        now = self._clock.now()

        def work(r: Repositories) -> Team:
            team = change.of(require_team_admin(r, instance, team_id, caller), now)
            r.teams.replace(instance, team)
            return team

        return await self._store.write(audited(work, now, _told(instance, "team.update", team_id)))

    async def delete(self, instance: str, caller: User, team_ids: Sequence[str]) -> Batch:
        """Remove teams with all that is theirs: members, tasks, assets, agents and what the agents remember.

        The caller must administer each of those that are to be seen, or none goes: Forbidden. The others are in `failed`.
        """

        now = self._clock.now()

        def work(r: Repositories) -> tuple[Batch, list[str]]:
            wanted = tuple(dict.fromkeys(team_ids))
            seen = [one for one in wanted if _administered(r, instance, one, caller)]
            emptied = [memory_id for one in seen for memory_id in _remove_team(r, instance, one, caller.user_id, now)]
            failed = tuple(NotDeleted(one, "team_not_found") for one in wanted if one not in seen)
            return Batch(tuple(seen), failed), emptied

        def told(done: tuple[Batch, list[str]]) -> Change | None:
            return _told(instance, "team.delete", *done[0].deleted_ids) if done[0].deleted_ids else None

        batch, emptied = await self._store.write(audited(work, now, told))
        if emptied:
            await self._forget_agents(instance, emptied)
        return batch

    async def page(
        self,
        instance: str,
        caller: User,
        window: Window,
        *,
        user_id: str | None = None,
        key: str | None = None,
        name: str | None = None,
    ) -> DirectoryPage[Team]:
        """Return the teams in which a user is active: the caller, or anybody to the system administrator.

        Raises InvalidRequest where nobody is named, NotFound for somebody else.
        """
        if user_id is None and key is None:
            raise InvalidRequest("invalid_request: give user_id or user_key")

        def work(r: Repositories) -> DirectoryPage[Team]:
            member = named_user(r, instance, user_id, key)
            if member is None or not (caller.is_admin or member == caller.user_id):
                raise NotFound("user_not_found: there is no such user, or not for you")
            return r.teams.page(instance, member, name, window)

        return await self._store.read(work)


def add_team(r: Repositories, instance: str, new: NewTeam, now: Instant) -> Team:
    """Make a team with its owner as administrator, whoever may. Raises InvalidRequest for a blank name."""
    team = Team(
        team_id=directory_id("team", now),
        name=checked_label(new.name),
        description=well_formed(new.description),
        owner_user_id=new.owner_user_id,
        status=new.status,
        metadata=new.metadata,
        created_at=now,
        updated_at=now,
    )
    r.teams.add(instance, team)
    r.members.put(instance, Member(relation_id(), team.team_id, team.owner_user_id, "admin", "active", now))
    return team


def _told(instance: str, action: str, *team_ids: str) -> Change:
    return Change(instance, action, team_ids[0] if len(team_ids) == 1 else "", ids={"team": team_ids})


def _administered(r: Repositories, instance: str, team_id: str, caller: User) -> bool:
    """Return whether a team is to be removed: False for one that is not to be seen. Raises Forbidden."""
    try:
        require_team_admin(r, instance, team_id, caller)
    except NotFound:
        return False
    return True


def _remove_team(r: Repositories, instance: str, team_id: str, operator: str, now: Instant) -> list[str]:
    """Remove a team; return the memories to be forgotten afterwards."""
    emptied = [remove_agent(r, instance, agent, operator, now) for agent in r.agents.of_team(instance, team_id)]
    unbind_prompts(r, instance, team_id, operator, now)
    for asset in r.assets.of_team(instance, team_id):
        r.assets.remove(instance, asset.asset_id)
    r.teams.remove(instance, team_id)
    return emptied
