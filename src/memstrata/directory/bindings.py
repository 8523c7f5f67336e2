"""What is bound to an agent: the assets that it always has. Source: wire contract §5.5.

Who binds must be able to read the asset, and every reading asks again: a binding gives nobody a right. An agent's own
memory stays bound whatever a list says, and of other agents' memories it has at most two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memstrata.clock import Clock, Instant
from memstrata.directory.agents import require_agent
from memstrata.directory.asset_access import hidden_types
from memstrata.directory.ownership import require_owner
from memstrata.errors import Conflict, InvalidRequest, NotFound
from memstrata.ids import relation_id
from memstrata.records.agents import Agent
from memstrata.records.assets import Asset, AssetType, Binding, InjectionMode, chat_memory_id
from memstrata.records.audit import Change
from memstrata.records.people import User
from memstrata.store.audit import audited
from memstrata.store.directory import DirectoryPage, Window
from memstrata.store.protocol import Repositories, Store

__all__ = ["MAX_BINDINGS", "MAX_BORROWED", "AgentAssets", "BindingMode", "Wanted", "bindable"]

MAX_BINDINGS = 1_000
MAX_BORROWED = 2  # memories of other agents

BindingMode = Literal["replace", "add", "remove"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """An asset to be bound, and how the agent is given it."""

    asset_id: str
    asset_type: AssetType
    injection_mode: InjectionMode = "summary"
    priority: int = 50


class AgentAssets:
    """All that can be done with bindings. Every verb is one transaction."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def set(
        self, instance: str, caller: User, agent_id: str, wanted: Sequence[Wanted], mode: BindingMode = "replace"
    ) -> None:
        """Bind these to an agent of the caller's: in the place of all others, besides them, or no longer.

        Raises NotFound, Forbidden; InvalidRequest for a wrong type; Conflict for an id twice or what cannot be bound.
        """
        if len({one.asset_id for one in wanted}) < len(wanted):
            raise Conflict("duplicate_entry: an asset is bound once")
        now = self._clock.now()

        def work(r: Repositories) -> None:
            agent = require_agent(r, instance, agent_id, caller)
            require_owner(r, instance, agent.owner_user_id, agent.team_id, caller)
            present = {one.asset_id: one for one in r.assets.bindings(instance, agent_id, Window(MAX_BINDINGS)).items}
            given = {one.asset_id for one in wanted}
            if mode == "remove":
                chosen = [one for one in present.values() if one.asset_id not in given]
            else:
                kept = [one for one in present.values() if mode == "add" and one.asset_id not in given]
                bound = [self._bound(r, instance, caller, agent, one, present.get(one.asset_id), now) for one in wanted]
                chosen = kept + bound
            r.assets.bind(instance, agent_id, _whole(agent, chosen, present))

        bound = Change(instance, f"binding.{mode}", agent=agent_id, ids={"asset": [one.asset_id for one in wanted]})
        await self._store.write(audited(work, now, bound))

    async def page(self, instance: str, caller: User, agent_id: str, window: Window) -> DirectoryPage[Binding]:
        """Return an agent's bindings: all to its owner, to others those of assets that they may read."""
        now = self._clock.now()

        def work(r: Repositories) -> DirectoryPage[Binding]:
            agent = require_agent(r, instance, agent_id, caller)
            if caller.is_admin or agent.owner_user_id == caller.user_id:
                return r.assets.bindings(instance, agent_id, window)
            seen = r.assets.bound(instance, agent_id, caller.user_id, window, now)
            return DirectoryPage(tuple(binding for binding, _ in seen.items), seen.total)

        return await self._store.read(work)

    async def detailed(
        self, instance: str, caller: User, agent_id: str, window: Window, *, as_anybody: bool, touch: bool
    ) -> tuple[Agent, DirectoryPage[tuple[Binding, Asset]]]:
        """Return an agent and the assets it has, none that is archived, expired, or switched off by the caller.

        Only what the caller may read; the system administrator sees all unless `as_anybody`. `touch` notes the use.
        """
        now = self._clock.now()
        viewer = None if caller.is_admin and not as_anybody else caller.user_id

        def work(r: Repositories) -> tuple[Agent, DirectoryPage[tuple[Binding, Asset]]]:
            agent = require_agent(r, instance, agent_id, caller)
            hidden = hidden_types(r, instance, caller.user_id)
            found = r.assets.bound(instance, agent_id, viewer, window, now, hidden)
            if touch:
                r.assets.touch(instance, [asset.asset_id for _, asset in found.items], now)
            return agent, found

        return await (self._store.write(work) if touch else self._store.read(work))

    async def counts(
        self, instance: str, caller: User, agent_ids: Sequence[str], asset_id: str | None
    ) -> Mapping[str, Mapping[AssetType, int]]:
        """Return how many assets of each type agents have, as far as the caller may see; nothing of hidden agents."""
        now = self._clock.now()
        viewer = None if caller.is_admin else caller.user_id

        def work(r: Repositories) -> Mapping[str, Mapping[AssetType, int]]:
            known = [one for one in agent_ids if viewer is None or r.agents.seen(instance, one, viewer) is not None]
            return r.assets.counts(instance, known, asset_id, viewer, now)

        return await self._store.read(work)

    def _bound(
        self,
        r: Repositories,
        instance: str,
        caller: User,
        agent: Agent,
        wanted: Wanted,
        present: Binding | None,
        now: Instant,
    ) -> Binding:
        asset = r.assets.get(instance, wanted.asset_id)
        if asset is None:
            raise NotFound(f"asset_not_found: {wanted.asset_id[:128]}")
        if present is None:
            allowed, why = r.assets.reason(instance, asset.asset_id, caller.user_id, "read", agent.agent_id, now)
            if not allowed and asset.owner_user_id != caller.user_id:
                raise NotFound(f"asset_not_found: {wanted.asset_id[:128]}")
            if not allowed or not bindable(asset, agent):
                raise Conflict(
                    f"asset_not_bindable: {wanted.asset_id[:128]} ({why if not allowed else asset.visibility})"
                )
        if asset.asset_type != wanted.asset_type:
            raise InvalidRequest(f"asset_type_mismatch: {wanted.asset_id[:128]} is of type {asset.asset_type}")
        if present is not None:
            return replace(present, injection_mode=wanted.injection_mode, priority=wanted.priority)
        how = (wanted.injection_mode, wanted.priority, caller.user_id, now)
        return Binding(relation_id(), agent.agent_id, asset.asset_id, asset.asset_type, *how)


def bindable(asset: Asset, agent: Agent) -> bool:
    """Return whether an agent may have an asset at all: one of its team, and a private one only of its own owner's."""
    if asset.team_id != agent.team_id:
        return False
    return asset.visibility in ("team", "agent") or (
        asset.visibility == "private" and asset.owner_user_id == agent.owner_user_id
    )


def _whole(agent: Agent, chosen: Sequence[Binding], present: Mapping[str, Binding]) -> list[Binding]:
    """Return what an agent is to have: what was chosen, and its own memory in any case. Raises Conflict past the limits."""
    own = chat_memory_id(agent.team_id, agent.agent_id)
    whole = list(chosen)
    if own in present and all(one.asset_id != own for one in chosen):
        whole.append(present[own])
    if sum(one.asset_type == "chat_memory" and one.asset_id != own for one in whole) > MAX_BORROWED:
        raise Conflict(f"asset_not_bindable: an agent may borrow at most {MAX_BORROWED} memories of other agents")
    if len(whole) > MAX_BINDINGS:
        raise Conflict(f"asset_not_bindable: an agent may have at most {MAX_BINDINGS} assets")
    return whole
