"""Accounting and budget around a real provider."""

from collections.abc import Callable

import pytest

from memstrata.errors import Unavailable
from memstrata.llm import errors
from memstrata.llm.protocol import ChatRequest
from memstrata.llm.provider import Provider
from memstrata.llm.spend import MemorySpendBook, Metered
from memstrata.records import Profile, Scope
from memstrata.testing.clock import FakeClock
from memstrata.testing.llm import Reply, ScriptedLLM, Status

Build = Callable[..., Provider]
Request = Callable[..., ChatRequest]
DAY = "2026-01-05"


async def test_every_call_is_booked_by_role_owner_and_day(
    model: ScriptedLLM, provider: Build, ask_for: Request, clock: FakeClock, scope: Scope
) -> None:
    for role in ("extract", "portray"):
        model.always(role, Reply("ok", usage=(100, 10, 40)))
    book = MemorySpendBook()
    asked = provider()
    await Metered(asked, book, clock, scope).complete(ask_for())
    await Metered(asked, book, clock, scope).complete(ask_for())
    await Metered(asked, book, clock, Profile("default", "home", "assistant")).complete(ask_for(role="portray"))
    lines = await book.lines("default", DAY, DAY)
    assert [(one.key.user, one.key.role, one.usage.total_tokens, one.usage.calls) for one in lines] == [
        ("", "portray", 110, 1),
        ("lin", "extract", 220, 2),
    ]
    assert lines[1].usage.cached_tokens == 80


async def test_tokens_of_a_failed_call_are_booked_too(
    model: ScriptedLLM, provider: Build, ask_for: Request, clock: FakeClock, scope: Scope
) -> None:
    model.always("extract", Reply("[", finish="length", usage=(100, 10, 0)))
    book = MemorySpendBook()
    with pytest.raises(errors.Truncated):
        await Metered(provider(), book, clock, scope).complete(ask_for())
    assert await book.used_tokens("default", DAY) == 220


async def test_a_call_that_cost_nothing_leaves_no_line(
    model: ScriptedLLM, provider: Build, ask_for: Request, clock: FakeClock, scope: Scope
) -> None:
    model.always("extract", Status(500))
    book = MemorySpendBook()
    with pytest.raises(errors.ServerFailed):
        await Metered(provider(), book, clock, scope).complete(ask_for())
    assert await book.lines("default", DAY, DAY) == []


async def test_a_spent_budget_stops_the_instance_until_the_next_day_and_no_other(
    model: ScriptedLLM, provider: Build, ask_for: Request, clock: FakeClock, scope: Scope
) -> None:
    model.always("extract", Reply("ok", usage=(90, 10, 0)))
    book, asked = MemorySpendBook(), provider()
    metered = Metered(asked, book, clock, scope, daily_budget_tokens=150)
    await metered.complete(ask_for())
    await metered.complete(ask_for())
    with pytest.raises(errors.BudgetSpent) as caught:
        await metered.complete(ask_for())
    assert isinstance(caught.value, Unavailable)
    assert caught.value.retry_after == 15 * 3_600
    assert len(model.requests) == 2
    other = Scope("other", "home", "assistant", "lin")
    await Metered(asked, book, clock, other, daily_budget_tokens=150).complete(ask_for())
    clock.advance(caught.value.retry_after)
    await metered.complete(ask_for())
    assert len(model.requests) == 4
