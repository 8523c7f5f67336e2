"""The users of an instance: who there is, who may ask about whom. Source: wire contract §5.1 and §5.7."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memstrata.clock import Clock, Instant
from memstrata.directory.batch import Batch, NotDeleted
from memstrata.directory.key_text import check_chosen_key, digest_of, mask_of, new_key
from memstrata.directory.membership import may_administer, require_team
from memstrata.directory.verification import Verification
from memstrata.errors import Conflict, Forbidden, InvalidRequest, NotFound, Unauthorized
from memstrata.ids import directory_id
from memstrata.records.audit import Change
from memstrata.records.people import User, UserKey, UserType
from memstrata.records.scope import check_id
from memstrata.settings import DirectorySettings
from memstrata.store.audit import audited
from memstrata.store.directory import DirectoryPage, UserFilter, Window
from memstrata.store.protocol import Repositories, Store

__all__ = ["NewUser", "People", "add_user", "named_user"]

DEFAULT_KEY_NAME = "default"


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user with the key that is shown this once."""

    user: User
    key: str


class People:
    """All that can be done with users."""

    def __init__(self, store: Store, clock: Clock, settings: DirectorySettings, verification: Verification) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._verification = verification

    async def caller(self, instance: str, key: str, *, source: str = "") -> tuple[User, UserKey]:
        """Return whose key it is. Raises Unauthorized, Forbidden; see `Verification.caller`."""
        return await self._verification.caller(instance, key, source)

    async def verify(self, instance: str, key: str, *, source: str = "") -> User | None:
        """Return whose key it is, None for a key that opens nothing. Raises Unauthorized for an address that guesses."""
        try:
            user, _ = await self._verification.caller(instance, key, source)
        except Forbidden:
            return None
        except Unauthorized as error:
            if error.retry_after is not None:
                raise
            return None
        return user

    async def create(
        self, instance: str, caller: User, *, username: str, user_id: str | None = None, key: str | None = None
    ) -> NewUser:
        """Add a user with a default key, the given one or a new one. For the system administrator.

        Raises Forbidden; InvalidRequest; Conflict for an id or a key that exists, and past the limit of users.
        """
        _require_admin(caller)
        chosen_id = None if user_id is None else check_id(user_id, "user_id")
        check_id(username, "username")
        chosen_key = None if key is None else check_chosen_key(key)
        now = self._clock.now()

        def work(r: Repositories) -> NewUser:
            if r.users.count(instance) >= self._settings.max_users:
                raise Conflict(f"user_limit_exceeded: at most {self._settings.max_users} users in an instance")
            return add_user(r, instance, username, now, user_id=chosen_id, key=chosen_key)

        return await self._store.write(
            audited(work, now, lambda new: Change(instance, "user.create", ids={"user": [new.user.user_id]}))
        )

    async def get(self, instance: str, caller: User, *, user_id: str | None = None, key: str | None = None) -> User:
        """Return a user by id or by key: oneself, or anybody to the system administrator. Raises NotFound."""
        if user_id is None and key is None:
            raise InvalidRequest("invalid_request: give user_id or user_key")

        def work(r: Repositories) -> User:
            asked = named_user(r, instance, user_id, key)
            user = None if asked is None else r.users.get(instance, asked)
            if user is None or not _may_ask_about(caller, user.user_id):
                raise NotFound("user_not_found: there is no such user, or not for you")
            return user

        return await self._store.read(work)

    async def delete(self, instance: str, caller: User, user_ids: Sequence[str]) -> Batch:
        """Remove users with their keys, memberships, settings and grants. For the system administrator.

        Their agents, tasks and assets stay with the team, whose administrators decide about them. Raises Conflict, and
        removes nobody, if the system administrator is among them.
        """
        _require_admin(caller)
        chosen = tuple(dict.fromkeys(user_ids))

        def work(r: Repositories) -> Batch:
            found = {one: r.users.get(instance, one) for one in chosen}
            if any(user is not None and user.is_admin for user in found.values()):
                raise Conflict("last_system_admin: the system administrator cannot be removed")
            deleted = tuple(one for one in chosen if r.users.remove(instance, one))
            return Batch(deleted, tuple(NotDeleted(one, "user_not_found") for one in chosen if one not in deleted))

        result = await self._store.write(audited(work, self._clock.now(), lambda done: _deleted(instance, done)))
        self._verification.changed()
        return result

    async def list(self, instance: str, caller: User, where: UserFilter, window: Window) -> DirectoryPage[User]:
        """Return users: all to the system administrator, a team's to its administrators, only oneself to others.

        Raises InvalidRequest: `missing_team_id`, and `filter_not_allowed` to members; NotFound for a team not seen.
        """

        def work(r: Repositories) -> DirectoryPage[User]:
            return r.users.page(instance, _visible(r, instance, caller, where), window)

        return await self._store.read(work)

    async def of_instance(self, instance: str, where: UserFilter, window: Window) -> DirectoryPage[User]:
        """Return users to the operator, who is nobody's user."""
        return await self._store.read(lambda r: r.users.page(instance, where, window))


def add_user(
    r: Repositories,
    instance: str,
    username: str,
    now: Instant,
    *,
    user_type: UserType = "normal",
    user_id: str | None = None,
    key: str | None = None,
) -> NewUser:
    """Add a user and a default key within a transaction. Raises Conflict for an id or a key that exists."""
    user = User(user_id or directory_id("usr", now), user_type, username, "active", now, now)
    text = key or new_key()
    if r.users.get(instance, user.user_id) is not None:
        raise Conflict("duplicate_entry: there is a user of that user_id")
    if r.user_keys.owner(instance, digest_of(text)) is not None:
        raise Conflict("duplicate_user_key: choose another key")
    r.users.add(instance, user)
    first = UserKey(directory_id("uky", now), user.user_id, mask_of(text), DEFAULT_KEY_NAME, True, now)
    r.user_keys.add(instance, first, digest_of(text))
    return NewUser(user, text)


def named_user(r: Repositories, instance: str, user_id: str | None, key: str | None) -> str | None:
    """Return the id that a request names directly or by a key; None for a key of nobody."""
    if user_id is not None or key is None:
        return user_id
    found = r.user_keys.owner(instance, digest_of(key))
    return None if found is None else found[1].user_id


def _visible(r: Repositories, instance: str, caller: User, where: UserFilter) -> UserFilter:
    """What of a filter a caller may ask for."""
    if caller.is_admin:
        return where
    if where.team_id is None:
        raise InvalidRequest("missing_team_id: name a team; only the system administrator sees all users")
    team = require_team(r, instance, where.team_id, caller)
    if may_administer(r, instance, team, caller.user_id):
        return where
    if where.user_ids is not None or where.username is not None:
        raise InvalidRequest("filter_not_allowed: only the team's administrators may look for users")
    return replace(where, user_ids=(caller.user_id,))


def _deleted(instance: str, done: Batch) -> Change | None:
    return Change(instance, "user.delete", ids={"user": done.deleted_ids}) if done.deleted_ids else None


def _may_ask_about(caller: User, user_id: str) -> bool:
    return caller.is_admin or caller.user_id == user_id


def _require_admin(caller: User) -> None:
    if not caller.is_admin:
        raise Forbidden("permission_denied: only the system administrator may do this")
