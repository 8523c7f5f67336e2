"""Who is in a team and as what: taken in, given another role, put out by its administrators. Source: wire contract §5.2."""

from __future__ import annotations

from dataclasses import replace

from memstrata.clock import Clock, Instant
from memstrata.directory.agents import NewAgent, add_agent
from memstrata.directory.membership import require_team, require_team_admin
from memstrata.errors import Conflict, Forbidden, NotFound
from memstrata.ids import relation_id
from memstrata.records.audit import Change
from memstrata.records.people import Member, MemberRole, MemberStatus, Team, User
from memstrata.store.audit import audited
from memstrata.store.directory import AgentFilter, DirectoryPage, Window
from memstrata.store.protocol import Repositories, Store

__all__ = ["Members", "give_agent", "settled_member"]


class Members:
    """All that can be done with memberships. Every verb is one transaction."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def add(
        self,
        instance: str,
        caller: User,
        team_id: str,
        user_id: str,
        *,
        role: MemberRole = "member",
        status: MemberStatus = "active",
    ) -> Member:
        """Take a user in, or give a member another role; who comes in anew has an agent there.

        Raises NotFound for a team or user that is not there, Forbidden for who may not or where `settled_member` says
        so, Conflict `member_already_exists` where nothing would change.
        """
        now = self._clock.now()

        def work(r: Repositories) -> Member:
            team = require_team_admin(r, instance, team_id, caller)
            user = r.users.get(instance, user_id)
            if user is None:
                raise NotFound("user_not_found: there is no such user")
            old = r.members.get(instance, team_id, user_id)
            new = Member(relation_id(), team_id, user_id, role, status, now, user.username)
            member = settled_member(team, caller, old, new)
            r.members.put(instance, member)
            if old is None and status == "active":
                give_agent(r, instance, team_id, user, now)
            return member

        put = Change(instance, "member.put", team_id, ids={"user": [user_id]})
        return await self._store.write(audited(work, now, put))

    async def remove(self, instance: str, caller: User, team_id: str, user_id: str) -> None:
        """Put a member out. What is theirs stays in the team. Raises NotFound, Forbidden for the owner."""

        def work(r: Repositories) -> None:
            team = require_team_admin(r, instance, team_id, caller)
            if team.owner_user_id == user_id:
                raise Forbidden("permission_denied: a team's owner stays in it")
            if not r.members.remove(instance, team_id, user_id):
                raise _no_member()

        gone = Change(instance, "member.remove", team_id, ids={"user": [user_id]})
        await self._store.write(audited(work, self._clock.now(), gone))

    async def page(self, instance: str, caller: User, team_id: str, window: Window) -> DirectoryPage[Member]:
        """Return a team's members to whoever may see it. Raises NotFound."""

        def work(r: Repositories) -> DirectoryPage[Member]:
            require_team(r, instance, team_id, caller)
            return r.members.page(instance, team_id, window)

        return await self._store.read(work)

    async def get(self, instance: str, caller: User, team_id: str, user_id: str) -> Member:
        """Return one member to whoever may see the team. Raises NotFound."""

        def work(r: Repositories) -> Member:
            require_team(r, instance, team_id, caller)
            member = r.members.get(instance, team_id, user_id)
            if member is None:
                raise _no_member()
            return member

        return await self._store.read(work)


def settled_member(team: Team, caller: User, old: Member | None, new: Member) -> Member:
    """Return a member as they are to be, or say why not.

    Raises Forbidden for a place of one's own, and for an owner who would not be an active administrator any more;
    Conflict where it is as it is to be.
    """
    if new.user_id == caller.user_id:
        raise Forbidden("permission_denied: nobody changes their own place in a team")
    if new.user_id == team.owner_user_id and (new.role, new.status) != ("admin", "active"):
        raise Forbidden("permission_denied: a team's owner stays its administrator")
    if old is None:
        return new
    if (old.role, old.status) == (new.role, new.status):
        raise Conflict("member_already_exists: with that role")
    return replace(old, role=new.role, status=new.status, username=new.username)


def give_agent(r: Repositories, instance: str, team_id: str, user: User, now: Instant) -> None:
    """Give a user the agent that everybody has in a team, unless it is still there from an earlier time."""
    name = f"default-agent-{user.username}"
    own = AgentFilter(None, team_id, user.user_id, name=name)
    if not r.agents.page(instance, own, Window(limit=1)).total:
        add_agent(r, instance, NewAgent(team_id, user.user_id, name), now)


def _no_member() -> NotFound:
    return NotFound("member_not_found: there is no such member")
