"""The keys of users: made, shown once, renamed, revoked. Source: wire contract §5.1.

A key that is not one's own does not exist for anybody but the system administrator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memstrata.clock import Clock, Instant
from memstrata.directory.key_text import digest_of, mask_of, new_key
from memstrata.directory.verification import Verification
from memstrata.errors import Conflict, Forbidden, InvalidRequest, NotFound
from memstrata.ids import directory_id
from memstrata.records.audit import Change
from memstrata.records.people import User, UserKey
from memstrata.settings import DirectorySettings
from memstrata.store.audit import audited
from memstrata.store.directory import DirectoryPage, Window
from memstrata.store.protocol import Repositories, Store
from memstrata.text.wellformed import well_formed

__all__ = ["KeyChange", "Keys", "NewKey"]

MAX_NAME = 128


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key with its text, which is shown this once."""

    key: UserKey
    text: str


@dataclass(frozen=True, slots=True)
class KeyChange:
    """What becomes of a key. None leaves the name; `keeps_expiry` leaves the time, else None is for ever."""

    name: str | None = None
    expires_at: Instant | None = None
    keeps_expiry: bool = True


class Keys:
    """All that can be done with keys."""

    def __init__(self, store: Store, clock: Clock, settings: DirectorySettings, verification: Verification) -> None:
        self._store = store
        self._clock = clock
        self._most = settings.max_active_keys
        self._verification = verification

    async def create(
        self,
        instance: str,
        caller: User,
        *,
        user_id: str | None = None,
        name: str | None = None,
        expires_at: Instant | None = None,
    ) -> NewKey:
        """Make a key for oneself, or as system administrator for anybody.

        Raises Forbidden, NotFound; InvalidRequest for a name or a time that cannot be; Conflict `key_limit_exceeded`.
        """
        now, owner = self._clock.now(), user_id or caller.user_id
        _check_expiry(expires_at, now)
        text = new_key()
        shown_name = "" if name is None else _name(name)
        key = UserKey(directory_id("uky", now), owner, mask_of(text), shown_name, False, now, expires_at)

        def work(r: Repositories) -> NewKey:
            _require_owner(r, instance, caller, owner)
            self._check_room(r, instance, owner, now)
            r.user_keys.add(instance, key, digest_of(text))
            return NewKey(key, text)

        made = Change(instance, "key.create", user=owner, ids={"key": [key.key_id]})
        return await self._store.write(audited(work, now, made))

    async def list(self, instance: str, caller: User, user_id: str | None, window: Window) -> DirectoryPage[UserKey]:
        """Return a user's keys. Raises Forbidden, NotFound."""
        owner = user_id or caller.user_id

        def work(r: Repositories) -> DirectoryPage[UserKey]:
            _require_owner(r, instance, caller, owner)
            return r.user_keys.page(instance, owner, window)

        return await self._store.read(work)

    async def get(self, instance: str, caller: User, key_id: str) -> UserKey:
        """Return a key. Raises NotFound."""
        return await self._store.read(lambda r: _own_key(r, instance, caller, key_id))

    async def revoke(self, instance: str, caller: User, key_id: str) -> None:
        """Remove a key, which opens nothing from then on. Raises NotFound, Conflict for the last one that is active."""
        now = self._clock.now()

        def work(r: Repositories) -> None:
            key = _own_key(r, instance, caller, key_id)
            if key.holds_at(now) and r.user_keys.active(instance, key.user_id, now) <= 1:
                raise Conflict("last_key_cannot_revoke: make another key first")
            r.user_keys.remove(instance, key_id)

        gone = Change(instance, "key.revoke", ids={"key": [key_id]})
        await self._store.write(audited(work, now, gone))
        self._verification.changed()

    async def update(self, instance: str, caller: User, key_id: str, change: KeyChange) -> UserKey:
        """Rename a key, or let it end at another time. Raises NotFound, InvalidRequest for a time that is over."""
        now = self._clock.now()
        _check_expiry(change.expires_at, now)
        name = None if change.name is None else _name(change.name)

        def work(r: Repositories) -> UserKey:
            old = _own_key(r, instance, caller, key_id)
            changed = replace(
                old,
                name=old.name if name is None else name,
                expires_at=old.expires_at if change.keeps_expiry else change.expires_at,
            )
            if not old.holds_at(now) and changed.holds_at(now):
                self._check_room(r, instance, old.user_id, now)
            r.user_keys.replace(instance, changed)
            return changed

        changed = await self._store.write(audited(work, now, Change(instance, "key.update", ids={"key": [key_id]})))
        self._verification.changed()
        return changed

    def _check_room(self, r: Repositories, instance: str, user_id: str, now: Instant) -> None:
        if r.user_keys.active(instance, user_id, now) >= self._most:
            raise Conflict(f"key_limit_exceeded: at most {self._most} active keys for a user")


def _own_key(r: Repositories, instance: str, caller: User, key_id: str) -> UserKey:
    key = r.user_keys.get(instance, key_id)
    if key is None or not (caller.is_admin or key.user_id == caller.user_id):
        raise NotFound("user_key_not_found: there is no such key, or not for you")
    return key


def _require_owner(r: Repositories, instance: str, caller: User, user_id: str) -> None:
    if not (caller.is_admin or user_id == caller.user_id):
        raise Forbidden("permission_denied: the keys of others are the system administrator's business")
    if r.users.get(instance, user_id) is None:
        raise NotFound("user_not_found: there is no such user")


def _check_expiry(expires_at: Instant | None, now: Instant) -> None:
    if expires_at is not None and expires_at <= now:
        raise InvalidRequest("is over already; revoke the key instead", field="expires_at")


def _name(name: str) -> str:
    text = well_formed(name)
    if not 1 <= len(text) <= MAX_NAME:
        raise InvalidRequest(f"1 to {MAX_NAME} characters, got {len(text)}", field="name")
    return text
