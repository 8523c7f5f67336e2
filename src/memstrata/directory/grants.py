"""The access lists of assets: who is let in or kept out, and what comes of it. Source: wire contract §5.5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from memstrata.clock import Clock, Instant
from memstrata.directory.agents import require_agent
from memstrata.directory.asset_access import require_agent_of, require_asset, require_own_asset
from memstrata.directory.membership import may_administer
from memstrata.directory.people import named_user
from memstrata.errors import Forbidden, InvalidRequest, NotFound
from memstrata.ids import relation_id
from memstrata.records.assets import Grant, GrantEffect, Permission, SubjectType
from memstrata.records.audit import Change
from memstrata.records.people import MemberRole, User
from memstrata.store.audit import audited
from memstrata.store.directory import DirectoryPage, Window
from memstrata.store.protocol import Repositories, Store

__all__ = ["AccessLists", "NewGrant", "Question"]


@dataclass(frozen=True, slots=True)
class NewGrant:
    """A line to be put on an asset's list. Who grants is the caller; a name or key that is given must be theirs."""

    asset_id: str
    subject_type: SubjectType
    subject_id: str
    permission: Permission
    effect: GrantEffect = "allow"
    granted_by: str | None = None
    granted_by_key: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """May this user, named by id or by key, alone or with an agent, do that with an asset?"""

    asset_id: str
    action: Permission
    user_id: str | None = None
    key: str | None = None
    agent_id: str | None = None


class AccessLists:
    """All that can be done with access lists. Every verb is one transaction."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def grant(self, instance: str, caller: User, new: NewGrant) -> Grant:
        """Put a line on the list of an asset of the caller's; one for the same subject and permission is replaced.

        Raises NotFound, Forbidden, InvalidRequest.
        """
        now = self._clock.now()

        def work(r: Repositories) -> Grant:
            if new.granted_by is not None or new.granted_by_key is not None:
                granted_by = named_user(r, instance, new.granted_by, new.granted_by_key)
                if granted_by != caller.user_id:
                    raise Forbidden("permission_denied: nobody grants in the name of somebody else")
            require_own_asset(r, instance, new.asset_id, caller, now)
            _require_subject(r, instance, caller, new)
            whom = (new.asset_id, new.subject_type, new.subject_id, new.permission, new.effect)
            return r.assets.grant(instance, Grant(relation_id(), *whom, caller.user_id, now, now))

        given = Change(instance, "acl.grant", ids={"asset": [new.asset_id], "subject": [new.subject_id]})
        return await self._store.write(audited(work, now, given))

    async def revoke(self, instance: str, caller: User, grant_id: str) -> None:
        """Take a line off the list of an asset of the caller's. Raises NotFound, Forbidden."""
        now = self._clock.now()

        def work(r: Repositories) -> None:
            grant = r.assets.granted(instance, grant_id)
            if grant is None:
                raise NotFound(f"acl_not_found: {grant_id[:128]}")
            try:
                require_own_asset(r, instance, grant.asset_id, caller, now)
            except NotFound as error:
                raise NotFound(f"acl_not_found: {grant_id[:128]}") from error
            r.assets.revoke(instance, grant_id)

        taken = Change(instance, "acl.revoke", ids={"grant": [grant_id]})
        await self._store.write(audited(work, now, taken))

    async def page(self, instance: str, caller: User, asset_id: str, window: Window) -> DirectoryPage[Grant]:
        """Return an asset's list to its owner and to who runs its team. Raises NotFound, Forbidden."""
        now = self._clock.now()

        def work(r: Repositories) -> DirectoryPage[Grant]:
            asset = require_asset(r, instance, asset_id, caller, now)
            if not (caller.is_admin or asset.owner_user_id == caller.user_id):
                _require_admin(r, instance, asset.team_id, caller)
            return r.assets.grants(instance, asset_id, window)

        return await self._store.read(work)

    async def check(self, instance: str, caller: User, question: Question) -> tuple[bool, str]:
        """Return whether a user may do something with an asset, and by which rule.

        Anybody may ask about themselves; about others who owns the asset or runs its team. Raises Forbidden, NotFound.
        """
        now = self._clock.now()

        def work(r: Repositories) -> tuple[bool, str]:
            user_id = named_user(r, instance, question.user_id, question.key)
            if user_id is None:
                raise NotFound("user_not_found: there is no such user")
            if user_id != caller.user_id and not caller.is_admin:
                _require_inquirer(r, instance, question.asset_id, caller, now)
            if question.agent_id is not None:
                require_agent_of(r, instance, question.agent_id, user_id, caller)
            return r.assets.reason(instance, question.asset_id, user_id, question.action, question.agent_id, now)

        return await self._store.read(work)


def _require_subject(r: Repositories, instance: str, caller: User, new: NewGrant) -> None:
    match new.subject_type:
        case "user":
            if r.users.get(instance, new.subject_id) is None:
                raise NotFound(f"user_not_found: {new.subject_id[:128]}")
        case "team_role":
            if new.subject_id not in get_args(MemberRole):
                raise InvalidRequest(f"expected one of {', '.join(get_args(MemberRole))}", field="subject_id")
        case "agent":
            require_agent(r, instance, new.subject_id, caller)


def _require_inquirer(r: Repositories, instance: str, asset_id: str, caller: User, now: Instant) -> None:
    asset = r.assets.get(instance, asset_id)
    if asset is not None and asset.owner_user_id == caller.user_id:
        return
    try:
        asset = require_asset(r, instance, asset_id, caller, now)
    except NotFound as error:
        raise Forbidden("permission_denied: what others may do is their own business") from error
    _require_admin(r, instance, asset.team_id, caller)


def _require_admin(r: Repositories, instance: str, team_id: str, caller: User) -> None:
    team = r.teams.get(instance, team_id)
    if team is None or not may_administer(r, instance, team, caller.user_id):
        raise Forbidden("permission_denied: only the owner and administrators of the team may do this")
