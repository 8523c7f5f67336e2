"""The directory in a store: people, teams, agents, tasks, assets, and what is decided about them in SQL.

Part of `store.protocol`, with its rules: every method takes the instance, nothing is shared between instances, a work is
run inside a transaction. Pages are ordered by time of creation, the newest first, then by id, and come with the total of
all that the filter lets through; permissions are part of the query, never applied to a page. What is not there is None,
an empty page, or False; whether that is an error is decided in the room `directory`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from memstrata.clock import Instant
from memstrata.records.agents import Agent, AgentStatus, Participation, Task, TaskAgent, TaskStatus, Visibility
from memstrata.records.assets import Asset, AssetStatus, AssetType, Binding, Grant, Permission
from memstrata.records.people import Member, Team, User, UserKey, UserStatus, UserType

__all__ = [
    "AgentFilter",
    "Agents",
    "AssetFilter",
    "Assets",
    "DirectoryPage",
    "MemberRows",
    "Params",
    "ParticipationFilter",
    "TaskFilter",
    "Tasks",
    "Teams",
    "UserFilter",
    "UserKeys",
    "Users",
    "Window",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list."""

    limit: int = 20
    offset: int = 0


@dataclass(frozen=True, slots=True)
class DirectoryPage(Generic[T]):
    """A part of a list and how long the whole list is."""

    items: tuple[T, ...]
    total: int


@dataclass(frozen=True, slots=True)
class UserFilter:
    """Which users; None: any. `team_id`: active members only."""

    team_id: str | None = None
    user_ids: tuple[str, ...] | None = None
    username: str | None = None
    status: UserStatus | None = None
    user_type: UserType | None = None


@dataclass(frozen=True, slots=True)
class AgentFilter:
    """Which agents; None: any. `viewer`: only those that this user may see (None: a system administrator asks)."""

    viewer: str | None
    team_id: str | None = None
    owner_user_id: str | None = None
    status: AgentStatus | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Which tasks; None: any. `viewer` as with agents: tasks of teams in which this user is an active member."""

    viewer: str | None
    team_id: str | None = None
    creator_user_id: str | None = None
    status: TaskStatus | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class ParticipationFilter:
    """Which lines of a team; None: any. Times are inclusive. `dedupe`: the newest line of each user."""

    team_id: str
    task_id: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    since: Instant | None = None
    until: Instant | None = None
    dedupe: bool = False


@dataclass(frozen=True, slots=True)
class AssetFilter:
    """Which assets; None: any. `viewer` and `action`: only those on which this user may do that (see `Assets.reason`)."""

    viewer: str | None
    action: Permission = "read"
    team_id: str | None = None
    asset_type: AssetType | None = None
    status: AssetStatus | None = None
    owner_user_id: str | None = None
    visibilities: tuple[Visibility, ...] | None = None
    agent_id: str | None = None  # grants to this agent count as well
    hidden_types: tuple[AssetType, ...] = ()
    usable: bool = False  # leave out archived, deprecated, failed and expired ones; else owners see their own


class Users(Protocol):
    """The people of an instance."""

    def add(self, instance: str, user: User) -> None: ...
    def get(self, instance: str, user_id: str) -> User | None: ...
    def count(self, instance: str) -> int: ...
    def page(self, instance: str, where: UserFilter, window: Window) -> DirectoryPage[User]: ...
    def remove(self, instance: str, user_id: str) -> bool:
        """Remove a user with keys, memberships, settings and grants. What they own stays; its owner is no longer there."""
        ...


class UserKeys(Protocol):
    """Keys by the hash of the key. The hash is made in the room `directory`; here nobody sees a key."""

    def add(self, instance: str, key: UserKey, digest: bytes) -> None: ...
    def owner(self, instance: str, digest: bytes) -> tuple[UserKey, User] | None:
        """Return the key of that hash and whose it is, expired or not."""
        ...

    def get(self, instance: str, key_id: str) -> UserKey | None: ...
    def page(self, instance: str, user_id: str, window: Window) -> DirectoryPage[UserKey]: ...
    def active(self, instance: str, user_id: str, now: Instant) -> int: ...
    def replace(self, instance: str, key: UserKey) -> None: ...
    def used(self, instance: str, key_id: str, now: Instant) -> None: ...
    def remove(self, instance: str, key_id: str) -> bool:
        """Remove a key; if it was the user's default, the newest other one becomes it."""
        ...


class Teams(Protocol):
    """Teams, without their members."""

    def add(self, instance: str, team: Team) -> None: ...
    def get(self, instance: str, team_id: str) -> Team | None: ...
    def count(self, instance: str) -> int: ...
    def replace(self, instance: str, team: Team) -> None: ...
    def remove(self, instance: str, team_id: str) -> bool:
        """Remove a team with its members, tasks and their links and participations. Agents and assets go before it."""
        ...

    def page(self, instance: str, member: str, name: str | None, window: Window) -> DirectoryPage[Team]:
        """Return the teams in which a user is an active member."""
        ...


