"""What models cost: tokens, per role, owner and day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from memstrata.clock import Instant

__all__ = ["MODEL_ROLES", "NO_USAGE", "BudgetState", "ModelRole", "SpendKey", "Spending", "Usage", "budget_state"]

ModelRole = Literal["extract", "resolve", "consolidate", "portray"]
"""Which of the distiller's four questions a call belongs to; each may have a model of its own."""
MODEL_ROLES: tuple[ModelRole, ...] = get_args(ModelRole)

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them. `cached_tokens` are those of `prompt_tokens` that came from its cache."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    calls: int = 0
    estimated: bool = False  # the provider did not say, at least once

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.calls + other.calls,
            self.estimated or other.estimated,
        )


NO_USAGE: Final = Usage()


@dataclass(frozen=True, slots=True)
class SpendKey:
    """One line of the book. `user` is empty where a profile is shared by an agent's users."""

    instance: str
    team: str
    agent: str
    user: str
    role: ModelRole
    day: str  # YYYY-MM-DD, UTC


@dataclass(frozen=True, slots=True)
class Spending:
    """A line and its sum so far."""

    key: SpendKey
    usage: Usage


@dataclass(frozen=True, slots=True)
class BudgetState:
    """How an instance stands today. `limit_tokens` is None where there is no budget."""

    used_tokens: int
    limit_tokens: int | None
    resets_at: Instant  # the next UTC midnight

    @property
    def spent(self) -> bool:
        return self.limit_tokens is not None and self.used_tokens >= self.limit_tokens


def budget_state(used_tokens: int, limit_tokens: int | None, now: Instant) -> BudgetState:
    """Return the state at `now`, given what has been used on its day."""
    return BudgetState(used_tokens, limit_tokens, (now // _DAY_MS + 1) * _DAY_MS)
