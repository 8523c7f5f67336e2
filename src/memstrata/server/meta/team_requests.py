"""What the routes about teams and their members accept. Source: wire contract §5.2."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from memstrata.records.people import MemberRole, MemberStatus, TeamStatus
from memstrata.server.meta.call import Id, MetaRequest, PagedRequest

__all__ = [
    "MemberAdd",
    "MemberList",
    "MemberNamed",
    "TeamCreate",
    "TeamDelete",
    "TeamList",
    "TeamNamed",
    "TeamUpdate",
]

Name = Annotated[str, Meta(min_length=1, max_length=512)]
Ids = Annotated[list[Id], Meta(min_length=1, max_length=100)]


class TeamCreate(MetaRequest, kw_only=True, frozen=True):
    """`/team/create`."""

    name: Name
    owner_user_id: Id
    description: str | None = None
    status: TeamStatus | None = None
    metadata_json: msgspec.Raw = msgspec.Raw()


class TeamNamed(MetaRequest, kw_only=True, frozen=True):
    """`/team/get`."""

    team_id: Id


class TeamUpdate(TeamNamed, kw_only=True, frozen=True):
    """`/team/update`."""

    name: Name | None = None
    description: str | None = None
    status: TeamStatus | None = None
    metadata_json: msgspec.Raw = msgspec.Raw()


class TeamDelete(MetaRequest, kw_only=True, frozen=True):
    """`/team/delete`."""

    team_ids: Ids


class TeamList(PagedRequest, kw_only=True, frozen=True):
    """`/team/list`."""

    user_id: Id | None = None
    user_key: Id | None = None
    name: str | None = None


class MemberNamed(TeamNamed, kw_only=True, frozen=True):
    """`/team-member/get` and `/team-member/remove`."""

    user_id: Id


class MemberAdd(MemberNamed, kw_only=True, frozen=True):
    """`/team-member/add`."""

    role: MemberRole | None = None
    status: MemberStatus | None = None


class MemberList(PagedRequest, kw_only=True, frozen=True):
    """`/team-member/list`."""

    team_id: Id
