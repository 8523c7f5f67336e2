"""`/user/*`, `/auth/verify`, and what only the operator may ask about users. Source: wire contract §5.1 and §5.7."""

from __future__ import annotations

from memstrata.clock import to_iso
from memstrata.directory.people import NewUser
from memstrata.records.people import User
from memstrata.server.envelope import Data
from memstrata.server.meta.batch import shown_batch
from memstrata.server.meta.call import MetaCall, MetaRoute, paged
from memstrata.server.meta.people_requests import (
    AdminInit,
    AuthVerify,
    InstanceUsers,
    UserCreate,
    UserCreateWithKey,
    UserDelete,
    UserGet,
    UserList,
)
from memstrata.store.directory import UserFilter

__all__ = ["PEOPLE_ROUTES"]


async def create(call: MetaCall[UserCreate]) -> Data:
    """Add a user; the answer is the only one that has the key."""
    people, request = call.memory.directory.people, call.request
    new = await people.create(call.instance, call.caller, username=request.username, user_id=request.user_id)
    return _new_user(new)


async def create_with_key(call: MetaCall[UserCreateWithKey]) -> Data:
    """The same with a key that the administrator chose."""
    people, request = call.memory.directory.people, call.request
    new = await people.create(call.instance, call.caller, username=request.username, key=request.user_key)
    return _new_user(new)


async def get(call: MetaCall[UserGet]) -> Data:
    """Answer with one user."""
    people, request = call.memory.directory.people, call.request
    return _user(await people.get(call.instance, call.caller, user_id=request.user_id, key=request.user_key))


async def delete(call: MetaCall[UserDelete]) -> Data:
    """Remove users."""
    return shown_batch(await call.memory.directory.people.delete(call.instance, call.caller, call.request.user_ids))


async def list_users(call: MetaCall[UserList]) -> Data:
    """Answer with a page of the users that the caller may see."""
    request = call.request
    where = UserFilter(request.team_id, _ids(request.user_ids), request.username)
    page = await call.memory.directory.people.list(call.instance, call.caller, where, request.window)
    return paged(page, request.window, _user)


async def verify(call: MetaCall[AuthVerify]) -> Data:
    """Say whose key it is. A key that opens nothing is a good question with the answer no."""
    user = await call.memory.directory.people.verify(call.instance, call.request.user_key, source=call.source)
    return {"valid": user is not None, "user": None if user is None else _user(user)}


async def init_admin(call: MetaCall[AdminInit]) -> Data:
    """Add the administrator of an instance that has no user yet."""
    request, bootstrap = call.request, call.memory.directory.bootstrap
    admin = await bootstrap.init_admin(call.instance, username=request.username, key=request.user_key)
    return {"user_id": admin.user.user_id, "user_key": admin.key}


async def list_by_instance(call: MetaCall[InstanceUsers]) -> Data:
    """Answer with a page of all users, whoever asks: it is the operator."""
    request = call.request
    where = UserFilter(user_ids=_ids(request.user_ids), status=request.status, user_type=request.user_type)
    page = await call.memory.directory.people.of_instance(call.instance, where, request.window)
    return paged(page, request.window, _full_user)


def _ids(ids: list[str] | None) -> tuple[str, ...] | None:
    return None if ids is None else tuple(ids)


def _user(user: User) -> Data:
    return {
        "user_id": user.user_id,
        "user_type": user.user_type,
        "username": user.username,
        "created_at": to_iso(user.created_at),
    }


def _full_user(user: User) -> Data:
    """What the contract's rows have and ours have not, because nobody logs in from elsewhere, is null."""
    nothing = dict.fromkeys(
        ("auth_provider", "external_id", "display_name", "email", "raw_profile_json", "metadata_json")
    )
    return {**_user(user), "status": user.status, "updated_at": to_iso(user.updated_at), **nothing}


def _new_user(new: NewUser) -> Data:
    return {
        "user_id": new.user.user_id,
        "user_type": new.user.user_type,
        "created_at": to_iso(new.user.created_at),
        "default_user_key": new.key,
    }


PEOPLE_ROUTES: tuple[MetaRoute, ...] = (
    MetaRoute("/v3/meta/auth/verify", AuthVerify, verify),
    MetaRoute("/v3/meta/user/create", UserCreate, create),
    MetaRoute("/v3/meta/user/create-with-key", UserCreateWithKey, create_with_key),
    MetaRoute("/v3/meta/user/get", UserGet, get),
    MetaRoute("/v3/meta/user/delete", UserDelete, delete),
    MetaRoute("/v3/meta/user/list", UserList, list_users),
    MetaRoute("/v3/internal/meta/user/init-admin", AdminInit, init_admin),
    MetaRoute("/v3/internal/meta/user/list-by-instance", InstanceUsers, list_by_instance),
)
