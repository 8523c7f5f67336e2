"""Who belongs to a team, and what that lets them do: the questions that all rooms of the directory ask.

Whoever may not see a team is told that it does not exist, whatever they wanted to do with it. Whoever may see it and
may not do this is told so.
"""

from __future__ import annotations

from memstrata.errors import Forbidden, NotFound
from memstrata.records.people import Member, Team, User
from memstrata.store.protocol import Repositories

__all__ = [
    "active_member",
    "may_administer",
    "may_see_team",
    "require_member",
    "require_team",
    "require_team_admin",
]


def active_member(r: Repositories, instance: str, team_id: str, user_id: str) -> Member | None:
    """Return a user's place in a team; None for one who has none, or no longer."""
    member = r.members.get(instance, team_id, user_id)
    return member if member is not None and member.status == "active" else None


def may_see_team(r: Repositories, instance: str, team: Team, caller: User) -> bool:
    """Return whether a user may know of a team: active members, its owner, and the system administrator."""
    if caller.is_admin or team.owner_user_id == caller.user_id:
        return True
    return active_member(r, instance, team.team_id, caller.user_id) is not None


def may_administer(r: Repositories, instance: str, team: Team, user_id: str) -> bool:
    """Return whether a user is a team's owner or one of its administrators."""
    if team.owner_user_id == user_id:
        return True
    member = active_member(r, instance, team.team_id, user_id)
    return member is not None and member.role == "admin"


def require_team(r: Repositories, instance: str, team_id: str, caller: User) -> Team:
    """Return a team to whoever may see it. For reads. Raises NotFound."""
    team = r.teams.get(instance, team_id)
    if team is None or not may_see_team(r, instance, team, caller):
        raise NotFound(f"team_not_found: {team_id[:128]}")
    return team


def require_member(r: Repositories, instance: str, team_id: str, caller: User) -> Member:
    """Return the caller's own place in a team. For writes: being the system administrator is not enough.

    Raises NotFound for a team that the caller may not see, Forbidden for one that is seen from outside.
    """
    require_team(r, instance, team_id, caller)
    member = active_member(r, instance, team_id, caller.user_id)
    if member is None:
        raise Forbidden("permission_denied: only active members of the team may do this")
    return member


def require_team_admin(r: Repositories, instance: str, team_id: str, caller: User) -> Team:
    """Return a team to its owner or an administrator of it. Raises NotFound, Forbidden as `require_member` does.

    Where the owner is no longer a user the system administrator may, or nobody might be left who can.
    """
    team = require_team(r, instance, team_id, caller)
    is_orphan = caller.is_admin and r.users.get(instance, team.owner_user_id) is None
    if not is_orphan and not may_administer(r, instance, team, caller.user_id):
        raise Forbidden("permission_denied: only the team's owner and its administrators may do this")
    return team
