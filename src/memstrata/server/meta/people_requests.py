"""What the routes about users, their keys and their settings accept. Source: wire contract §5.1, §5.6, §5.7."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from memstrata.records.people import UserStatus, UserType
from memstrata.server.meta.call import Id, MetaRequest, PagedRequest

__all__ = [
    "AdminInit",
    "AuthVerify",
    "ConfigGet",
    "ConfigSet",
    "InstanceUsers",
    "KeyCreate",
    "KeyList",
    "KeyNamed",
    "KeyUpdate",
    "QuotaGet",
    "UserCreate",
    "UserCreateWithKey",
    "UserDelete",
    "UserGet",
    "UserList",
]

MAX_BATCH = 100

KeyText = Annotated[str, Meta(min_length=1, max_length=512)]
Ids = Annotated[list[Id], Meta(min_length=1, max_length=MAX_BATCH)]
SomeIds = Annotated[list[Id], Meta(max_length=MAX_BATCH)]
Values = Annotated[dict[str, str], Meta(max_length=32)]


class UserCreate(MetaRequest, kw_only=True, frozen=True):
    """`/user/create`."""

    username: Id
    user_id: Id | None = None


class UserCreateWithKey(MetaRequest, kw_only=True, frozen=True):
    """`/user/create-with-key`."""

    username: Id
    user_key: KeyText


class UserGet(MetaRequest, kw_only=True, frozen=True):
    """`/user/get`."""

    user_id: Id | None = None
    user_key: KeyText | None = None


class UserDelete(MetaRequest, kw_only=True, frozen=True):
    """`/user/delete`."""

    user_ids: Ids


class UserList(PagedRequest, kw_only=True, frozen=True):
    """`/user/list`."""

    team_id: Id | None = None
    user_ids: SomeIds | None = None
    username: Id | None = None


class KeyCreate(MetaRequest, kw_only=True, frozen=True):
    """`/user-key/create`."""

    user_id: Id | None = None
    name: str | None = None
    expires_at: str | None = None


class KeyList(PagedRequest, kw_only=True, frozen=True):
    """`/user-key/list`."""

    user_id: Id | None = None


class KeyNamed(MetaRequest, kw_only=True, frozen=True):
    """`/user-key/get` and `/user-key/revoke`."""

    key_id: Id


class KeyUpdate(KeyNamed, kw_only=True, frozen=True):
    """`/user-key/update`. Here null is not absent: it lets the key hold for ever."""

    name: str | None = None
    expires_at: str | UnsetType | None = UNSET


class AuthVerify(MetaRequest, kw_only=True, frozen=True):
    """`/auth/verify`."""

    user_key: KeyText


class QuotaGet(MetaRequest, kw_only=True, frozen=True):
    """`/instance-quota/get`."""


class ConfigGet(MetaRequest, kw_only=True, frozen=True):
    """`/config/user/get`."""

    user_id: Id
    module: str
    param_name: str | None = None


class ConfigSet(MetaRequest, kw_only=True, frozen=True):
    """`/config/user/set`."""

    user_id: Id
    module: str
    params: Values


class AdminInit(MetaRequest, kw_only=True, frozen=True):
    """`/v3/internal/meta/user/init-admin`."""

    username: Id
    user_key: KeyText | None = None
    instance_id: Id | None = None


class InstanceUsers(PagedRequest, kw_only=True, frozen=True):
    """`/v3/internal/meta/user/list-by-instance`."""

    instance_id: Id | None = None
    status: UserStatus | None = None
    user_type: UserType | None = None
    user_ids: SomeIds | None = None
