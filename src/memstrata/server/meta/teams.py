"""`/team/*` and `/team-member/*`. Source: wire contract §5.2."""

from __future__ import annotations

from memstrata.clock import to_iso
from memstrata.directory.teams import NewTeam, TeamChange
from memstrata.records.people import Member, Team
from memstrata.server.envelope import Data
from memstrata.server.meta.batch import shown_batch
from memstrata.server.meta.call import MetaCall, MetaRoute, paged
from memstrata.server.meta.metadata import NO_METADATA, given_metadata, shown_metadata
from memstrata.server.meta.team_requests import (
    MemberAdd,
    MemberList,
    MemberNamed,
    TeamCreate,
    TeamDelete,
    TeamList,
    TeamNamed,
    TeamUpdate,
)

__all__ = ["TEAM_ROUTES"]


async def create(call: MetaCall[TeamCreate]) -> Data:
    """Make a team."""
    request = call.request
    new = NewTeam(
        name=request.name,
        owner_user_id=request.owner_user_id,
        description=request.description or "",
        status=request.status or "active",
        metadata=given_metadata(request.metadata_json) or NO_METADATA,
    )
    return _team(await call.memory.directory.teams.create(call.instance, call.caller, new))


async def get(call: MetaCall[TeamNamed]) -> Data:
    """Answer with one team."""
    return _team(await call.memory.directory.teams.get(call.instance, call.caller, call.request.team_id))


async def update(call: MetaCall[TeamUpdate]) -> Data:
    """Change a team."""
    request = call.request
    change = TeamChange(request.name, request.description, request.status, given_metadata(request.metadata_json))
    return _team(await call.memory.directory.teams.update(call.instance, call.caller, request.team_id, change))


async def delete(call: MetaCall[TeamDelete]) -> Data:
    """Remove teams with all that is theirs."""
    return shown_batch(await call.memory.directory.teams.delete(call.instance, call.caller, call.request.team_ids))


async def list_teams(call: MetaCall[TeamList]) -> Data:
    """Answer with a page of a user's teams."""
    request = call.request
    page = await call.memory.directory.teams.page(
        call.instance, call.caller, request.window, user_id=request.user_id, key=request.user_key, name=request.name
    )
    return paged(page, request.window, _team)


async def add_member(call: MetaCall[MemberAdd]) -> Data:
    """Take a user in, or give a member another role."""
    request = call.request
    member = await call.memory.directory.members.add(
        call.instance,
        call.caller,
        request.team_id,
        request.user_id,
        role=request.role or "member",
        status=request.status or "active",
    )
    return _member(member)


async def remove_member(call: MetaCall[MemberNamed]) -> Data:
    """Put a member out."""
    request = call.request
    await call.memory.directory.members.remove(call.instance, call.caller, request.team_id, request.user_id)
    return {"ok": True}


async def list_members(call: MetaCall[MemberList]) -> Data:
    """Answer with a page of a team's members."""
    request = call.request
    page = await call.memory.directory.members.page(call.instance, call.caller, request.team_id, request.window)
    return paged(page, request.window, _named_member)


async def get_member(call: MetaCall[MemberNamed]) -> Data:
    """Answer with one member."""
    request = call.request
    members = call.memory.directory.members
    return _named_member(await members.get(call.instance, call.caller, request.team_id, request.user_id))


def _team(team: Team) -> Data:
    return {
        "team_id": team.team_id,
        "name": team.name,
        "description": team.description,
        "owner_user_id": team.owner_user_id,
        "status": team.status,
        "created_at": to_iso(team.created_at),
        "updated_at": to_iso(team.updated_at),
        "metadata_json": shown_metadata(team.metadata),
    }


def _member(member: Member) -> Data:
    return {
        "id": member.member_id,
        "team_id": member.team_id,
        "user_id": member.user_id,
        "role": member.role,
        "joined_at": to_iso(member.joined_at),
        "status": member.status,
    }


def _named_member(member: Member) -> Data:
    return {**_member(member), "username": member.username}


TEAM_ROUTES: tuple[MetaRoute, ...] = (
    MetaRoute("/v3/meta/team/create", TeamCreate, create),
    MetaRoute("/v3/meta/team/get", TeamNamed, get),
    MetaRoute("/v3/meta/team/update", TeamUpdate, update),
    MetaRoute("/v3/meta/team/delete", TeamDelete, delete),
    MetaRoute("/v3/meta/team/list", TeamList, list_teams),
    MetaRoute("/v3/meta/team-member/add", MemberAdd, add_member),
    MetaRoute("/v3/meta/team-member/remove", MemberNamed, remove_member),
    MetaRoute("/v3/meta/team-member/list", MemberList, list_members),
    MetaRoute("/v3/meta/team-member/get", MemberNamed, get_member),
)
