"""What a user gets to see of a single asset, and whose memory an asset is."""

from __future__ import annotations

from memstrata.clock import Instant
from memstrata.directory.ownership import require_owner
from memstrata.errors import Forbidden, NotFound
from memstrata.records.assets import Asset, AssetType, chat_memory_id
from memstrata.records.people import User
from memstrata.store.protocol import Repositories

__all__ = ["MEMORY_PREFIX", "hidden_types", "memory_of", "require_agent_of", "require_asset", "require_own_asset"]

MEMORY_PREFIX = "chat_memory-"
_KINDS: tuple[AssetType, ...] = ("skill", "llm_wiki", "code_graph", "chat_memory")


def require_asset(r: Repositories, instance: str, asset_id: str, caller: User, now: Instant) -> Asset:
    """Return an asset to whoever may read it; to its owner and the system administrator in any state. Raises NotFound."""
    asset = r.assets.get(instance, asset_id)
    if asset is None or not _may_see(r, instance, asset, caller, now):
        raise NotFound(f"asset_not_found: {asset_id[:128]}")
    return asset


def require_own_asset(r: Repositories, instance: str, asset_id: str, caller: User, now: Instant) -> Asset:
    """Return an asset to whoever may change it. Raises NotFound, or Forbidden to those who may only read it."""
    asset = r.assets.get(instance, asset_id)
    if asset is None:
        raise NotFound(f"asset_not_found: {asset_id[:128]}")
    try:
        require_owner(r, instance, asset.owner_user_id, asset.team_id, caller)
    except Forbidden:
        require_asset(r, instance, asset_id, caller, now)
        raise
    return asset


def memory_of(r: Repositories, instance: str, asset: Asset) -> str | None:
    """Return the agent whose memory an asset is; None for any other asset.

    Its id must be that of a live agent of its own team and of its own owner: nobody gets at a memory by registering an
    asset that sounds like it.
    """
    agent_id = asset.asset_id.removeprefix(f"{MEMORY_PREFIX}{asset.team_id}-")
    if asset.asset_type != "chat_memory" or asset.asset_id != chat_memory_id(asset.team_id, agent_id):
        return None
    agent = r.agents.get(instance, agent_id)
    if agent is None or (agent.team_id, agent.owner_user_id) != (asset.team_id, asset.owner_user_id):
        return None
    return agent_id


def require_agent_of(r: Repositories, instance: str, agent_id: str, user_id: str, caller: User) -> None:
    """Raise NotFound unless the user may work with the agent: what an agent is let into is not for everyone to borrow."""
    known = r.agents.get(instance, agent_id) if caller.is_admin else r.agents.seen(instance, agent_id, user_id)
    if known is None:
        raise NotFound(f"agent_not_found: {agent_id[:128]}")


def hidden_types(r: Repositories, instance: str, user_id: str) -> tuple[AssetType, ...]:
    """Return the kinds of assets that a user has switched off (§5.6)."""
    values = r.params.of(instance, user_id, "asset_type")
    return tuple(kind for kind in _KINDS if values.get(f"{kind}.enabled") == "0")


def _may_see(r: Repositories, instance: str, asset: Asset, caller: User, now: Instant) -> bool:
    if caller.is_admin or asset.owner_user_id == caller.user_id:
        return True
    return r.assets.reason(instance, asset.asset_id, caller.user_id, "read", None, now)[0]
