"""What holds for whom: policies of parts of an instance, the narrowest first, at last the settings."""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.clock import Clock
from memstrata.records import Page, Scope
from memstrata.records.audit import Change
from memstrata.records.policy import Policy
from memstrata.store.audit import audited
from memstrata.store.protocol import Store

__all__ = ["PolicyBook", "PolicyInForce"]


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """The rules for a scope, or a part of an instance. `retention_days` 0: for ever."""

    redact_secrets: bool
    retention_days: int


class PolicyBook:
    """Reads and sets policies. `retention_days` and `redacts` hold where none says otherwise."""

    def __init__(self, store: Store, clock: Clock, retention_days: int, *, redacts: bool = True) -> None:
        self._store = store
        self._clock = clock
        self._settings = PolicyInForce(redacts, retention_days)

    async def in_force(self, scope: Scope) -> PolicyInForce:
        """Return the rules for a scope."""
        return await self.in_force_for(scope.instance, scope.team, scope.agent, scope.user)

    async def in_force_for(self, instance: str, team: str = "", agent: str = "", user: str = "") -> PolicyInForce:
        """Return the rules for a part of an instance: what holds there where nothing narrower is set."""
        said = await self._store.read(lambda r: r.policies.effective(instance, team, agent, user))
        usual = self._settings
        return PolicyInForce(
            usual.redact_secrets if said.redact_secrets is None else said.redact_secrets,
            usual.retention_days if said.retention_days is None else said.retention_days,
        )

    async def one(self, instance: str, team: str = "", agent: str = "", user: str = "") -> Policy | None:
        """Return what is set for exactly this part, None if nothing is."""
        return await self._store.read(lambda r: r.policies.one(instance, team, agent, user))

    async def set(
        self,
        instance: str,
        team: str = "",
        agent: str = "",
        user: str = "",
        *,
        redact_secrets: bool | None = None,
        retention_days: int | None = None,
        operator: str = "library",
    ) -> Policy | None:
        """Set what holds for a part, in place of what was set; None leaves a rule to the wider part.

        Returns None where no rule is left. Raises InvalidRequest. Shorter days take effect with the next daily run.
        """
        policy = Policy(instance, team, agent, user, redact_secrets, retention_days, operator, self._clock.now())
        changed = Change(instance, "policy.set", team, agent, user)
        await self._store.write(audited(lambda r: r.policies.put(policy), policy.updated_at, changed))
        return None if redact_secrets is None and retention_days is None else policy

    async def page(self, instance: str, *, limit: int = 20, offset: int = 0) -> Page[Policy]:
        """Return what is set in an instance, the widest first."""
        items, total = await self._store.read(lambda r: r.policies.page(instance, limit, offset))
        return Page(items, total)
