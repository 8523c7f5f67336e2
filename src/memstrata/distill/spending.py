"""What models cost, kept in the store: the book that `llm.Metered` writes in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memstrata.records import Spending
from memstrata.store.protocol import Store

__all__ = ["StoreSpendBook"]


@dataclass(frozen=True, slots=True)
class StoreSpendBook:
    """Implements `llm.SpendBook`. A line that cannot be written fails the call: what is not booked is not bounded."""

    store: Store

    async def add(self, spending: Spending) -> None:
        await self.store.write(lambda r: r.spending.add(spending))

    async def used_tokens(self, instance: str, day: str) -> int:
        return await self.store.read(lambda r: r.spending.used_tokens(instance, day))

    async def lines(self, instance: str, first_day: str, last_day: str) -> Sequence[Spending]:
        return await self.store.read(lambda r: r.spending.lines(instance, first_day, last_day))
