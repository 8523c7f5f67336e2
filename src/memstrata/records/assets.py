"""What agents may draw on: assets, their binding to agents, and grants to them. Source: wire contract §5.5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memstrata.clock import Instant
from memstrata.records.agents import Visibility

__all__ = [
    "Asset",
    "AssetStatus",
    "AssetType",
    "Binding",
    "Grant",
    "GrantEffect",
    "InjectionMode",
    "Permission",
    "SubjectType",
    "chat_memory_id",
]

AssetType = Literal["skill", "llm_wiki", "code_graph", "chat_memory"]
AssetStatus = Literal["draft", "candidate", "approved", "deprecated", "archived", "failed", "active"]
"""`active` is what the contract's reference gives assets that it makes itself; ours do not use it and accept it."""

InjectionMode = Literal["direct", "summary", "tool", "reference"]
SubjectType = Literal["user", "team_role", "agent"]
Permission = Literal["read", "write", "delete", "assign", "share", "use"]
GrantEffect = Literal["allow", "deny"]


def chat_memory_id(team_id: str, agent_id: str) -> str:
    """Return the id of the asset that is an agent's own memory."""
    return f"chat_memory-{team_id}-{agent_id}"


@dataclass(frozen=True, slots=True)
class Asset:
    """Something an agent can be given: its memory, or a skill, wiki or code graph that lives elsewhere."""

    asset_id: str
    team_id: str
    asset_type: AssetType
    name: str
    description: str
    owner_user_id: str
    source_type: str
    source_ref: str
    version: int
    visibility: Visibility
    status: AssetStatus
    confidence: float | None
    expires_at: str  # as it was given, '' for never
    last_used_at: Instant | None
    usage_count: int
    content_ref: str
    metadata: str
    created_at: Instant
    updated_at: Instant


@dataclass(frozen=True, slots=True)
class Binding:
    """An asset that an agent always has."""

    binding_id: str
    agent_id: str
    asset_id: str
    asset_type: AssetType
    injection_mode: InjectionMode
    priority: int
    created_by: str
    created_at: Instant


@dataclass(frozen=True, slots=True)
class Grant:
    """A line of an asset's access list. A deny wins over every allow."""

    grant_id: str
    asset_id: str
    subject_type: SubjectType
    subject_id: str  # a user id, a role of the asset's team, or an agent id
    permission: Permission
    effect: GrantEffect
    granted_by: str
    created_at: Instant
    updated_at: Instant
