"""Who a memory belongs to. Resolved once at the edge, then passed as one frozen value; never parsed from a string."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memstrata.errors import InvalidRequest

__all__ = ["MAX_ID", "Profile", "ProfileScope", "Scope", "check_id"]

MAX_ID = 512

ProfileScope = Literal["agent", "agent_user"]
"""Whether scenes and persona belong to an agent (the articles), or to each of its users separately."""


def check_id(value: str, field: str, limit: int = MAX_ID) -> str:
    """Return an id that a caller chose. Raises InvalidRequest if it is blank, too long, or no well-formed text."""
    if not value.strip():
        raise InvalidRequest("must not be empty", field=field)
    if len(value) > limit:
        raise InvalidRequest(f"at most {limit} characters, got {len(value)}", field=field)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidRequest("holds a lone surrogate, which is no character", field=field) from None
    return value


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
            check_id(getattr(self, part), part)

    def profile(self, profile_scope: ProfileScope) -> Profile:
        """Return whose scenes and persona go with this scope."""
        return Profile(self.instance, self.team, self.agent, self.user if profile_scope == "agent_user" else "")
