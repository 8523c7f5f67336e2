"""`/user-key/*`: keys, of which only the answer that makes one has the text. Source: wire contract §5.1."""

from __future__ import annotations

from msgspec import UNSET

from memstrata.clock import Instant, from_iso, to_iso
from memstrata.directory.keys import KeyChange
from memstrata.records.people import UserKey
from memstrata.server.envelope import Data
from memstrata.server.meta.call import MetaCall, MetaRoute, paged
from memstrata.server.meta.people_requests import KeyCreate, KeyList, KeyNamed, KeyUpdate

__all__ = ["KEY_ROUTES"]


async def create(call: MetaCall[KeyCreate]) -> Data:
    """Make a key."""
    request = call.request
    new = await call.memory.directory.keys.create(
        call.instance,
        call.caller,
        user_id=request.user_id,
        name=request.name,
        expires_at=_instant(request.expires_at),
    )
    return {**_key(new.key), "key_value": new.text}


async def list_keys(call: MetaCall[KeyList]) -> Data:
    """Answer with a page of a user's keys."""
    request = call.request
    page = await call.memory.directory.keys.list(call.instance, call.caller, request.user_id, request.window)
    return paged(page, request.window, _key)


async def get(call: MetaCall[KeyNamed]) -> Data:
    """Answer with one key."""
    return _key(await call.memory.directory.keys.get(call.instance, call.caller, call.request.key_id))


async def revoke(call: MetaCall[KeyNamed]) -> Data:
    """Let a key open nothing any more."""
    await call.memory.directory.keys.revoke(call.instance, call.caller, call.request.key_id)
    return {"ok": True}


async def update(call: MetaCall[KeyUpdate]) -> Data:
    """Rename a key, or let it end at another time or never."""
    request = call.request
    expires_at = None if request.expires_at is UNSET else _instant(request.expires_at)
    change = KeyChange(request.name, expires_at, keeps_expiry=request.expires_at is UNSET)
    return _key(await call.memory.directory.keys.update(call.instance, call.caller, request.key_id, change))


def _instant(text: str | None) -> Instant | None:
    return None if text is None else from_iso(text, field="expires_at")


def _key(key: UserKey) -> Data:
    """A revoked key has no row, so those that are shown are active, past their time or not."""
    return {
        "key_id": key.key_id,
        "user_id": key.user_id,
        "key_prefix": key.mask,
        "name": key.name,
        "status": "active",
        "is_default": key.is_default,
        "last_used_at": None if key.last_used_at is None else to_iso(key.last_used_at),
        "expires_at": None if key.expires_at is None else to_iso(key.expires_at),
        "created_at": to_iso(key.created_at),
        "revoked_at": None,
    }


KEY_ROUTES: tuple[MetaRoute, ...] = (
    MetaRoute("/v3/meta/user-key/create", KeyCreate, create),
    MetaRoute("/v3/meta/user-key/list", KeyList, list_keys),
    MetaRoute("/v3/meta/user-key/get", KeyNamed, get),
    MetaRoute("/v3/meta/user-key/revoke", KeyNamed, revoke),
    MetaRoute("/v3/meta/user-key/update", KeyUpdate, update),
)
