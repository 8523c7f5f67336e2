"""The agents of a team, the tasks they are linked to, and who took part. Source: wire contract §5.3 and §5.4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memstrata.clock import Instant

__all__ = ["Agent", "AgentStatus", "Participation", "Task", "TaskAgent", "TaskSource", "TaskStatus", "Visibility"]

Visibility = Literal["private", "team", "restricted", "agent", "task"]
AgentStatus = Literal["active", "inactive"]
TaskSource = Literal["manual", "tapd", "github", "other"]
TaskStatus = Literal["running", "completed"]


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent of a team. Its memory is the asset `chat_memory-<team_id>-<agent_id>`."""

    agent_id: str
    team_id: str
    owner_user_id: str
    name: str
    description: str
    prompt: str
    visibility: Visibility
    status: AgentStatus
    metadata: str
    created_at: Instant
    updated_at: Instant


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of work of a team."""

    task_id: str
    team_id: str
    creator_user_id: str
    title: str
    description: str
    source_type: TaskSource
    source_url: str
    status: TaskStatus
    auto_assign: bool  # whether floating assets are assigned by themselves
    risk_level: str
    metadata: str
    created_at: Instant
    updated_at: Instant


@dataclass(frozen=True, slots=True)
class TaskAgent:
    """An agent's part in a task."""

    link_id: str
    task_id: str
    agent_id: str
    role_in_task: str
    created_at: Instant


@dataclass(frozen=True, slots=True)
class Participation:
    """One line of who worked on what with which agent."""

    log_id: str
    team_id: str
    task_id: str
    agent_id: str
    user_id: str
    source: str
    metadata: str
    created_at: Instant
    updated_at: Instant
