"""What calls about the directory answer with: the objects of the wire as they are, with their keys and types named.

They are dictionaries, because code written for the contract reads them as such. Times are ISO 8601 in UTC.
Source: wire contract §5.
"""

from __future__ import annotations

from typing import Generic, TypedDict, TypeVar

__all__ = [
    "Agent",
    "AgentBindings",
    "Asset",
    "Binding",
    "BindingSummaries",
    "BoundAgent",
    "BoundAsset",
    "Deleted",
    "Done",
    "Grant",
    "InstanceQuota",
    "Listed",
    "Member",
    "NewAdmin",
    "NewUser",
    "NewUserKey",
    "Participation",
    "Task",
    "TaskAgent",
    "Team",
    "User",
    "UserConfig",
    "UserKey",
    "Verdict",
    "VerifiedUser",
]

T = TypeVar("T")


class Listed(TypedDict, Generic[T]):
    """A page of a list, newest first, and how long the list is."""

    items: list[T]
    total: int
    limit: int
    offset: int


class Done(TypedDict):
    """A change that has nothing to show."""

    ok: bool


class Failure(TypedDict):
    """One id of a batch that stays, and why."""

    id: str
    reason: str


class Deleted(TypedDict):
    """What of a batch went."""

    deleted_ids: list[str]
    failed: list[Failure]


class User(TypedDict):
    """A person. `user_type` is `system_admin` or `user`."""

    user_id: str
    user_type: str
    username: str
    created_at: str


class NewUser(TypedDict):
    """A user just made, with the one chance to read the key."""

    user_id: str
    user_type: str
    created_at: str
    default_user_key: str


class NewAdmin(TypedDict):
    """The first user of an instance, with the one chance to read the key."""

    user_id: str
    user_key: str


class UserKey(TypedDict):
    """A key without its text."""

    key_id: str
    user_id: str
    key_prefix: str
    name: str | None
    status: str
    is_default: bool
    last_used_at: str | None
    expires_at: str | None
    created_at: str
    revoked_at: str | None


class NewUserKey(UserKey):
    """A key with the one chance to read it."""

    key_value: str


class VerifiedUser(TypedDict):
    """Whose key it is, if it is one."""

    valid: bool
    user: User | None


class Team(TypedDict):
    """A team. `status` is `active` or `archived`."""

    team_id: str
    name: str
    description: str | None
    owner_user_id: str
    status: str
    created_at: str
    updated_at: str
    metadata_json: object


class Member(TypedDict, total=False):
    """Who is in a team, as `admin`, `member` or `reviewer`. `username` is in lists and single reads."""

    id: str
    team_id: str
    user_id: str
    username: str
    role: str
    joined_at: str
    status: str


class Agent(TypedDict):
    """An agent of a team. `visibility` is `private`, `team`, `restricted`, `agent` or `task`."""

    agent_id: str
    team_id: str
    owner_user_id: str
    name: str
    description: str | None
    prompt: str | None
    visibility: str
    status: str
    created_at: str
    updated_at: str
    metadata_json: object


class Task(TypedDict):
    """A task of a team. `status` is `running` or `completed`."""

    task_id: str
    team_id: str
    creator_user_id: str
    title: str
    description: str | None
    source_type: str
    source_url: str | None
    status: str
    auto_assign_floating_assets: object
    risk_level: str | None
    created_at: str
    updated_at: str
    metadata_json: object


class TaskAgent(TypedDict):
    """That an agent works on a task."""

    id: str
    task_id: str
    agent_id: str
    role_in_task: str | None
    status: str
    created_at: str


class Participation(TypedDict):
    """That a user worked on a task with an agent."""

    id: str
    team_id: str
    task_id: str
    agent_id: str
    user_id: str
    source: str
    metadata_json: object
    created_at: str
    updated_at: str


class Asset(TypedDict):
    """Something that agents use: `skill`, `llm_wiki`, `code_graph` or `chat_memory`."""

    asset_id: str
    team_id: str
    asset_type: str
    name: str
    description: str | None
    owner_user_id: str
    source_type: str
    source_ref: str | None
    version: int
    visibility: str
    status: str
    confidence: float | None
    expires_at: str | None
    last_used_at: str | None
    usage_count: int
    content_ref: str | None
    created_at: str
    updated_at: str
    metadata_json: object


class Binding(TypedDict):
    """That an agent has an asset. `injection_mode` is `direct`, `summary`, `tool` or `reference`."""

    id: str
    agent_id: str
    asset_id: str
    asset_type: str
    injection_mode: str
    priority: int
    created_by: str
    created_at: str


class BoundAgent(TypedDict):
    """The agent whose assets are listed."""

    agent_id: str
    team_id: str
    owner_user_id: str
    prompt: str | None
    visibility: str
    status: str


class BoundAsset(TypedDict):
    """An asset as an agent has it."""

    asset_id: str
    asset_type: str
    name: str
    description: str | None
    status: str
    visibility: str
    injection_mode: str
    priority: int
    created_at: str


class AgentBindings(TypedDict):
    """An agent and a page of its assets."""

    agent: BoundAgent
    items: list[BoundAsset]
    total: int
    limit: int
    offset: int


class BindingSummary(TypedDict):
    """How many assets of each type an agent has."""

    agent_id: str
    counts: dict[str, int]
    total: int


class BindingSummaries(TypedDict):
    """Such counts of several agents, in the order in which they were asked for."""

    items: list[BindingSummary]
    total: int


class Grant(TypedDict):
    """What a user, a role or an agent may do with an asset."""

    id: str
    asset_id: str
    subject_type: str
    subject_id: str
    permission: str
    effect: str
    granted_by: str
    created_at: str
    updated_at: str


class Verdict(TypedDict):
    """Whether somebody may do something, and by which rule."""

    allowed: bool
    reason: str


class InstanceQuota(TypedDict):
    """How many users and teams an instance may have."""

    max_users_per_instance: int
    max_teams_per_instance: int


class Parameter(TypedDict):
    """One setting of a user as it holds."""

    module: str
    param_name: str
    param_key: str
    description: str
    effective_value: str


class UserConfig(TypedDict):
    """The settings of a user in one module."""

    user_id: str
    module: str
    module_description: str
    items: list[Parameter]
