"""What a user's key opens of the memory of agents: asked with every request, so what is read is kept for a few seconds.

The decision is pure, over what one read says of a user, a team and an agent. Every refusal says the same, so that none
tells whether a team, an agent or somebody's data exists. Source: DESIGN §9; wire contract §5.5, §11.2.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from memstrata.clock import Clock, Instant
from memstrata.directory.asset_access import memory_of
from memstrata.directory.membership import active_member, may_administer
from memstrata.errors import Forbidden
from memstrata.records.assets import chat_memory_id
from memstrata.store.protocol import Repositories, Store

__all__ = ["Access", "Standing", "may_change", "may_use", "not_allowed"]

KEEP_MILLISECONDS = 5_000
MOST_KEPT = 4_096


@dataclass(frozen=True, slots=True)
class Standing:
    """What a user is to a team, and to an agent of it; without an agent, or with one of elsewhere, the rest is False."""

    is_member: bool = False
    runs_team: bool = False
    agent_is_active: bool = False
    owns_agent: bool = False
    sees_agent: bool = False  # by its visibility, and by grants where it is restricted
    is_kept_out: bool = False  # its memory is denied to the user, or no longer shared


NOBODY = Standing()


def may_use(standing: Standing) -> bool:
    """Return whether the agent's memory may be written to and read, each layer as far as it is shared."""
    if not (standing.is_member and standing.agent_is_active):
        return False
    return standing.owns_agent or (standing.sees_agent and not standing.is_kept_out)


def may_change(standing: Standing) -> bool:
    """Return whether what all users of the agent share may be changed by hand: its owner alone, as in the contract."""
    return standing.owns_agent and may_use(standing)


def not_allowed() -> Forbidden:
    """Return the one refusal of this room."""
    return Forbidden("permission_denied: this user may not do this, or there is nothing of that name")


class Access:
    """The questions of the data plane about users. Answers are of this moment, or up to five seconds old.

    What this process changes in the directory counts at once; see `changed`.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._kept: OrderedDict[tuple[str, str, str, str], tuple[Standing, Instant]] = OrderedDict()
        self._changes = 0

    def changed(self) -> None:
        """Forget every answer: something was written to the directory."""
        self._changes += 1
        self._kept.clear()

    async def standing(self, instance: str, user_id: str, team_id: str, agent_id: str = "") -> Standing:
        """Return what a user is to a team and an agent."""
        now, asked = self._clock.now(), (instance, user_id, team_id, agent_id)
        kept = self._kept.get(asked)
        if kept is not None and 0 <= now - kept[1] < KEEP_MILLISECONDS:
            return kept[0]
        changes = self._changes
        standing = await self._store.read(lambda r: _standing(r, *asked, now))
        if changes == self._changes:
            self._keep(asked, standing, now)
        return standing

    async def require_use(self, instance: str, user_id: str, team_id: str, agent_id: str) -> None:
        """Raise Forbidden unless the user may use the agent."""
        if not may_use(await self.standing(instance, user_id, team_id, agent_id)):
            raise not_allowed()

    async def require_change(self, instance: str, user_id: str, team_id: str, agent_ids: Iterable[str]) -> None:
        """Raise Forbidden unless the user may change what all users of each of these agents share."""
        for agent_id in agent_ids:
            if not may_change(await self.standing(instance, user_id, team_id, agent_id)):
                raise not_allowed()

    async def require_member(self, instance: str, user_id: str, team_id: str) -> None:
        """Raise Forbidden unless the user is an active member of the team."""
        if not (await self.standing(instance, user_id, team_id)).is_member:
            raise not_allowed()

    async def require_team_admin(self, instance: str, user_id: str, team_id: str) -> None:
        """Raise Forbidden unless the user is the team's owner or one of its administrators."""
        if not (await self.standing(instance, user_id, team_id)).runs_team:
            raise not_allowed()

    async def require_memories(self, instance: str, user_id: str, asset_ids: Iterable[str]) -> None:
        """Raise Forbidden unless each of these assets is the memory of an agent that the user may change."""
        asked = tuple(asset_ids)

        def work(r: Repositories) -> tuple[tuple[str, str] | None, ...]:
            return tuple(_remembering(r, instance, one) for one in asked)

        for named in await self._store.read(work):
            if named is None:
                raise not_allowed()
            await self.require_change(instance, user_id, named[0], [named[1]])

    def _keep(self, asked: tuple[str, str, str, str], standing: Standing, now: Instant) -> None:
        self._kept[asked] = (standing, now)
        self._kept.move_to_end(asked)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)


def _standing(r: Repositories, instance: str, user_id: str, team_id: str, agent_id: str, now: Instant) -> Standing:
    team = r.teams.get(instance, team_id)
    if team is None:
        return NOBODY
    is_member = active_member(r, instance, team_id, user_id) is not None
    runs_team = may_administer(r, instance, team, user_id)
    agent = r.agents.get(instance, agent_id) if agent_id else None
    if agent is None or agent.team_id != team_id:
        return Standing(is_member, runs_team)
    return Standing(
        is_member,
        runs_team,
        agent_is_active=agent.status == "active",
        owns_agent=agent.owner_user_id == user_id,
        sees_agent=r.agents.seen(instance, agent_id, user_id) is not None,
        is_kept_out=_is_kept_out(r, instance, chat_memory_id(team_id, agent_id), user_id, now),
    )


def _is_kept_out(r: Repositories, instance: str, asset_id: str, user_id: str, now: Instant) -> bool:
    """Whether a deny, an archiving or an expiry keeps the user from the asset that stands for an agent's memory.

    That it is private says nothing here: every memory is at first, and who uses an agent is what the agent's own
    visibility says.
    """
    _, reason = r.assets.reason(instance, asset_id, user_id, "read", None, now)
    if reason == "asset_not_available":
        return r.assets.get(instance, asset_id) is not None
    return reason.startswith("acl_deny")


def _remembering(r: Repositories, instance: str, asset_id: str) -> tuple[str, str] | None:
    asset = r.assets.get(instance, asset_id)
    agent_id = None if asset is None else memory_of(r, instance, asset)
    return None if asset is None or agent_id is None else (asset.team_id, agent_id)
