"""Verbs about tasks, assets, grants and settings. Source: wire contract §5.4, §5.5, §5.6, §9.1."""

from __future__ import annotations

from collections.abc import Sequence

from memstrata.client._calls import Call
from memstrata.client._metadata_bodies import Params, call_for, given, listed, paged
from memstrata.client._metadata_results import (
    AgentBindings,
    Asset,
    Binding,
    BindingSummaries,
    Deleted,
    Done,
    Grant,
    InstanceQuota,
    Listed,
    Participation,
    Task,
    TaskAgent,
    UserConfig,
    Verdict,
)
from memstrata.client._verbs import verb

__all__ = ["AssetVerbs"]


class AssetVerbs:
    """What they work on, and who may see what."""

    @verb
    def create_task(self, p: Params) -> Call[Task]:
        """Add a task: `team_id`, `creator_user_id`, `title`."""
        return call_for("task/create", given(p))

    @verb
    def get_task(self, task_id: str) -> Call[Task]:
        """Read a task."""
        return call_for("task/get", {"task_id": task_id}, repeatable=True)

    @verb
    def update_task(self, p: Params) -> Call[Task]:
        """Change a task: `task_id` and what changes."""
        return call_for("task/update", given(p))

    @verb
    def delete_tasks(self, task_ids: Sequence[str]) -> Call[Deleted]:
        """Delete tasks."""
        return call_for("task/delete", listed("task_ids", task_ids))

    @verb
    def list_tasks(
        self, where: str | Params, *, status: str | None = None, pagination: Params | None = None
    ) -> Call[Listed[Task]]:
        """Page through tasks of a team, or by `creator_user_id`, `creator_user_key`, `title`."""
        return call_for(
            "task/list", {**paged("team_id", where, pagination), **given({"status": status})}, repeatable=True
        )

    @verb
    def archive_task(self, task_id: str) -> Call[Task]:
        """Complete a task."""
        return call_for("task/archive", {"task_id": task_id})

    @verb
    def link_task_agent(self, task_id: str, agent_id: str, role_in_task: str | None = None) -> Call[TaskAgent]:
        """Let an agent work on a task."""
        return call_for(
            "task-agent/link", given({"task_id": task_id, "agent_id": agent_id, "role_in_task": role_in_task})
        )

    @verb
    def unlink_task_agent(self, task_id: str, agent_id: str) -> Call[Done]:
        """Take an agent off a task."""
        return call_for("task-agent/unlink", {"task_id": task_id, "agent_id": agent_id})

    @verb
    def list_task_agents(self, task_id: str, *, pagination: Params | None = None) -> Call[Listed[TaskAgent]]:
        """Page through the agents of a task."""
        return call_for("task-agent/list", paged("task_id", task_id, pagination), repeatable=True)

    @verb
    def append_participation_log(self, p: Params) -> Call[Participation]:
        """Write down that a user worked on a task with an agent: their ids and the team's."""
        return call_for("participation-log/append", given(p))

    @verb
    def list_participation_logs(self, p: Params) -> Call[Listed[Participation]]:
        """Page through that log of a `team_id`."""
        return call_for("participation-log/list", given(p), repeatable=True)

    @verb
    def create_asset(self, p: Params) -> Call[Asset]:
        """Add an asset: `asset_id`, `team_id`, `asset_type`, `name`, `owner_user_id`, `source_type`."""
        return call_for("asset/create", given(p))

    @verb
    def get_asset(self, asset_id: str) -> Call[Asset]:
        """Read an asset."""
        return call_for("asset/get", {"asset_id": asset_id}, repeatable=True)

    @verb
    def update_asset(self, p: Params) -> Call[Asset]:
        """Change an asset: `asset_id` and what changes."""
        return call_for("asset/update", given(p))

    @verb
    def delete_assets(self, asset_ids: Sequence[str]) -> Call[Deleted]:
        """Delete assets."""
        return call_for("asset/delete", listed("asset_ids", asset_ids))

    @verb
    def list_assets(self, p: Params) -> Call[Listed[Asset]]:
        """Page through the assets of a `team_id`."""
        return call_for("asset/list", given(p), repeatable=True)

    @verb
    def list_accessible_assets(self, p: Params) -> Call[Listed[Asset]]:
        """Page through what a `user_id` or `user_key` may act on."""
        return call_for("asset/list-accessible", given(p), repeatable=True)

    @verb
    def touch_asset_usage(self, asset_id: str) -> Call[Done]:
        """Count a use of an asset."""
        return call_for("asset/touch-usage", {"asset_id": asset_id})

    @verb
    def set_agent_fixed_assets(
        self, agent_id: str, bindings: Sequence[Params], *, mode: str | None = None
    ) -> Call[Done]:
        """Replace all assets of an agent; with the `mode` "add" or "remove" only those that are named."""
        body = {"agent_id": agent_id, "bindings": [given(one) for one in bindings], **given({"mode": mode})}
        return call_for("agent-fixed-asset/set", body, repeatable=True)

    @verb
    def list_agent_fixed_assets(self, agent_id: str, *, pagination: Params | None = None) -> Call[Listed[Binding]]:
        """Page through the assets of an agent."""
        return call_for("agent-fixed-asset/list", paged("agent_id", agent_id, pagination), repeatable=True)

    @verb
    def list_agent_fixed_assets_with_detail(self, p: Params) -> Call[AgentBindings]:
        """Page through them with what they are: `agent_id`."""
        return call_for("agent-fixed-asset/list-with-detail", given(p), repeatable=True)

    @verb
    def summarize_agent_fixed_assets_by_agents(self, p: Params) -> Call[BindingSummaries]:
        """Count them by type: `agent_ids`."""
        return call_for("agent-fixed-asset/summary-by-agents", given(p), repeatable=True)

    @verb
    def grant_acl(self, p: Params) -> Call[Grant]:
        """Let somebody do something with an asset: `asset_id`, `subject_type`, `subject_id`, `permission`, `granted_by`."""
        return call_for("acl/grant", given(p))

    @verb
    def revoke_acl(self, acl_id: str) -> Call[Done]:
        """Take a grant back."""
        return call_for("acl/revoke", {"id": acl_id})

    @verb
    def list_acl(self, asset_id: str, *, pagination: Params | None = None) -> Call[Listed[Grant]]:
        """Page through the grants on an asset."""
        return call_for("acl/list", paged("asset_id", asset_id, pagination), repeatable=True)

    @verb
    def check_acl(self, p: Params) -> Call[Verdict]:
        """Ask whether a `user_id` or `user_key` may do `action` with `asset_id`."""
        return call_for("acl/check", given(p), repeatable=True)

    @verb
    def get_instance_quota(self) -> Call[InstanceQuota]:
        """Read how much an instance may hold."""
        return call_for("instance-quota/get", {}, repeatable=True)

    @verb
    def get_user_config(self, p: Params) -> Call[UserConfig]:
        """Read a user's settings: `user_id`, `module`."""
        return call_for("config/user/get", given(p), repeatable=True)

    @verb
    def set_user_config(self, p: Params) -> Call[Done]:
        """Change them: `user_id`, `module`, `params`."""
        return call_for("config/user/set", given(p), repeatable=True)
