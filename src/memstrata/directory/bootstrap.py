"""The first user of an instance, whom nobody could add: its system administrator, with a team and an agent.

Source: wire contract §5.7.
"""

from __future__ import annotations

from memstrata.clock import Clock
from memstrata.directory.key_text import check_chosen_key
from memstrata.directory.members import give_agent
from memstrata.directory.people import NewUser, add_user
from memstrata.directory.teams import NewTeam, add_team
from memstrata.directory.verification import Verification
from memstrata.errors import Conflict
from memstrata.records.audit import Change
from memstrata.records.scope import check_id
from memstrata.store.audit import audited
from memstrata.store.protocol import Repositories, Store

__all__ = ["Bootstrap"]

DEFAULT_TEAM = "default-team"


class Bootstrap:
    """How an instance gets its administrator. Whoever calls this is the operator: nobody's key is asked for."""

    def __init__(self, store: Store, clock: Clock, verification: Verification) -> None:
        self._store = store
        self._clock = clock
        self._verification = verification

    async def is_done(self, instance: str) -> bool:
        """Return whether an instance has any user."""
        return await self._store.read(lambda r: r.users.count(instance) > 0)

    async def init_admin(self, instance: str, *, username: str, key: str | None = None) -> NewUser:
        """Add the administrator with the given key or a new one, a team and an agent.

        Raises Conflict `already_initialized` if there is any user, InvalidRequest.
        """
        check_id(username, "username")
        chosen = None if key is None else check_chosen_key(key)
        now = self._clock.now()

        def work(r: Repositories) -> NewUser:
            if r.users.count(instance):
                raise Conflict("already_initialized: this instance has users")
            admin = add_user(r, instance, username, now, user_type="system_admin", key=chosen)
            team = add_team(r, instance, NewTeam(DEFAULT_TEAM, admin.user.user_id), now)
            give_agent(r, instance, team.team_id, admin.user, now)
            return admin

        admin = await self._store.write(
            audited(work, now, lambda new: Change(instance, "instance.init", ids={"user": [new.user.user_id]}))
        )
        self._verification.changed()
        return admin
