"""`agent-fixed-asset/*`: what is bound to agents. Source: wire contract §5.5.

`mode` is ours: `add` and `remove` change a few bindings without writing back a list of which only one page was read.
"""

from __future__ import annotations

from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta

from memstrata.clock import to_iso
from memstrata.directory.bindings import MAX_BINDINGS, BindingMode, Wanted
from memstrata.directory.service_url import service_url
from memstrata.records.assets import Asset, AssetType, Binding, InjectionMode
from memstrata.server.envelope import Data
from memstrata.server.meta.call import Id, MetaCall, MetaRequest, MetaRoute, PagedRequest, paged

__all__ = ["BINDING_ROUTES"]

Priority = Annotated[int, Meta(ge=-(2**53) + 1, le=2**53 - 1)]


class WantedBinding(msgspec.Struct, kw_only=True, frozen=True):
    """One asset to be bound. Who bound it is the caller; a `created_by` is not looked at."""

    asset_id: Id
    asset_type: AssetType
    injection_mode: InjectionMode | None = None
    priority: Priority | None = None


class BindingsSet(MetaRequest, kw_only=True, frozen=True):
    """`agent-fixed-asset/set`."""

    agent_id: Id
    bindings: Annotated[list[WantedBinding], Meta(max_length=MAX_BINDINGS)]
    mode: BindingMode | None = None


class BindingsList(PagedRequest, kw_only=True, frozen=True):
    """`agent-fixed-asset/list`."""

    agent_id: Id


class BindingsDetailed(PagedRequest, kw_only=True, frozen=True):
    """`agent-fixed-asset/list-with-detail`."""

    agent_id: Id
    apply_visibility_filter: bool | None = None
    touch_usage: bool | None = None


class BindingsSummary(MetaRequest, kw_only=True, frozen=True):
    """`agent-fixed-asset/summary-by-agents`."""

    agent_ids: Annotated[list[Id], Meta(min_length=1, max_length=100)]
    asset_id: Id | None = None


async def _set(call: MetaCall[BindingsSet]) -> Data:
    request = call.request
    wanted = [
        Wanted(
            one.asset_id, one.asset_type, one.injection_mode or "summary", 50 if one.priority is None else one.priority
        )
        for one in request.bindings
    ]
    bindings = call.memory.directory.bindings
    await bindings.set(call.instance, call.caller, request.agent_id, wanted, request.mode or "replace")
    return {"ok": True}


async def _list(call: MetaCall[BindingsList]) -> Data:
    request = call.request
    page = await call.memory.directory.bindings.page(call.instance, call.caller, request.agent_id, request.window)
    return paged(page, request.window, _shown)


async def _list_with_detail(call: MetaCall[BindingsDetailed]) -> Data:
    request = call.request
    agent, page = await call.memory.directory.bindings.detailed(
        call.instance,
        call.caller,
        request.agent_id,
        request.window,
        as_anybody=request.apply_visibility_filter or False,
        touch=request.touch_usage or False,
    )
    about = {
        "agent_id": agent.agent_id,
        "team_id": agent.team_id,
        "owner_user_id": agent.owner_user_id,
        "prompt": agent.prompt,
        "visibility": agent.visibility,
        "status": agent.status,
    }
    return {"agent": about, **paged(page, request.window, _shown_asset)}


async def _summary(call: MetaCall[BindingsSummary]) -> Data:
    request = call.request
    found = await call.memory.directory.bindings.counts(
        call.instance, call.caller, list(dict.fromkeys(request.agent_ids)), request.asset_id
    )
    items = []
    for agent_id in request.agent_ids:
        counted = found.get(agent_id, {})
        counts = {kind: counted.get(kind, 0) for kind in get_args(AssetType)}
        items.append({"agent_id": agent_id, "counts": counts, "total": sum(counts.values())})
    return {"items": items, "total": len(items)}


def _shown(binding: Binding) -> dict[str, Any]:
    return {
        "id": binding.binding_id,
        "agent_id": binding.agent_id,
        "asset_id": binding.asset_id,
        "asset_type": binding.asset_type,
        "injection_mode": binding.injection_mode,
        "priority": binding.priority,
        "created_by": binding.created_by,
        "created_at": to_iso(binding.created_at),
    }


def _shown_asset(bound: tuple[Binding, Asset]) -> dict[str, Any]:
    binding, asset = bound
    shown = {
        "asset_id": asset.asset_id,
        "asset_type": asset.asset_type,
        "name": asset.name,
        "description": asset.description,
        "status": asset.status,
        "visibility": asset.visibility,
        "injection_mode": binding.injection_mode,
        "priority": binding.priority,
        "created_at": to_iso(binding.created_at),
    }
    url = service_url(asset)
    return shown if url is None else shown | {"service_url": url}


BINDING_ROUTES: tuple[MetaRoute, ...] = (
    MetaRoute("/v3/meta/agent-fixed-asset/set", BindingsSet, _set),
    MetaRoute("/v3/meta/agent-fixed-asset/list", BindingsList, _list),
    MetaRoute("/v3/meta/agent-fixed-asset/list-with-detail", BindingsDetailed, _list_with_detail),
    MetaRoute("/v3/meta/agent-fixed-asset/summary-by-agents", BindingsSummary, _summary),
)
