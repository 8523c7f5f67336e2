"""`/instance-quota/get` and `/config/user/*`: limits and what users set for themselves. Source: wire contract §5.6."""

from __future__ import annotations

from memstrata.server.envelope import Data
from memstrata.server.meta.call import MetaCall, MetaRoute
from memstrata.server.meta.people_requests import ConfigGet, ConfigSet, QuotaGet

__all__ = ["CONFIGURATION_ROUTES"]


async def quota(call: MetaCall[QuotaGet]) -> Data:
    """Answer with the limits of an instance."""
    return dict(call.memory.directory.configuration.quota)


async def get(call: MetaCall[ConfigGet]) -> Data:
    """Answer with the values of a module that are in force for the caller."""
    request, configuration = call.request, call.memory.directory.configuration
    module, values = await configuration.get(
        call.instance, call.caller, request.user_id, request.module, request.param_name
    )
    items = [
        {
            "module": module.name,
            "param_name": param.name,
            "param_key": f"{module.name}.{param.name}",
            "description": param.description,
            "effective_value": value,
        }
        for param, value in values
    ]
    return {
        "user_id": request.user_id,
        "module": module.name,
        "module_description": module.description,
        "items": items,
    }


async def set_values(call: MetaCall[ConfigSet]) -> Data:
    """Set values of a module for the caller."""
    request, configuration = call.request, call.memory.directory.configuration
    await configuration.set(call.instance, call.caller, request.user_id, request.module, request.params)
    return {"ok": True}


CONFIGURATION_ROUTES: tuple[MetaRoute, ...] = (
    MetaRoute("/v3/meta/instance-quota/get", QuotaGet, quota),
    MetaRoute("/v3/meta/config/user/get", ConfigGet, get),
    MetaRoute("/v3/meta/config/user/set", ConfigSet, set_values),
)
