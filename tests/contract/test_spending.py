"""What models cost: sums by day, owner and role, that last longer than the process."""

from __future__ import annotations

from dataclasses import replace

from memstrata.distill.spending import StoreSpendBook
from memstrata.llm.spend import MemorySpendBook
from memstrata.records import Spending, SpendKey, Usage
from memstrata.store.protocol import Repositories, Store

KEY = SpendKey("default", "home", "assistant", "lin", "extract", "2026-01-05")
USED = Usage(prompt_tokens=100, completion_tokens=20, cached_tokens=60, calls=1)


async def add(store: Store, *spent: Spending) -> None:
    def work(r: Repositories) -> None:
        for one in spent:
            r.spending.add(one)

    await store.write(work)


async def used(store: Store, instance: str, day: str) -> int:
    return await store.read(lambda r: r.spending.used_tokens(instance, day))


async def lines(store: Store, instance: str, first: str, last: str) -> tuple[Spending, ...]:
    return await store.read(lambda r: r.spending.lines(instance, first, last))


async def test_calls_of_one_day_owner_and_role_are_one_line(store: Store) -> None:
    await add(store, Spending(KEY, USED), Spending(KEY, Usage(7, 3, 0, 2)))

    (line,) = await lines(store, "default", KEY.day, KEY.day)

    assert line == Spending(KEY, Usage(107, 23, 60, 3))


async def test_every_part_of_a_key_makes_a_line_of_its_own(store: Store) -> None:
    keys = [
        KEY,
        replace(KEY, team="office"),
        replace(KEY, agent="coder"),
        replace(KEY, user=""),
        replace(KEY, role="portray"),
        replace(KEY, day="2026-01-06"),
    ]
    await add(store, *(Spending(key, USED) for key in keys))

    found = await lines(store, "default", "2026-01-05", "2026-01-06")

    assert {line.key for line in found} == set(keys)
    assert {line.usage for line in found} == {USED}


async def test_a_line_with_one_estimated_call_is_estimated_for_good(store: Store) -> None:
    guessed = replace(USED, estimated=True)
    await add(store, Spending(KEY, USED))
    (exact,) = await lines(store, "default", KEY.day, KEY.day)
    await add(store, Spending(KEY, guessed), Spending(KEY, USED))
    (partly,) = await lines(store, "default", KEY.day, KEY.day)

    assert (exact.usage.estimated, partly.usage.estimated) == (False, True)
    assert {type(line.usage.estimated) for line in (exact, partly)} == {bool}  # a wire would send 0 and 1


async def test_the_tokens_of_a_day_are_those_of_an_instance_and_cached_ones_are_part_of_the_prompt(
    store: Store,
) -> None:
    others = (replace(KEY, instance="other"), replace(KEY, day="2026-01-06"))
    await add(store, Spending(KEY, USED), Spending(replace(KEY, role="resolve"), Usage(1, 2, 1, 1)))
    await add(store, *(Spending(key, Usage(1_000, 0, 0, 1)) for key in others))

    assert await used(store, "default", KEY.day) == 123
    assert await used(store, "other", KEY.day) == 1_000
    assert await used(store, "unknown", KEY.day) == 0
    assert await used(store, "default", "2026-01-04") == 0


async def test_lines_are_those_of_the_instance_from_the_first_day_to_the_last(store: Store) -> None:
    days = ["2025-12-31", "2026-01-01", "2026-01-05", "2026-01-31", "2026-02-01"]
    await add(store, *(Spending(replace(KEY, day=day), USED) for day in reversed(days)))
    await add(store, Spending(replace(KEY, instance="other", day="2026-01-02"), USED))

    found = await lines(store, "default", "2026-01-01", "2026-01-31")

    assert [line.key.day for line in found] == days[1:4]
    assert await lines(store, "default", "2026-01-31", "2026-01-01") == ()


async def test_both_books_tell_the_same(store: Store) -> None:
    """What a test measures with the book in memory holds for the one that lasts."""
    kept, passing = StoreSpendBook(store), MemorySpendBook()
    for key in (KEY, replace(KEY, user=""), replace(KEY, role="consolidate"), KEY, replace(KEY, day="2026-01-04")):
        for book in (kept, passing):
            await book.add(Spending(key, USED))

    for day in ("2026-01-04", "2026-01-05"):
        assert await kept.used_tokens("default", day) == await passing.used_tokens("default", day)
    days = ("2026-01-01", "2026-01-31")
    assert list(await kept.lines("default", *days)) == list(await passing.lines("default", *days))
