"""What models cost: tokens per role, scope and UTC day, and the daily budget of an instance.

The budget stops distillation, never capture or recall: messages wait in L0 until the next day. It is looked at before
each call, so it can be passed by the calls that are under way when it is reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from memstrata.clock import Clock, day_of
from memstrata.llm.errors import BudgetSpent, CallFailed
from memstrata.llm.protocol import Chat, ChatReply, ChatRequest, Usage
from memstrata.records import BudgetState, Profile, Scope, Spending, SpendKey, budget_state

__all__ = ["BudgetState", "MemorySpendBook", "Metered", "SpendBook", "SpendKey", "Spending", "budget_state"]


class SpendBook(Protocol):
    """Where spending is kept."""

    async def add(self, spending: Spending) -> None:
        """Add to the line of that key."""
        ...

    async def used_tokens(self, instance: str, day: str) -> int:
        """Return all tokens, prompt and completion, that an instance has used on a day."""
        ...

    async def lines(self, instance: str, first_day: str, last_day: str) -> Sequence[Spending]:
        """Return an instance's lines from `first_day` to `last_day`, both included, by day, then by the rest of the key."""
        ...


class MemorySpendBook:
    """A book that lasts as long as the process. For tests, and where nothing should be kept."""

    def __init__(self) -> None:
        self._lines: dict[SpendKey, Usage] = {}

    async def add(self, spending: Spending) -> None:
        self._lines[spending.key] = self._lines.get(spending.key, Usage()) + spending.usage

    async def used_tokens(self, instance: str, day: str) -> int:
        return sum(u.total_tokens for key, u in self._lines.items() if (key.instance, key.day) == (instance, day))

    async def lines(self, instance: str, first_day: str, last_day: str) -> Sequence[Spending]:
        found = [
            Spending(key, usage)
            for key, usage in self._lines.items()
            if key.instance == instance and first_day <= key.day <= last_day
        ]
        return sorted(
            found, key=lambda line: (line.key.day, line.key.team, line.key.agent, line.key.user, line.key.role)
        )


@dataclass(frozen=True, slots=True)
class Metered:
    """Implements `protocol.Chat` for one owner: asks the budget before each call and books every one, failed or not."""

    chat: Chat
    book: SpendBook
    clock: Clock
    owner: Scope | Profile
    daily_budget_tokens: int | None = None

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply. Raises BudgetSpent instead of calling once the day's tokens are used."""
        now = self.clock.now()
        day = day_of(now)
        if self.daily_budget_tokens is not None:
            used = await self.book.used_tokens(self.owner.instance, day)
            state = budget_state(used, self.daily_budget_tokens, now)
            if state.spent:
                raise BudgetSpent(
                    f"{used} of {state.limit_tokens} tokens of {day} are used",
                    retry_after=(state.resets_at - now) / 1000,
                )
        owner = self.owner
        key = SpendKey(owner.instance, owner.team, owner.agent, owner.user, request.role, day)
        try:
            reply = await self.chat.complete(request)
        except CallFailed as failure:
            if failure.usage.calls:
                await self.book.add(Spending(key, failure.usage))
            raise
        await self.book.add(Spending(key, replace(reply.usage, calls=max(1, reply.usage.calls))))
        return reply