class MemberRows(Protocol):
    """Who is in which team, and as what."""

    def put(self, instance: str, member: Member) -> None: ...
    def get(self, instance: str, team_id: str, user_id: str) -> Member | None: ...
    def page(self, instance: str, team_id: str, window: Window) -> DirectoryPage[Member]: ...
    def remove(self, instance: str, team_id: str, user_id: str) -> bool: ...


class Params(Protocol):
    """What users set for themselves: `module` and `name` to a value."""

    def of(self, instance: str, user_id: str, module: str) -> Mapping[str, str]: ...
    def put(self, instance: str, user_id: str, module: str, values: Mapping[str, str]) -> None: ...


class Agents(Protocol):
    """Agents of teams."""

    def add(self, instance: str, agent: Agent) -> None: ...
    def get(self, instance: str, agent_id: str) -> Agent | None: ...
    def seen(self, instance: str, agent_id: str, viewer: str) -> Agent | None:
        """Return the agent if this user may see it: by the same rule as the filter of `page`."""
        ...

    def replace(self, instance: str, agent: Agent) -> None: ...
    def remove(self, instance: str, agent_id: str) -> bool:
        """Remove an agent with its bindings, links, participations and grants; its memory and asset are gone before."""
        ...

    def page(self, instance: str, where: AgentFilter, window: Window) -> DirectoryPage[Agent]: ...
    def of_team(self, instance: str, team_id: str) -> tuple[Agent, ...]: ...
    def owned_by(self, instance: str, user_id: str) -> tuple[Agent, ...]: ...


class Tasks(Protocol):
    """Tasks, the agents linked to them, and who took part."""

    def add(self, instance: str, task: Task) -> None: ...
    def get(self, instance: str, task_id: str) -> Task | None: ...
    def replace(self, instance: str, task: Task) -> None: ...
    def remove(self, instance: str, task_id: str) -> bool: ...
    def page(self, instance: str, where: TaskFilter, window: Window) -> DirectoryPage[Task]: ...
    def link(self, instance: str, link: TaskAgent) -> TaskAgent:
        """Link an agent to a task; one that is linked already keeps its id and gets the new role."""
        ...

    def unlink(self, instance: str, task_id: str, agent_id: str) -> bool: ...
    def linked(self, instance: str, task_id: str, agent_id: str) -> TaskAgent | None: ...
    def links(self, instance: str, task_id: str, window: Window) -> DirectoryPage[TaskAgent]: ...
    def took_part(self, instance: str, line: Participation) -> None: ...
    def participations(
        self, instance: str, where: ParticipationFilter, window: Window
    ) -> DirectoryPage[Participation]: ...


class Assets(Protocol):
    """Assets, their bindings and grants, and the one place where it is decided who may do what with them."""

    def add(self, instance: str, asset: Asset, expires: Instant | None) -> None: ...
    def get(self, instance: str, asset_id: str) -> Asset | None: ...
    def replace(self, instance: str, asset: Asset, expires: Instant | None) -> None: ...
    def remove(self, instance: str, asset_id: str) -> bool:
        """Remove an asset with its bindings and grants."""
        ...

    def touch(self, instance: str, asset_ids: Collection[str], now: Instant) -> None: ...
    def page(self, instance: str, where: AssetFilter, window: Window, now: Instant) -> DirectoryPage[Asset]: ...
    def of_team(self, instance: str, team_id: str) -> tuple[Asset, ...]: ...
    def reason(
        self, instance: str, asset_id: str, user_id: str, action: Permission, agent_id: str | None, now: Instant
    ) -> tuple[bool, str]:
        """Return whether a user (with an agent) may do something with an asset, and by which rule.

        The same SQL as the filter of `page`, so that a list never shows what a check denies, or hides what it allows.
        """
        ...

    def bind(self, instance: str, agent_id: str, bindings: Sequence[Binding]) -> None:
        """Put these in the place of all bindings of an agent."""
        ...

    def add_binding(self, instance: str, binding: Binding) -> None: ...
    def bindings(self, instance: str, agent_id: str, window: Window) -> DirectoryPage[Binding]: ...
    def bound(
        self,
        instance: str,
        agent_id: str,
        viewer: str | None,
        window: Window,
        now: Instant,
        hidden_types: Sequence[AssetType] = (),
    ) -> DirectoryPage[tuple[Binding, Asset]]:
        """Return bindings with their assets, none that is archived or expired, the total counted so.

        With a `viewer` only those that this user, with this agent, may read.
        """
        ...

    def counts(
        self, instance: str, agent_ids: Sequence[str], asset_id: str | None, viewer: str | None, now: Instant
    ) -> Mapping[str, Mapping[AssetType, int]]:
        """Return how many assets of each type agents have; those of a viewer's own agents, else what they may read."""
        ...

    def grant(self, instance: str, grant: Grant) -> Grant:
        """Keep a grant; one for the same subject and permission is replaced and keeps its id."""
        ...

    def granted(self, instance: str, grant_id: str) -> Grant | None: ...
    def revoke(self, instance: str, grant_id: str) -> bool: ...
    def grants(self, instance: str, asset_id: str, window: Window) -> DirectoryPage[Grant]: ...
