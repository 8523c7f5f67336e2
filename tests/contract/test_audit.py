"""The audit trail in a store: rows in the transaction of their change, chained, read by instance."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from memstrata.errors import Conflict
from memstrata.records.audit import (
    GATEWAY,
    GENESIS,
    LIBRARY,
    Actor,
    AuditEntry,
    AuditFilter,
    AuditHead,
    AuditRow,
    Change,
    chained,
    mark,
)
from memstrata.store.audit import acting, audited
from memstrata.store.protocol import Repositories, Store


def nothing(_: Repositories) -> None:
    return None


def change(action: str = "memory.delete", **given: Any) -> Change:
    return Change(
        **{"instance": "default", "action": action, "team": "home", "agent": "assistant", "user": "lin", **given}
    )


async def rows(store: Store) -> tuple[AuditRow, ...]:
    return await store.read(lambda r: r.audit.after(0, 100))


async def found(store: Store, **given: Any) -> list[int]:
    where = AuditFilter(**{"instance": "default", **given})
    return [row.seq for row in await store.read(lambda r: r.audit.page(where, None, 100))]


async def test_rows_follow_each_other_in_one_chain_over_all_instances(store: Store) -> None:
    for instance in ("default", "other", "default"):
        await store.write(audited(nothing, 5, change(instance=instance)))
    before = GENESIS
    for number, row in enumerate(await rows(store), start=1):
        assert (row.seq, row.hash) == (number, chained(before, row.seq, row.entry))
        before = row.hash
    assert await store.read(lambda r: r.audit.head()) == AuditHead(3, before)


async def test_a_trail_that_has_not_begun_ends_with_row_zero(store: Store) -> None:
    assert await store.read(lambda r: r.audit.head()) == AuditHead(0, GENESIS)


async def test_a_change_that_fails_leaves_no_row_and_no_gap_among_those_that_share_its_commit(store: Store) -> None:
    def failing(_: Repositories) -> None:
        raise Conflict("no")

    works = [nothing, failing, nothing, failing, nothing] * 4
    outcomes = await asyncio.gather(
        *(store.write(audited(work, 5, change())) for work in works), return_exceptions=True
    )
    assert [type(one) for one in outcomes].count(Conflict) == 8
    await store.write(audited(nothing, 6, change()))

    kept = await rows(store)
    assert [row.seq for row in kept] == list(range(1, 14))
    assert all(b.hash == chained(a.hash, b.seq, b.entry) for a, b in pairwise(kept))


async def test_a_row_that_cannot_be_written_takes_its_change_with_it(store: Store) -> None:
    def doing(r: Repositories) -> None:
        r.params.put("default", "lin", "asset_type", {"skill.enabled": "0"})

    def no_row(_: None) -> Change:
        raise Conflict("the row cannot be made")

    with pytest.raises(Conflict):
        await store.write(audited(doing, 5, no_row))
    assert await store.read(lambda r: r.params.of("default", "lin", "asset_type")) == {}


async def test_what_changed_nothing_leaves_no_row(store: Store) -> None:
    await store.write(audited(nothing, 5, lambda _: None))
    assert await rows(store) == ()


async def test_a_row_says_who_acted_where_the_work_was_made(store: Store) -> None:
    with acting(GATEWAY):
        by_gateway = audited(nothing, 5, change())
        with acting(Actor("user", "lin")):
            by_user = audited(nothing, 5, change())
    for work in (by_gateway, by_user, audited(nothing, 5, change())):
        await store.write(work)
    who = [row.entry.actor for row in await rows(store)]
    assert who == ["gateway", f"user:{mark('default', 'lin')}", LIBRARY.name("default")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [5, 4, 3, 2, 1]),
        ({"user": "max"}, [5, 3, 2]),
        ({"user": "nobody"}, []),
        ({"action": "memory.add"}, [2]),
        ({"action": "memory."}, [4, 2, 1]),
        ({"action": "memory"}, []),
        ({"since": 3, "until": 4}, [4, 3]),
        ({"user": "max", "action": "key.use"}, [3]),
        ({"instance": "other"}, [6]),
    ],
)
async def test_a_page_holds_the_rows_that_were_asked_for(
    store: Store, given: dict[str, Any], expected: list[int]
) -> None:
    changes = [
        change("memory.delete"),
        change("memory.add", user="max"),
        change("key.use", user="max"),
        change("memory.delete"),
        change("member.put", user="", ids={"user": ["max"]}),
        change("memory.delete", instance="other"),
    ]
    for at, one in enumerate(changes, start=1):
        await store.write(audited(nothing, at, one))
    assert await found(store, **given) == expected


async def test_pages_go_on_before_the_last_row(store: Store) -> None:
    for at in range(5):
        await store.write(audited(nothing, at, change()))
    where = AuditFilter("default")
    first = await store.read(lambda r: r.audit.page(where, None, 2))
    second = await store.read(lambda r: r.audit.page(where, first[-1].seq, 2))
    assert [row.seq for row in (*first, *second)] == [5, 4, 3, 2]


async def test_a_row_comes_back_as_it_was_written(store: Store) -> None:
    entry = AuditEntry(7, "实例", "cli", "memory.delete", '["团队","a",""]', '{"memories":1}')
    await store.write(lambda r: r.audit.append(entry))
    assert [row.entry for row in await rows(store)] == [entry]


def test_the_hash_covers_every_column(new_entry: Callable[..., AuditEntry]) -> None:
    plain = chained(GENESIS, 1, new_entry())
    others: list[dict[str, Any]] = [
        {"at": 2},
        {"instance": "x"},
        {"actor": "x"},
        {"action": "x"},
        {"owner": "x"},
        {"subject": "x"},
    ]
    hashes = {chained(GENESIS, 1, new_entry(**one)) for one in others}
    hashes |= {chained(GENESIS, 2, new_entry()), chained(plain, 1, new_entry())}
    assert len(hashes) == 8
    assert plain not in hashes


@pytest.fixture
def new_entry() -> Callable[..., AuditEntry]:
    usual: dict[str, Any] = {"at": 1, "instance": "i", "actor": "a", "action": "b", "owner": "[]", "subject": "{}"}
    return lambda **given: AuditEntry(**{**usual, **given})
