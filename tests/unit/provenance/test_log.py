"""The generation log over a real store: which run wrote a record, what a week is, and what a broken store is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import pytest

from memstrata.errors import NotFound, Unavailable
from memstrata.provenance import GenerationLog
from memstrata.records import NewDocument, NewMemory, NewMessage, RunOutput, RunRecord, Scope
from memstrata.store.protocol import Repositories
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import FakeClock

RUN = RunRecord("l1", "items", 1, 1, 1, 0, "rules", 0, 0)
WEEK = 7 * 86_400_000


@pytest.fixture
def log(store: SqliteStore, clock: FakeClock) -> GenerationLog:
    return GenerationLog(store, clock)


@pytest.fixture
def record(
    store: SqliteStore, scope: Scope, clock: FakeClock, new_message: Callable[..., NewMessage]
) -> Callable[..., Any]:
    """Return a way to record a run of a session with the outputs that a work writes."""

    async def run(outputs: Callable[[Repositories, int], tuple[RunOutput, ...]], **given: Any) -> None:
        def work(r: Repositories) -> None:
            session = r.conversations.append(scope, "s1", "", [new_message()], 0)
            message = r.conversations.undistilled(session, 99)[-1].seq
            usual = {"finished_at": clock.now(), "outputs": outputs(r, message)}
            r.jobs.record(session, replace(RUN, **{**usual, **given}))

        await store.write(work)

    return run


async def test_what_only_lent_evidence_or_proposed_a_change_did_not_write_the_memory(
    log: GenerationLog,
    scope: Scope,
    clock: FakeClock,
    record: Callable[..., Any],
    new_memory: Callable[..., NewMemory],
) -> None:
    memory = new_memory(memory_id="m_tea")
    written: list[int] = []

    def store_it(r: Repositories, message: int) -> tuple[RunOutput, ...]:
        written.append(r.memories.add(scope, scope.profile("agent"), memory).seq)
        return (RunOutput("l1", written[0], "store", (message,)),)

    await record(store_it)
    clock.advance(60)
    for action in ("support", "propose"):
        await record(lambda _, message, action=action: (RunOutput("l1", written[0], action, (message,)),))

    found = await log.get_by_memory_id("default", "m_tea", "l1")

    assert [one.action for one in found.outputs] == ["store"]
    assert len((await log.list("default")).records) == 3


async def test_the_newest_version_that_a_run_wrote_speaks_for_a_memory_that_a_person_changed_since(
    log: GenerationLog,
    scope: Scope,
    store: SqliteStore,
    record: Callable[..., Any],
    new_memory: Callable[..., NewMemory],
) -> None:
    def version(number: int) -> Callable[[Repositories, int], tuple[RunOutput, ...]]:
        def write(r: Repositories, message: int) -> tuple[RunOutput, ...]:
            added = r.memories.add(scope, scope.profile("agent"), new_memory(memory_id="m_tea", version=number))
            return (RunOutput("l1", added.seq, "update", (message,)),)

        return write

    await record(version(0))
    await record(version(1))
    by_hand = new_memory(memory_id="m_tea", version=2, origin="human")
    await store.write(lambda r: r.memories.add(scope, scope.profile("agent"), by_hand))

    assert (await log.get_by_memory_id("default", "m_tea", "l1")).outputs[0].version == 1


async def test_a_document_that_no_run_wrote_has_no_generation(
    log: GenerationLog, scope: Scope, store: SqliteStore, new_document: Callable[..., NewDocument]
) -> None:
    def work(r: Repositories) -> str:
        seq = r.profiles.write(scope.profile("agent"), new_document(origin="human")).seq
        return r.generations.names("default", "l2", [seq])[seq].record_id

    record_id = await store.write(work)

    with pytest.raises(NotFound, match=r"^MEMORY_GENERATION_LOG_NOT_FOUND"):
        await log.get_by_memory_id("default", record_id, "l2")


async def test_a_listing_covers_the_last_week_unless_told_otherwise(
    log: GenerationLog, clock: FakeClock, record: Callable[..., Any]
) -> None:
    now = clock.now()
    for at in (now - WEEK - 1, now - WEEK, now + 5):
        await record(lambda *_: (), finished_at=at)

    usual = (await log.list("default")).records
    older = (await log.list("default", since=now - 2 * WEEK, until=now)).records

    assert [one.generation.run.finished_at for one in usual] == [now + 5, now - WEEK]
    assert [one.generation.run.finished_at for one in older] == [now - WEEK, now - WEEK - 1]


async def test_pages_meet_without_a_gap_whatever_comes_in_between(
    log: GenerationLog, clock: FakeClock, record: Callable[..., Any]
) -> None:
    for _ in range(5):
        await record(lambda *_: ())
    known = [str(one.log_id) for one in (await log.list("default")).records]

    first = await log.list("default", limit=2)
    clock.advance(1)
    await record(lambda *_: ())
    second = await log.list("default", limit=3, cursor=first.next_cursor)

    assert [str(one.log_id) for one in (*first.records, *second.records)] == known
    assert second.next_cursor is None


class BrokenStore:
    """A store that cannot be read just now."""

    async def read(self, *_: object, **__: object) -> NoReturn:
        raise Unavailable("read: took longer than it may", retry_after=7)


async def test_a_store_that_cannot_be_read_is_no_bad_cursor_and_no_empty_page(clock: FakeClock) -> None:
    store: Any = BrokenStore()
    log = GenerationLog(store, clock)

    for call in (
        log.list("default"),
        log.get("default", "mgl_x"),
        log.get_by_memory_id("default", "m_tea", "l1"),
    ):
        with pytest.raises(Unavailable, match=r"^GENERATION_LOG_STORE_UNAVAILABLE: ") as caught:
            await call
        assert caught.value.retry_after == 7
