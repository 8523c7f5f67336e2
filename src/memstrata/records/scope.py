"""Who a memory belongs to. Resolved once at the edge, then passed as one frozen value; never parsed from a string."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memstrata.errors import InvalidRequest

__all__ = ["MAX_ID", "Profile", "ProfileScope", "Scope"]

MAX_ID = 512

ProfileScope = Literal["agent", "agent_user"]
"""Whether scenes and persona belong to an agent (the articles), or to each of its users separately."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Whose scenes (L2) and persona (L3): an agent of a team, and one user of it where profiles are kept per user."""

    instance: str
    team: str
    agent: str
    user: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose messages (L0) and memories (L1). Nothing is shared between instances.

    Raises InvalidRequest if a part is blank or longer than MAX_ID code points.
    """

    instance: str
    team: str
    agent: str
    user: str

    def __post_init__(self) -> None:
        for part in ("instance", "team", "agent", "user"):
            value = getattr(self, part)
            if not value.strip():
                raise InvalidRequest("must not be empty", field=part)
            if len(value) > MAX_ID:
                raise InvalidRequest(f"at most {MAX_ID} characters, got {len(value)}", field=part)

    def profile(self, profile_scope: ProfileScope) -> Profile:
        """Return whose scenes and persona go with this scope."""
        return Profile(self.instance, self.team, self.agent, self.user if profile_scope == "agent_user" else "")
