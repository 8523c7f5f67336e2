"""Who may change what a user made in a team: that user, and once there is no such user, who runs the team.

The contract knows the owner alone (§5.3, §5.4); what a removed user left behind would be nobody's for ever.
"""

from __future__ import annotations

from memstrata.directory.membership import may_administer
from memstrata.errors import Forbidden
from memstrata.records.people import User
from memstrata.store.protocol import Repositories

__all__ = ["require_owner"]


def require_owner(r: Repositories, instance: str, owner_user_id: str, team_id: str, caller: User) -> None:
    """Return if the caller may change it. Raises Forbidden."""
    if owner_user_id == caller.user_id:
        return
    if r.users.get(instance, owner_user_id) is not None or not _runs(r, instance, team_id, caller):
        raise Forbidden("permission_denied: only its owner may do this")


def _runs(r: Repositories, instance: str, team_id: str, caller: User) -> bool:
    team = r.teams.get(instance, team_id)
    return caller.is_admin or (team is not None and may_administer(r, instance, team, caller.user_id))
