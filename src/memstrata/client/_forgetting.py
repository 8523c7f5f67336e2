"""What calls about forgetting and policies answer with. Read as tolerantly as `_results`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memstrata.client._results import Data

__all__ = ["Forgettable", "ForgettingReceipt", "Policy", "PolicyState"]


@dataclass(frozen=True, slots=True)
class Forgettable:
    """What would go: how much of each layer, and the first hundred ids of each."""

    counts: Mapping[str, int]
    session_ids: tuple[str, ...]
    message_ids: tuple[str, ...]
    memory_ids: tuple[str, ...]
    scene_paths: tuple[str, ...]

    @classmethod
    def read(cls, data: Data) -> Forgettable:
        ids = (tuple(data.get(name, ())) for name in ("session_ids", "message_ids", "memory_ids", "scene_paths"))
        return cls(dict(data["counts"]), *ids)


@dataclass(frozen=True, slots=True)
class ForgettingReceipt:
    """What went. `complete` once no byte of it is left in the server's files; ask again until then."""

    id: str
    counts: Mapping[str, int]
    complete: bool
    at: str
    selector: Mapping[str, Any]

    @classmethod
    def read(cls, data: Data) -> ForgettingReceipt:
        return cls(
            data["forgetting_id"], dict(data["counts"]), data["complete"], data.get("at", ""), data.get("selector", {})
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """What is set for a part of an instance; empty names stand for all. None leaves a rule to the wider part."""

    team: str
    agent: str
    user: str
    redact_secrets: bool | None
    retention_days: int | None

    @classmethod
    def read(cls, data: Data) -> Policy:
        return cls(
            data.get("team_id", ""),
            data.get("agent_id", ""),
            data.get("user_id", ""),
            data.get("redact_secrets"),
            data.get("l0_l1_retention_days"),
        )


@dataclass(frozen=True, slots=True)
class PolicyState:
    """What is set for exactly a part (None: nothing), and what holds there. `retention_days` 0: for ever."""

    policy: Policy | None
    redact_secrets: bool
    retention_days: int

    @classmethod
    def read(cls, data: Data) -> PolicyState:
        policy, holds = data.get("policy"), data["in_force"]
        return cls(
            None if policy is None else Policy.read(policy), holds["redact_secrets"], holds["l0_l1_retention_days"]
        )
