from memstrata.llm.protocol import Usage
from memstrata.llm.spend import MemorySpendBook, Spending, SpendKey, budget_state
from memstrata.testing.clock import MONDAY


def line(instance: str = "default", day: str = "2026-01-05", role: str = "extract", tokens: int = 10) -> Spending:
    key = SpendKey(instance, "home", "assistant", "lin", role, day)  # type: ignore[arg-type]
    return Spending(key, Usage(tokens, 1, calls=1))


async def test_a_line_sums_what_is_added_to_it() -> None:
    book = MemorySpendBook()
    await book.add(line())
    await book.add(line())
    (found,) = await book.lines("default", "2026-01-05", "2026-01-05")
    assert found.usage == Usage(20, 2, calls=2)


async def test_used_tokens_are_those_of_one_instance_and_day() -> None:
    book = MemorySpendBook()
    for one in (line(), line(role="resolve"), line(instance="other"), line(day="2026-01-06")):
        await book.add(one)
    assert await book.used_tokens("default", "2026-01-05") == 22


async def test_lines_are_listed_by_day_and_only_of_the_days_asked_for() -> None:
    book = MemorySpendBook()
    for day in ("2026-01-07", "2026-01-05", "2026-01-06", "2026-01-04"):
        await book.add(line(day=day))
    found = await book.lines("default", "2026-01-05", "2026-01-06")
    assert [one.key.day for one in found] == ["2026-01-05", "2026-01-06"]


def test_a_budget_is_spent_when_it_is_reached_and_renewed_at_utc_midnight() -> None:
    assert not budget_state(99, 100, MONDAY).spent
    assert budget_state(100, 100, MONDAY).spent
    assert budget_state(0, 100, MONDAY).resets_at - MONDAY == 15 * 3_600_000  # MONDAY is 09:00
    assert budget_state(0, 0, MONDAY).spent


def test_without_a_budget_nothing_is_ever_spent() -> None:
    assert not budget_state(10**12, None, MONDAY).spent
