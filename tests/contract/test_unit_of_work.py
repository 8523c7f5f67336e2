"""A write is all or nothing, alone or in a shared commit; a read sees one state."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from memstrata.errors import Conflict, Unavailable
from memstrata.records import NewMemory, NewMessage, Profile, Scope
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import MessageFilter

ALL = MessageFilter()
PATIENCE = 20.0  # seconds that a thread waits for another before the test fails


async def count(store: Store, scope: Scope) -> int:
    return await store.read(lambda r: r.conversations.count(scope, ALL))


async def test_a_write_returns_what_its_work_returned(store: Store) -> None:
    assert await store.write(lambda _: "result") == "result"


async def test_a_write_that_raises_leaves_nothing_and_its_caller_gets_the_error(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    def work(r: Repositories) -> None:
        r.conversations.append(scope, "s1", "", [new_message("hello")], 0)
        raise Conflict("changed my mind")

    with pytest.raises(Conflict, match="changed my mind"):
        await store.write(work)

    assert await count(store, scope) == 0
    assert await store.read(lambda r: r.conversations.target(scope, "s1")) is None
    assert await store.read(lambda r: r.conversations.frequencies(scope, ["hello"])) == {}


async def test_a_failing_work_takes_nothing_of_those_that_share_its_commit(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    def work(number: int) -> Callable[[Repositories], int]:
        def perform(r: Repositories) -> int:
            r.conversations.append(scope, f"s{number}", "", [new_message(f"text {number}")], 0)
            if number % 3 == 0:
                raise Conflict(str(number))
            return number

        return perform

    with held(store):
        writes = [asyncio.ensure_future(store.write(work(number))) for number in range(12)]
        await asyncio.sleep(0)
    results = await asyncio.gather(*writes, return_exceptions=True)

    failed = [number for number, result in enumerate(results) if isinstance(result, Conflict)]
    assert failed == [0, 3, 6, 9]
    assert [result for result in results if isinstance(result, int)] == [1, 2, 4, 5, 7, 8, 10, 11]
    assert await count(store, scope) == 8


async def test_a_broken_constraint_fails_its_own_work_alone(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory]
) -> None:
    profile = scope.profile("agent")
    twice = new_memory("one", memory_id="m_same")

    with held(store):
        writes = [
            asyncio.ensure_future(store.write(lambda r: r.memories.add(scope, profile, twice))),
            asyncio.ensure_future(store.write(lambda r: r.memories.add(scope, profile, twice))),
            asyncio.ensure_future(store.write(lambda r: r.memories.add(scope, profile, new_memory("two")))),
        ]
        await asyncio.sleep(0)
    first, second, third = await asyncio.gather(*writes, return_exceptions=True)

    assert not isinstance(first, BaseException)
    assert isinstance(second, Exception)
    assert not isinstance(third, BaseException)
    assert await store.read(lambda r: r.memories.size(scope)) == 2


async def test_writes_that_wait_together_share_a_commit(store: Store, scope: Scope) -> None:
    before = store.health().details

    with held(store):
        writes = [asyncio.ensure_future(store.write(lambda r: r.conversations.size(scope))) for _ in range(40)]
        await asyncio.sleep(0)
    await asyncio.gather(*writes)

    after = store.health().details
    assert int(after["works"]) - int(before["works"]) == 41
    assert int(after["commits"]) - int(before["commits"]) < 10


async def test_a_write_holds_although_its_caller_went_away(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    with held(store):
        write = asyncio.ensure_future(
            store.write(lambda r: r.conversations.append(scope, "s1", "", [new_message()], 0))
        )
        await asyncio.sleep(0)
        write.cancel()
    await store.write(lambda _: None)

    assert await count(store, scope) == 1


async def test_a_read_sees_nothing_of_a_write_that_is_not_committed(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    written, looked = threading.Event(), threading.Event()

    def work(r: Repositories) -> None:
        r.conversations.append(scope, "s1", "", [new_message()], 0)
        written.set()
        assert looked.wait(PATIENCE)

    write = asyncio.ensure_future(store.write(work))
    await asyncio.to_thread(written.wait, PATIENCE)
    assert await count(store, scope) == 0
    looked.set()
    await write
    assert await count(store, scope) == 1


async def test_a_read_stays_on_the_state_that_it_began_with(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    began, written = threading.Event(), threading.Event()

    def look(r: Repositories) -> tuple[int, int]:
        first = r.conversations.count(scope, ALL)
        began.set()
        assert written.wait(PATIENCE)
        return first, r.conversations.count(scope, ALL)

    read = asyncio.ensure_future(store.read(look))
    await asyncio.to_thread(began.wait, PATIENCE)
    await store.write(lambda r: r.conversations.append(scope, "s1", "", [new_message()], 0))
    written.set()

    assert await read == (0, 0)


async def test_a_read_cannot_write(store: Store, scope: Scope, new_message: Callable[..., NewMessage]) -> None:
    results = await asyncio.gather(
        store.read(lambda r: r.conversations.append(scope, "s1", "", [new_message()], 0)), return_exceptions=True
    )

    assert isinstance(results[0], Exception)
    assert await count(store, scope) == 0


async def test_a_read_that_takes_longer_than_it_may_is_stopped(store: Store, scope: Scope) -> None:
    profile: Profile = scope.profile("agent")
    await store.write(lambda r: r.profiles.ensure(profile))

    with pytest.raises(Unavailable, match="longer"):
        await store.read(lambda r: r.profiles.known(profile, range(200_000)), timeout_seconds=0.0)

    assert await count(store, scope) == 0  # the reader still works


async def test_an_open_store_is_well_and_a_closed_one_refuses_to_write(store: Store) -> None:
    assert store.health().state == "ok"
    await store.close()
    with pytest.raises(Unavailable):
        await store.write(lambda _: None)


class held:  # noqa: N801 (reads as a phrase: `with held(store)`)
    """Keep the writer busy until the block ends, so that what is ordered inside it waits together."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._release = threading.Event()

    def __enter__(self) -> None:
        def work(_: Repositories) -> None:
            assert self._release.wait(PATIENCE)

        self._write = asyncio.ensure_future(self._store.write(work))

    def __exit__(self, *_: object) -> None:
        self._release.set()
