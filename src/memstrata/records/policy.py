"""Rules for a part of an instance: what is kept for how long, and whether secrets are taken out first."""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.clock import Instant
from memstrata.errors import InvalidRequest
from memstrata.records.scope import MAX_ID, check_id

__all__ = ["MAX_RETENTION_DAYS", "EffectivePolicy", "Policy"]

MAX_RETENTION_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules set for one part of an instance. An empty team, agent or user: for all of them.

    None leaves a rule to the next wider part, at last to the settings. `retention_days` is how long messages and memories
    are kept, 0 for ever. Raises InvalidRequest for ids that are none and for days out of range.
    """

    instance: str
    team: str = ""
    agent: str = ""
    user: str = ""
    redact_secrets: bool | None = None
    retention_days: int | None = None
    updated_by: str = ""
    updated_at: Instant = 0

    def __post_init__(self) -> None:
        check_id(self.instance, "instance")
        for part in ("team", "agent", "user"):
            if value := getattr(self, part):
                check_id(value, part, MAX_ID)
        if self.retention_days is not None and not 0 <= self.retention_days <= MAX_RETENTION_DAYS:
            raise InvalidRequest(f"expected 0 to {MAX_RETENTION_DAYS}", field="l0_l1_retention_days")


@dataclass(frozen=True, slots=True)
class EffectivePolicy:
    """The rules in force for a scope. None: no policy says, the settings do."""

    redact_secrets: bool | None = None
    retention_days: int | None = None
