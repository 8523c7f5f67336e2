"""Who there is: users with their keys, teams with their members. Source: wire contract §5.1 and §5.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memstrata.clock import Instant

__all__ = [
    "Member",
    "MemberRole",
    "MemberStatus",
    "Team",
    "TeamStatus",
    "User",
    "UserKey",
    "UserStatus",
    "UserType",
]

UserType = Literal["system_admin", "normal"]
UserStatus = Literal["active", "inactive"]
TeamStatus = Literal["active", "archived"]
MemberRole = Literal["admin", "member", "reviewer"]
MemberStatus = Literal["active", "removed"]


@dataclass(frozen=True, slots=True)
class User:
    """A person of an instance. There is one system administrator."""

    user_id: str
    user_type: UserType
    username: str
    status: UserStatus
    created_at: Instant
    updated_at: Instant

    @property
    def is_admin(self) -> bool:
        return self.user_type == "system_admin"


@dataclass(frozen=True, slots=True)
class UserKey:
    """A key as it is remembered: `mask` shows its last four characters, the key itself is nowhere."""

    key_id: str
    user_id: str
    mask: str
    name: str
    is_default: bool
    created_at: Instant
    expires_at: Instant | None = None
    last_used_at: Instant | None = None

    def holds_at(self, now: Instant) -> bool:
        """Return whether it has not expired."""
        return self.expires_at is None or now < self.expires_at


@dataclass(frozen=True, slots=True)
class Team:
    """A team. Its owner is a member with the role admin as well."""

    team_id: str
    name: str
    description: str
    owner_user_id: str
    status: TeamStatus
    metadata: str  # JSON, as it was given
    created_at: Instant
    updated_at: Instant


@dataclass(frozen=True, slots=True)
class Member:
    """A user's place in a team. `username` is filled in where a member is listed."""

    member_id: str
    team_id: str
    user_id: str
    role: MemberRole
    status: MemberStatus
    joined_at: Instant
    username: str = ""
