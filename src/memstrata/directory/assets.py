"""Assets of a team: who may register one, see it, change it and let it go.

What the owner of an asset may do is the owner's alone; what others may do with it is decided in the store's SQL, see
`Assets.reason`. An archived or expired asset is there for its owner only. Who may not read an asset is told that there is
none. Source: wire contract §5.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from memstrata.clock import Clock, Instant
from memstrata.directory.agents import ForgetAgents
from memstrata.directory.asset_access import (
    MEMORY_PREFIX,
    hidden_types,
    memory_of,
    require_agent_of,
    require_asset,
    require_own_asset,
)
from memstrata.directory.batch import Batch
from memstrata.directory.label import checked_label
from memstrata.directory.membership import require_member, require_team
from memstrata.directory.people import named_user
from memstrata.errors import Conflict, Forbidden, InvalidRequest, NotFound
from memstrata.records.agents import Visibility
from memstrata.records.assets import Asset, AssetStatus, AssetType, Permission
from memstrata.records.audit import Change
from memstrata.records.people import User
from memstrata.records.scope import check_id
from memstrata.store.audit import audited
from memstrata.store.directory import AssetFilter, DirectoryPage, Window
from memstrata.store.protocol import Repositories, Store
from memstrata.text.wellformed import well_formed

__all__ = [
    "AssetChange",
    "AssetQuery",
    "NewAsset",
    "Reach",
    "TeamAssets",
    "expiry",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class NewAsset:
    """An asset to be registered. `metadata` is JSON text, `expires_at` a time as `expiry` reads it, '' for never."""

    asset_id: str
    team_id: str
    asset_type: AssetType
    name: str
    owner_user_id: str
    source_type: str
    description: str = ""
    source_ref: str = ""
    visibility: Visibility = "team"
    status: AssetStatus = "draft"
    confidence: float | None = None
    expires_at: str = ""
    content_ref: str = ""
    metadata: str = "null"


@dataclass(frozen=True, slots=True)
class AssetChange:
    """What is to be different. None: as it is. `expires_at`: '' for never."""

    name: str | None = None
    description: str | None = None
    visibility: Visibility | None = None
    status: AssetStatus | None = None
    confidence: float | None = None
    expires_at: str | None = None
    content_ref: str | None = None
    version: int | None = None
    source_ref: str | None = None
    metadata: str | None = None

    def of(self, asset: Asset, now: Instant) -> Asset:
        """Return the changed asset. Raises InvalidRequest."""
        return replace(
            asset,
            name=asset.name if self.name is None else checked_label(self.name),
            description=asset.description if self.description is None else well_formed(self.description),
            visibility=self.visibility or asset.visibility,
            status=self.status or asset.status,
            confidence=asset.confidence if self.confidence is None else self.confidence,
            expires_at=asset.expires_at if self.expires_at is None else self.expires_at,
            content_ref=asset.content_ref if self.content_ref is None else well_formed(self.content_ref),
            version=self.version or asset.version,
            source_ref=asset.source_ref if self.source_ref is None else well_formed(self.source_ref),
            metadata=asset.metadata if self.metadata is None else self.metadata,
            updated_at=now,
        )


@dataclass(frozen=True, slots=True)
class AssetQuery:
    """Which assets of a team to list."""

    team_id: str
    asset_type: AssetType | None = None
    status: AssetStatus | None = None
    owner_user_id: str | None = None
    visibility: Visibility | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """What a user could do something with: named by id or by key, alone or with an agent."""

    user_id: str | None = None
    key: str | None = None
    team_id: str | None = None
    action: Permission = "read"
    asset_type: AssetType | None = None
    agent_id: str | None = None
    visibilities: tuple[Visibility, ...] | None = None


class TeamAssets:
    """All that can be done with assets. Every verb is one transaction; `forget_agents` is told after it."""

    def __init__(self, store: Store, clock: Clock, forget_agents: ForgetAgents) -> None:
        self._store = store
        self._clock = clock
        self._forget_agents = forget_agents

    async def create(self, instance: str, caller: User, new: NewAsset) -> Asset:
        """Register an asset of the caller's own. Raises Forbidden, NotFound, InvalidRequest, Conflict for a known id.

        The id of an agent's memory is for that agent's owner only: who has the asset decides who reads the memory.
        """
        if new.owner_user_id != caller.user_id:
            raise Forbidden("permission_denied: an asset's first owner is who registers it")
        asset = _new_asset(new, self._clock.now())
        expires = expiry(new.expires_at)

        def work(r: Repositories) -> Asset:
            require_member(r, instance, new.team_id, caller)
            if new.asset_id.startswith(MEMORY_PREFIX) and memory_of(r, instance, asset) is None:
                raise Forbidden("permission_denied: ids in chat_memory- are those of one's own agents' memories")
            if r.assets.get(instance, new.asset_id) is not None:
                raise Conflict(f"duplicate_entry: there is an asset {new.asset_id[:128]}")
            r.assets.add(instance, asset, expires)
            return asset

        return await self._store.write(audited(work, asset.created_at, _told(instance, "asset.create", asset)))

    async def get(self, instance: str, caller: User, asset_id: str) -> Asset:
        """Return an asset to whoever may read it. Raises NotFound."""
        now = self._clock.now()
        return await self._store.read(lambda r: require_asset(r, instance, asset_id, caller, now))

    async def update(self, instance: str, caller: User, asset_id: str, change: AssetChange) -> Asset:
        """Change an asset of the caller's. Raises NotFound, Forbidden, InvalidRequest."""
        now = self._clock.now()

        def work(r: Repositories) -> Asset:
            asset = change.of(require_own_asset(r, instance, asset_id, caller, now), now)
            r.assets.replace(instance, asset, expiry(asset.expires_at))
            return asset

        return await self._store.write(audited(work, now, lambda asset: _told(instance, "asset.update", asset)))

    async def delete(self, instance: str, caller: User, asset_ids: Sequence[str]) -> Batch:
        """Remove assets with their bindings and grants, and what an agent remembers with the asset that stands for it.

        All of those that the caller may see must be the caller's, or none goes: Forbidden. One that is not there, or
        not to be seen, counts as deleted, as in the contract.
        """
        now = self._clock.now()
        wanted = tuple(dict.fromkeys(asset_ids))

        def work(r: Repositories) -> tuple[list[str], list[str]]:
            gone: list[str] = []
            emptied: list[str] = []
            for one in wanted:
                try:
                    asset = require_own_asset(r, instance, one, caller, now)
                except NotFound:
                    continue
                agent_id = memory_of(r, instance, asset)
                if agent_id is not None:
                    r.erasure.agent(instance, asset.team_id, agent_id)
                    emptied.append(one)
                r.assets.remove(instance, one)
                gone.append(one)
            return gone, emptied

        def told(done: tuple[list[str], list[str]]) -> Change | None:
            return Change(instance, "asset.delete", ids={"asset": done[0]}) if done[0] else None

        _, emptied = await self._store.write(audited(work, now, told))
        await self._forget_agents(instance, emptied)
        return Batch(wanted)

    async def page(self, instance: str, caller: User, where: AssetQuery, window: Window) -> DirectoryPage[Asset]:
        """Return those of a team's assets that the caller may read. Raises NotFound for a team not to be seen."""
        now = self._clock.now()
        chosen = AssetFilter(
            viewer=None if caller.is_admin else caller.user_id,
            team_id=where.team_id,
            asset_type=where.asset_type,
            status=where.status,
            owner_user_id=where.owner_user_id,
            visibilities=None if where.visibility is None else (where.visibility,),
        )

        def work(r: Repositories) -> DirectoryPage[Asset]:
            require_team(r, instance, where.team_id, caller)
            return r.assets.page(instance, chosen, window, now)

        return await self._store.read(work)

    async def accessible(self, instance: str, caller: User, where: Reach, window: Window) -> DirectoryPage[Asset]:
        """Return the assets that a user may do something with, none that is of no use any more or switched off.

        For oneself; the system administrator may ask about anybody. Raises Forbidden, NotFound, InvalidRequest.
        """
        now = self._clock.now()

        def work(r: Repositories) -> DirectoryPage[Asset]:
            user_id = named_user(r, instance, where.user_id, where.key)
            if user_id is None or (user_id != caller.user_id and not caller.is_admin):
                raise Forbidden("permission_denied: what others may use is their own business")
            if where.agent_id is not None:
                require_agent_of(r, instance, where.agent_id, user_id, caller)
            chosen = AssetFilter(
                viewer=user_id,
                action=where.action,
                team_id=where.team_id,
                asset_type=where.asset_type,
                visibilities=where.visibilities,
                agent_id=where.agent_id,
                hidden_types=hidden_types(r, instance, user_id),
                usable=True,
            )
            return r.assets.page(instance, chosen, window, now)

        return await self._store.read(work)

    async def touch(self, instance: str, caller: User, asset_id: str) -> None:
        """Note that an asset of the caller's was used. Raises NotFound, Forbidden."""
        now = self._clock.now()

        def work(r: Repositories) -> None:
            require_own_asset(r, instance, asset_id, caller, now)
            r.assets.touch(instance, [asset_id], now)

        await self._store.write(work)


def expiry(text: str) -> Instant | None:
    """Read when an asset expires: an ISO-8601 date or time, in UTC where it names no zone; None for never.

    Raises InvalidRequest for anything else, because an end that nobody can read would never come.
    """
    if not text.strip():
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        return (moment - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise InvalidRequest(f"expected an ISO-8601 time, got {text[:40]!r}", field="expires_at") from None


def _told(instance: str, action: str, asset: Asset) -> Change:
    return Change(instance, action, asset.team_id, ids={"asset": [asset.asset_id]})


def _new_asset(new: NewAsset, now: Instant) -> Asset:
    return Asset(
        asset_id=check_id(new.asset_id, "asset_id"),
        team_id=new.team_id,
        asset_type=new.asset_type,
        name=checked_label(new.name),
        description=well_formed(new.description),
        owner_user_id=new.owner_user_id,
        source_type=well_formed(new.source_type),
        source_ref=well_formed(new.source_ref),
        version=1,
        visibility=new.visibility,
        status=new.status,
        confidence=new.confidence,
        expires_at=new.expires_at,
        last_used_at=None,
        usage_count=0,
        content_ref=well_formed(new.content_ref),
        metadata=new.metadata,
        created_at=now,
        updated_at=now,
    )
