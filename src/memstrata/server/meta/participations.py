"""`participation-log/*`: who worked on what with which agent. Source: wire contract §5.4."""

from __future__ import annotations

from typing import Any

import msgspec

from memstrata.clock import Instant, from_iso, to_iso
from memstrata.directory.participations import NewParticipation
from memstrata.records.agents import Participation
from memstrata.server.envelope import Data
from memstrata.server.meta.call import Id, MetaCall, MetaRequest, MetaRoute, PagedRequest, paged
from memstrata.server.meta.metadata import NO_METADATA, given_metadata, shown_metadata
from memstrata.store.directory import ParticipationFilter

__all__ = ["PARTICIPATION_ROUTES"]


class ParticipationAppend(MetaRequest, kw_only=True, frozen=True):
    """`participation-log/append`."""

    team_id: Id
    task_id: Id
    agent_id: Id
    user_id: Id
    created_at: str | None = None
    source: str | None = None
    metadata_json: msgspec.Raw = msgspec.Raw()


class ParticipationList(PagedRequest, kw_only=True, frozen=True):
    """`participation-log/list`. Both ends of the stretch of time are inclusive."""

    team_id: Id
    task_id: Id | None = None
    agent_id: Id | None = None
    user_id: Id | None = None
    created_after: str | None = None
    created_before: str | None = None
    dedupe: bool | None = None


async def _append(call: MetaCall[ParticipationAppend]) -> Data:
    request = call.request
    new = NewParticipation(
        team_id=request.team_id,
        task_id=request.task_id,
        agent_id=request.agent_id,
        user_id=request.user_id,
        created_at=_instant(request.created_at, "created_at"),
        source=request.source or "",
        metadata=given_metadata(request.metadata_json) or NO_METADATA,
    )
    return _shown(await call.memory.directory.participations.append(call.instance, call.caller, new))


async def _list(call: MetaCall[ParticipationList]) -> Data:
    request = call.request
    where = ParticipationFilter(
        team_id=request.team_id,
        task_id=request.task_id,
        agent_id=request.agent_id,
        user_id=request.user_id,
        since=_instant(request.created_after, "created_after"),
        until=_instant(request.created_before, "created_before"),
        dedupe=request.dedupe or False,
    )
    page = await call.memory.directory.participations.page(call.instance, call.caller, where, request.window)
    return paged(page, request.window, _shown)


def _instant(text: str | None, field: str) -> Instant | None:
    return None if text is None else from_iso(text, field=field)


def _shown(line: Participation) -> dict[str, Any]:
    return {
        "id": line.log_id,
        "team_id": line.team_id,
        "task_id": line.task_id,
        "agent_id": line.agent_id,
        "user_id": line.user_id,
        "source": line.source,
        "metadata_json": shown_metadata(line.metadata),
        "created_at": to_iso(line.created_at),
        "updated_at": to_iso(line.updated_at),
    }


PARTICIPATION_ROUTES: tuple[MetaRoute, ...] = (
    MetaRoute("/v3/meta/participation-log/append", ParticipationAppend, _append),
    MetaRoute("/v3/meta/participation-log/list", ParticipationList, _list),
)
