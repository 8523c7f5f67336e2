"""Verbs about users, keys, teams, members and agents. Source: wire contract §5.1, §5.2, §5.3, §9.1."""

from __future__ import annotations

from collections.abc import Sequence

from memstrata.client._calls import Call
from memstrata.client._metadata_bodies import Params, call_for, given, listed, named, of_user, paged
from memstrata.client._metadata_results import (
    Agent,
    Deleted,
    Done,
    Listed,
    Member,
    NewAdmin,
    NewUser,
    NewUserKey,
    Team,
    User,
    UserKey,
    VerifiedUser,
)
from memstrata.client._verbs import verb

__all__ = ["PeopleVerbs"]


class PeopleVerbs:
    """Who there is."""

    @verb
    def create_user(self, p: Params) -> Call[NewUser]:
        """Add a user: `username`, and `user_id` if it is to be a certain one."""
        return call_for("user/create", given(p))

    @verb
    def create_user_with_key(self, p: Params) -> Call[NewUser]:
        """Add a user with a key that exists already: `username`, `user_key`."""
        return call_for("user/create-with-key", given(p))

    @verb
    def get_user(self, user: str | Params) -> Call[User]:
        """Read a user by id, or by `{"user_key": …}`."""
        return call_for("user/get", named("user_id", user), repeatable=True)

    @verb
    def delete_users(self, user_ids: Sequence[str]) -> Call[Deleted]:
        """Delete users."""
        return call_for("user/delete", listed("user_ids", user_ids))

    @verb
    def list_users(self, where: str | Params | None = None, *, pagination: Params | None = None) -> Call[Listed[User]]:
        """Page through users: of a team, or by `team_id`, `user_ids`, `username`."""
        return call_for("user/list", paged("team_id", where, pagination), repeatable=True)

    @verb
    def create_user_key(self, p: Params) -> Call[NewUserKey]:
        """Make a key: `user_id`, `name`, `expires_at`, each optional."""
        return call_for("user-key/create", given(p))

    @verb
    def list_user_keys(
        self, where: str | Params | None = None, *, pagination: Params | None = None
    ) -> Call[Listed[UserKey]]:
        """Page through a user's keys, the caller's unless told otherwise."""
        return call_for("user-key/list", paged("user_id", where, pagination), repeatable=True)

    @verb
    def get_user_key(self, key_id: str) -> Call[UserKey]:
        """Read a key."""
        return call_for("user-key/get", {"key_id": key_id}, repeatable=True)

    @verb
    def revoke_user_key(self, key_id: str) -> Call[Done]:
        """Let a key open nothing any more."""
        return call_for("user-key/revoke", {"key_id": key_id})

    @verb
    def update_user_key(self, p: Params) -> Call[UserKey]:
        """Rename a key or move its end: `key_id`, `name`, `expires_at`."""
        return call_for("user-key/update", given(p))

    @verb
    def keep_user_key(self, key_id: str) -> Call[UserKey]:
        """Let a key hold for ever."""
        return call_for("user-key/update", {"key_id": key_id, "expires_at": None})

    @verb
    def verify_auth(self, user_key: str) -> Call[VerifiedUser]:
        """Read whose key it is; a wrong one is an answer and no error."""
        return call_for("auth/verify", {"user_key": user_key}, repeatable=True)

    @verb
    def init_admin(self, p: Params) -> Call[NewAdmin]:
        """Add the administrator of an instance without users: `username`, and `user_key` if it exists already."""
        return call_for("/v3/internal/meta/user/init-admin", given(p))

    @verb
    def list_instance_users(self, p: Params | None = None) -> Call[Listed[User]]:
        """Page through all users of the instance, as its operator."""
        return call_for("/v3/internal/meta/user/list-by-instance", given(p or {}), repeatable=True)

    @verb
    def create_team(self, p: Params) -> Call[Team]:
        """Add a team: `name`, `owner_user_id`."""
        return call_for("team/create", given(p))

    @verb
    def get_team(self, team_id: str) -> Call[Team]:
        """Read a team."""
        return call_for("team/get", {"team_id": team_id}, repeatable=True)

    @verb
    def update_team(self, p: Params) -> Call[Team]:
        """Change a team: `team_id` and what changes."""
        return call_for("team/update", given(p))

    @verb
    def delete_teams(self, team_ids: Sequence[str]) -> Call[Deleted]:
        """Delete teams."""
        return call_for("team/delete", listed("team_ids", team_ids))

    @verb
    def list_teams(self, user: str | Params, *, pagination: Params | None = None) -> Call[Listed[Team]]:
        """Page through a user's teams, by id or `{"user_key": …}`, and by exact `name`."""
        return call_for("team/list", of_user(user, pagination), repeatable=True)

    @verb
    def add_team_member(self, p: Params) -> Call[Member]:
        """Put a user into a team, or change the role: `team_id`, `user_id`, `role`."""
        return call_for("team-member/add", given(p))

    @verb
    def remove_team_member(self, team_id: str, user_id: str) -> Call[Done]:
        """Take a user out of a team."""
        return call_for("team-member/remove", {"team_id": team_id, "user_id": user_id})

    @verb
    def list_team_members(self, team_id: str, *, pagination: Params | None = None) -> Call[Listed[Member]]:
        """Page through a team's members."""
        return call_for("team-member/list", paged("team_id", team_id, pagination), repeatable=True)

    @verb
    def get_team_member(self, team_id: str, user_id: str) -> Call[Member]:
        """Read a member."""
        return call_for("team-member/get", {"team_id": team_id, "user_id": user_id}, repeatable=True)

    @verb
    def create_agent(self, p: Params) -> Call[Agent]:
        """Add an agent: `team_id`, `owner_user_id`, `name`."""
        return call_for("agent/create", given(p))

    @verb
    def get_agent(self, agent_id: str) -> Call[Agent]:
        """Read an agent."""
        return call_for("agent/get", {"agent_id": agent_id}, repeatable=True)

    @verb
    def update_agent(self, p: Params) -> Call[Agent]:
        """Change an agent: `agent_id` and what changes."""
        return call_for("agent/update", given(p))

    @verb
    def delete_agents(self, agent_ids: Sequence[str]) -> Call[Deleted]:
        """Delete agents."""
        return call_for("agent/delete", listed("agent_ids", agent_ids))

    @verb
    def list_agents(self, p: Params) -> Call[Listed[Agent]]:
        """Page through agents of a `team_id`, `owner_user_id` or `owner_user_key`."""
        return call_for("agent/list", given(p), repeatable=True)

    @verb
    def archive_agent(self, agent_id: str) -> Call[Agent]:
        """Put an agent aside and empty its memory."""
        return call_for("agent/archive", {"agent_id": agent_id})
