"""The lines of an export that are rows of one table, column by column: directory, rules, prompts, costs, receipts.

The fields of a class are the columns of its table in order, `instance` aside, which the header has. A test compares them
with the schema, so a new column cannot be left out unnoticed.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from memstrata.records.archive import ArchiveLine, Count, Hash, Id, Name, Text, Time

__all__ = [
    "AgentLine",
    "AssetLine",
    "BindingLine",
    "ForgettingLine",
    "GrantLine",
    "ParticipationLine",
    "PolicyLine",
    "PromptChangeLine",
    "PromptLine",
    "PromptSettingLine",
    "SpendingLine",
    "TableLine",
    "TaskAgentLine",
    "TaskLine",
    "TeamLine",
    "TeamMemberLine",
    "UserKeyLine",
    "UserLine",
    "UserParamLine",
]

Flag = Annotated[int, Meta(ge=0, le=1)]
Number = Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]


class UserLine(ArchiveLine, tag="user", frozen=True):
    """Somebody."""

    user_id: Id
    user_type: Id
    username: Name
    status: Id
    created_at: Time
    updated_at: Time


class UserKeyLine(ArchiveLine, tag="user_key", frozen=True):
    """A key as it is stored: its hash. Who holds the key can use it wherever this line was imported."""

    key_id: Id
    user_id: Id
    digest: Hash
    mask: Name
    name: Name
    is_default: Flag
    created_at: Time
    expires_at: Time | None
    last_used_at: Time | None


class TeamLine(ArchiveLine, tag="team", frozen=True):
    """A team."""

    team_id: Id
    name: Name
    description: Text
    owner_user_id: Name
    status: Id
    metadata: Text
    created_at: Time
    updated_at: Time


class TeamMemberLine(ArchiveLine, tag="team_member", frozen=True):
    """Who is in a team, and as what."""

    team_id: Id
    user_id: Id
    member_id: Id
    role: Id
    status: Id
    joined_at: Time


class UserParamLine(ArchiveLine, tag="user_param", frozen=True):
    """A setting that a user made."""

    user_id: Id
    module: Name
    name: Name
    value: Text


class AgentLine(ArchiveLine, tag="agent", frozen=True):
    """An agent."""

    agent_id: Id
    team_id: Name
    owner_user_id: Name
    name: Name
    description: Text
    prompt: Text
    visibility: Id
    status: Id
    metadata: Text
    created_at: Time
    updated_at: Time


class TaskLine(ArchiveLine, tag="task", frozen=True):
    """A task."""

    task_id: Id
    team_id: Name
    creator_user_id: Name
    title: Name
    description: Text
    source_type: Name
    source_url: Text
    status: Id
    auto_assign: Flag
    risk_level: Name
    metadata: Text
    created_at: Time
    updated_at: Time


class TaskAgentLine(ArchiveLine, tag="task_agent", frozen=True):
    """An agent at a task."""

    task_id: Id
    agent_id: Id
    link_id: Id
    role_in_task: Name
    created_at: Time


class ParticipationLine(ArchiveLine, tag="participation", frozen=True):
    """Somebody's part in a task."""

    log_id: Id
    team_id: Name
    task_id: Name
    agent_id: Name
    user_id: Name
    source: Name
    metadata: Text
    created_at: Time
    updated_at: Time


class AssetLine(ArchiveLine, tag="asset", frozen=True):
    """Something that agents use."""

    asset_id: Id
    team_id: Name
    asset_type: Id
    name: Name
    description: Text
    owner_user_id: Name
    source_type: Name
    source_ref: Text
    version: Count
    visibility: Id
    status: Id
    confidence: float | None
    expires_at: Name
    expires_ms: Time | None
    last_used_at: Time | None
    usage_count: Count
    content_ref: Text
    metadata: Text
    created_at: Time
    updated_at: Time


class BindingLine(ArchiveLine, tag="binding", frozen=True):
    """An asset that an agent has."""

    agent_id: Id
    asset_id: Id
    binding_id: Id
    asset_type: Id
    injection_mode: Id
    priority: Number
    created_by: Name
    created_at: Time


class GrantLine(ArchiveLine, tag="grant", frozen=True):
    """Who may do what with an asset."""

    grant_id: Id
    asset_id: Id
    team_id: Name
    subject_type: Id
    subject_id: Id
    permission: Id
    effect: Id
    granted_by: Name
    created_at: Time
    updated_at: Time


class PolicyLine(ArchiveLine, tag="policy", frozen=True):
    """Rules for a part of the instance."""

    team: Name
    agent: Name
    user: Name
    redact_secrets: Flag | None
    retention_days: Count | None
    updated_by: Name
    updated_at: Time


class PromptLine(ArchiveLine, tag="prompt", frozen=True):
    """What an operator adds to the prompts."""

    prompt_id: Id
    name: Name
    layer: Id
    text: Text
    version: Count
    created_by: Name
    updated_by: Name
    created_at: Time
    updated_at: Time


class PromptSettingLine(ArchiveLine, tag="prompt_setting", frozen=True):
    """Where a prompt holds."""

    team: Name
    agent: Name
    layer: Id
    prompt_id: Id
    updated_by: Name
    updated_at: Time


class PromptChangeLine(ArchiveLine, tag="prompt_change", frozen=True):
    """When that was changed, and by whom."""

    team: Name
    agent: Name
    layer: Id
    action: Id
    reason: Id
    before_prompt_id: Name
    after_prompt_id: Name
    operator: Name
    at: Time


class SpendingLine(ArchiveLine, tag="spending", frozen=True):
    """What models cost on a day."""

    day: Id
    team: Name
    agent: Name
    user: Name
    role: Id
    prompt_tokens: Count
    completion_tokens: Count
    cached_tokens: Count
    calls: Count
    estimated: Count


class ForgettingLine(ArchiveLine, tag="forgetting", frozen=True):
    """The receipt of something forgotten."""

    forgetting_id: Id
    selector: Text
    counts: Text
    actor: Name
    at: Time
    complete: Flag


TableLine = (
    UserLine
    | UserKeyLine
    | TeamLine
    | TeamMemberLine
    | UserParamLine
    | AgentLine
    | TaskLine
    | TaskAgentLine
    | ParticipationLine
    | AssetLine
    | BindingLine
    | GrantLine
    | PolicyLine
    | PromptLine
    | PromptSettingLine
    | PromptChangeLine
    | SpendingLine
    | ForgettingLine
)
