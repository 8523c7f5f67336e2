"""`asset/*`: what agents can be given. Source: wire contract §5.5."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from memstrata.clock import to_iso
from memstrata.directory.assets import AssetChange, AssetQuery, NewAsset, Reach
from memstrata.errors import InvalidRequest
from memstrata.records.agents import Visibility
from memstrata.records.assets import Asset, AssetStatus, AssetType, Permission
from memstrata.server.envelope import Data
from memstrata.server.meta.batch import shown_batch
from memstrata.server.meta.call import Id, MetaCall, MetaRequest, MetaRoute, PagedRequest, paged
from memstrata.server.meta.metadata import NO_METADATA, given_metadata, shown_metadata

__all__ = ["ASSET_ROUTES"]

Name = Annotated[str, Meta(min_length=1)]
Version = Annotated[int, Meta(ge=1, le=2**53 - 1)]
Confidence = Annotated[float, Meta(ge=-1e308, le=1e308)]  # what JSON can write: no infinity


class AssetCreate(MetaRequest, kw_only=True, frozen=True):
    """`asset/create`."""

    asset_id: Id
    team_id: Id
    asset_type: AssetType
    name: Name
    owner_user_id: Id
    source_type: Name
    description: str | None = None
    source_ref: str | None = None
    visibility: Visibility | None = None
    status: AssetStatus | None = None
    confidence: Confidence | None = None
    expires_at: str | None = None
    content_ref: str | None = None
    metadata_json: msgspec.Raw = msgspec.Raw()


class AssetNamed(MetaRequest, kw_only=True, frozen=True):
    """`asset/get` and `asset/touch-usage`."""

    asset_id: Id


class AssetUpdate(MetaRequest, kw_only=True, frozen=True):
    """`asset/update`. `expires_at: ""` is for ever."""

    asset_id: Id
    name: Name | None = None
    description: str | None = None
    visibility: Visibility | None = None
    status: AssetStatus | None = None
    confidence: Confidence | None = None
    expires_at: str | None = None
    content_ref: str | None = None
    version: Version | None = None
    source_ref: str | None = None
    metadata_json: msgspec.Raw = msgspec.Raw()


class AssetDelete(MetaRequest, kw_only=True, frozen=True):
    """`asset/delete`."""

    asset_ids: Annotated[list[Id], Meta(min_length=1, max_length=100)]


class AssetList(PagedRequest, kw_only=True, frozen=True):
    """`asset/list`."""

    team_id: Id
    asset_type: AssetType | None = None
    status: AssetStatus | None = None
    owner_user_id: Id | None = None
    visibility: Visibility | None = None


class AssetListAccessible(PagedRequest, kw_only=True, frozen=True):
    """`asset/list-accessible`."""

    user_id: Id | None = None
    user_key: Id | None = None
    team_id: Id | None = None
    action: Permission | None = None
    asset_type: AssetType | None = None
    agent_id: Id | None = None
    visibility: Visibility | Annotated[list[Visibility], Meta(max_length=5)] | None = None


async def _create(call: MetaCall[AssetCreate]) -> Data:
    request = call.request
    new = NewAsset(
        asset_id=request.asset_id,
        team_id=request.team_id,
        asset_type=request.asset_type,
        name=request.name,
        owner_user_id=request.owner_user_id,
        source_type=request.source_type,
        description=request.description or "",
        source_ref=request.source_ref or "",
        visibility=request.visibility or "team",
        status=request.status or "draft",
        confidence=request.confidence,
        expires_at=request.expires_at or "",
        content_ref=request.content_ref or "",
        metadata=given_metadata(request.metadata_json) or NO_METADATA,
    )
    return _shown(await call.memory.directory.assets.create(call.instance, call.caller, new))


async def _get(call: MetaCall[AssetNamed]) -> Data:
    return _shown(await call.memory.directory.assets.get(call.instance, call.caller, call.request.asset_id))


async def _update(call: MetaCall[AssetUpdate]) -> Data:
    request = call.request
    change = AssetChange(
        name=request.name,
        description=request.description,
        visibility=request.visibility,
        status=request.status,
        confidence=request.confidence,
        expires_at=request.expires_at,
        content_ref=request.content_ref,
        version=request.version,
        source_ref=request.source_ref,
        metadata=given_metadata(request.metadata_json),
    )
    return _shown(await call.memory.directory.assets.update(call.instance, call.caller, request.asset_id, change))


async def _delete(call: MetaCall[AssetDelete]) -> Data:
    return shown_batch(await call.memory.directory.assets.delete(call.instance, call.caller, call.request.asset_ids))


async def _list(call: MetaCall[AssetList]) -> Data:
    request = call.request
    where = AssetQuery(request.team_id, request.asset_type, request.status, request.owner_user_id, request.visibility)
    page = await call.memory.directory.assets.page(call.instance, call.caller, where, request.window)
    return paged(page, request.window, _shown)


async def _list_accessible(call: MetaCall[AssetListAccessible]) -> Data:
    request = call.request
    if request.user_id is None and request.user_key is None:
        raise InvalidRequest("invalid_request: name a user by user_id or user_key")
    wanted = (request.visibility,) if isinstance(request.visibility, str) else request.visibility
    where = Reach(
        user_id=request.user_id,
        key=request.user_key,
        team_id=request.team_id,
        action=request.action or "read",
        asset_type=request.asset_type,
        agent_id=request.agent_id,
        visibilities=None if wanted is None else tuple(wanted),
    )
    page = await call.memory.directory.assets.accessible(call.instance, call.caller, where, request.window)
    return paged(page, request.window, _shown)


async def _touch(call: MetaCall[AssetNamed]) -> Data:
    await call.memory.directory.assets.touch(call.instance, call.caller, call.request.asset_id)
    return {"ok": True}


def _shown(asset: Asset) -> dict[str, Any]:
    return {
        "asset_id": asset.asset_id,
        "team_id": asset.team_id,
        "asset_type": asset.asset_type,
        "name": asset.name,
        "description": asset.description,
        "owner_user_id": asset.owner_user_id,
        "source_type": asset.source_type,
        "source_ref": asset.source_ref,
        "version": asset.version,
        "visibility": asset.visibility,
        "status": asset.status,
        "confidence": asset.confidence,
        "expires_at": asset.expires_at or None,
        "last_used_at": None if asset.last_used_at is None else to_iso(asset.last_used_at),
        "usage_count": asset.usage_count,
        "content_ref": asset.content_ref,
        "created_at": to_iso(asset.created_at),
        "updated_at": to_iso(asset.updated_at),
        "metadata_json": shown_metadata(asset.metadata),
    }


ASSET_ROUTES: tuple[MetaRoute, ...] = (
    MetaRoute("/v3/meta/asset/create", AssetCreate, _create),
    MetaRoute("/v3/meta/asset/get", AssetNamed, _get),
    MetaRoute("/v3/meta/asset/update", AssetUpdate, _update),
    MetaRoute("/v3/meta/asset/delete", AssetDelete, _delete),
    MetaRoute("/v3/meta/asset/list", AssetList, _list),
    MetaRoute("/v3/meta/asset/list-accessible", AssetListAccessible, _list_accessible),
    MetaRoute("/v3/meta/asset/touch-usage", AssetNamed, _touch),
)
