"""The ledger on a store: asked once, stored before anything goes out, and failing towards the message as it came."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from memstrata.errors import Unavailable
from memstrata.proxy.clients.table import CLIENTS
from memstrata.proxy.recalled import RecalledMemory, RecalledRules
from memstrata.proxy.replay import Recall, Replay, Replayed, TurnOwner
from memstrata.proxy.wire.wires import WIRES
from memstrata.records import ComponentHealth
from memstrata.records.proxy import Bound, ProxySession, Turn
from memstrata.store.protocol import Repositories
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import FakeClock

T = TypeVar("T")
SESSION = ProxySession("default", "lin", "claude-code", "s1")
OWNER = TurnOwner("home", "assistant", "task")
WIRE, CLIENT = WIRES["anthropic"], CLIENTS["claude-code"]
NEVER = RecalledRules(budget_seconds=60.0)


class Core:
    """Answers a recall, and remembers what was asked."""

    def __init__(self, *contents: str, error: Exception | None = None) -> None:
        self.contents = contents
        self.error = error
        self.asked: list[str] = []
        self.go = asyncio.Event()
        self.go.set()

    async def __call__(self, query: str) -> list[RecalledMemory]:
        self.asked.append(query)
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return [RecalledMemory(f"m_{number}", "episodic", text) for number, text in enumerate(self.contents)]


class FailingStore:
    """A store of which reads or writes fail for a while."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.fails: set[str] = set()

    async def write(self, work: Callable[[Repositories], T]) -> T:
        if "write" in self.fails:
            raise Unavailable("the disk is full")
        return await self._store.write(work)

    async def read(self, work: Callable[[Repositories], T], *, timeout_seconds: float = 10.0) -> T:
        if "read" in self.fails:
            raise Unavailable("locked")
        return await self._store.read(work, timeout_seconds=timeout_seconds)

    def health(self) -> ComponentHealth:
        return self._store.health()

    async def close(self) -> None:
        await self._store.close()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[FailingStore]:
    opened = FailingStore(await SqliteStore.open(tmp_path))
    await opened.write(lambda r: r.proxy.bindings.put(SESSION, Bound("bound", "home", "assistant"), 0, 1))
    yield opened
    await opened.close()


@pytest.fixture
def replay(store: FailingStore, clock: FakeClock) -> Replay:
    return Replay(store, clock, NEVER)


def body(*texts: str) -> bytes:
    """A conversation in which every second message is the model's."""
    roles = ("user", "assistant")
    return json.dumps(
        {"model": "m", "messages": [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]}
    ).encode()


async def settle(
    replay: Replay, recall: Recall | None, *texts: str, session: ProxySession = SESSION, owner: TurnOwner | None = OWNER
) -> Replayed:
    return await replay.settle(session, WIRE.read(body(*texts)), WIRE, CLIENT, recall=recall, owner=owner)


async def turn_of(store: FailingStore, replayed: Replayed, session: ProxySession = SESSION) -> Turn | None:
    return await store.read(lambda r: r.proxy.turns.read(session, replayed.turn))


async def test_memory_is_asked_for_once_a_message_and_put_back_ever_after(replay: Replay) -> None:
    core = Core("lives in Lisbon")

    first = await settle(replay, core, "where do I live")
    core.contents = ("lives in Porto",)
    retried = await settle(replay, core, "where do I live")
    later = await settle(replay, core, "where do I live", "in Lisbon", "thanks", "welcome")

    assert core.asked == ["where do I live"]
    assert first.asked
    assert not retried.asked
    ((at, block),) = first.blocks
    assert at == 0
    assert "lives in Lisbon" in json.loads(block)["text"]
    assert retried.blocks == later.blocks == first.blocks


async def test_what_is_put_in_is_in_the_store_before_it_goes_out(replay: Replay, store: FailingStore) -> None:
    first = await settle(replay, Core("lives in Lisbon"), "where do I live")

    after_a_restart = Replay(store, FakeClock(), NEVER)
    assert (await settle(after_a_restart, None, "where do I live")).blocks == first.blocks


async def test_many_tries_at_a_time_ask_once(replay: Replay, eventually: Callable[..., asyncio.Future[None]]) -> None:
    core = Core("lives in Lisbon")
    core.go.clear()
    tries = [asyncio.create_task(settle(replay, core, "where do I live")) for _ in range(5)]
    await eventually(lambda: core.asked)
    core.go.set()

    done = await asyncio.gather(*tries)

    assert len(core.asked) == 1
    assert len({one.blocks for one in done}) == 1


async def test_a_try_that_is_broken_off_takes_nothing_from_the_others(
    replay: Replay, eventually: Callable[..., asyncio.Future[None]]
) -> None:
    core = Core("lives in Lisbon")
    core.go.clear()
    first, second = (asyncio.create_task(settle(replay, core, "where do I live")) for _ in range(2))
    await eventually(lambda: core.asked)
    first.cancel()
    await asyncio.wait({first})
    core.go.set()

    assert (await second).blocks


async def test_two_proxies_that_find_different_things_put_in_the_same(store: FailingStore, clock: FakeClock) -> None:
    one, two = Core("lives in Lisbon"), Core("lives in Porto")
    one.go.clear()
    slow = asyncio.create_task(settle(Replay(store, clock, NEVER), one, "where do I live"))
    fast = await settle(Replay(store, clock, NEVER), two, "where do I live")
    one.go.set()

    assert (await slow).blocks == fast.blocks != ()


async def test_what_a_message_shows_is_not_shown_again_by_a_later_one(replay: Replay) -> None:
    core = Core("lives in Lisbon")
    await settle(replay, core, "where do I live")
    core.contents = ("lives in Lisbon", "likes tea")

    later = await settle(replay, core, "where do I live", "in Lisbon", "what do I like")

    assert [at for at, _ in later.blocks] == [0, 2]
    text = json.loads(later.blocks[1][1])["text"]
    assert "likes tea" in text
    assert "Lisbon" not in text


@pytest.mark.parametrize("error", [ConnectionError("secret"), RuntimeError("secret")])
async def test_a_core_that_fails_costs_this_message_its_memory_for_good(
    replay: Replay, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    failed = await settle(replay, Core(error=error), "where do I live")
    assert (failed.blocks, failed.fault, failed.asked) == ((), "recall failed", True)
    assert failed.turn

    core = Core("lives in Lisbon")
    assert (await settle(replay, core, "where do I live")).blocks == ()
    assert core.asked == []
    assert replay.counts.recall_failed == 1
    assert "secret" not in caplog.text


async def test_a_core_that_takes_too_long_is_not_waited_for(store: FailingStore, clock: FakeClock) -> None:
    core = Core("lives in Lisbon")
    core.go.clear()
    replay = Replay(store, clock, RecalledRules(budget_seconds=0.01))

    assert (await settle(replay, core, "where do I live")).fault == "recall timed out"
    core.go.set()
    assert (await settle(replay, core, "where do I live")).blocks == ()
    assert replay.counts.recall_timed_out == 1


async def test_without_a_store_to_write_to_nothing_new_goes_in_and_never_will(
    replay: Replay, store: FailingStore
) -> None:
    core = Core("lives in Lisbon")
    known = await settle(replay, core, "where do I live")
    store.fails = {"write"}

    failed = await settle(replay, core, "where do I live", "in Lisbon", "what do I like")
    assert (failed.blocks, failed.fault, failed.turn) == (known.blocks, "store failed", "")

    store.fails = set()
    asked = len(core.asked)
    again = await settle(replay, core, "where do I live", "in Lisbon", "what do I like")
    assert (again.blocks, len(core.asked)) == (known.blocks, asked)
    assert again.turn


async def test_a_store_that_cannot_be_read_is_told_to_the_caller_and_the_message_stays_bare(
    replay: Replay, store: FailingStore
) -> None:
    core = Core("lives in Lisbon")
    store.fails = {"read"}
    with pytest.raises(Unavailable):
        await settle(replay, core, "where do I live")

    store.fails = set()
    assert (await settle(replay, core, "where do I live")).blocks == ()
    other = replace(SESSION, user="mo")
    assert (await settle(replay, core, "where do I live", session=other)).blocks
    assert replay.counts.store_failed == 1


async def test_a_question_is_a_turn_from_its_first_request_on(replay: Replay, store: FailingStore) -> None:
    first = await settle(replay, Core(), "where do I live")
    found = await turn_of(store, first)
    assert found is not None
    assert (found.question, found.state, found.team, found.task) == ("where do I live", "open", "home", "task")

    assert (await settle(replay, Core(), "where do I live")).turn == first.turn
    other = await settle(replay, Core(), "where do I live", "in Lisbon", "thanks")
    assert other.turn not in ("", first.turn)


async def test_a_request_without_an_owner_is_part_of_no_turn(replay: Replay) -> None:
    assert (await settle(replay, None, "where do I live", owner=None)).turn == ""


async def test_after_a_compaction_a_turn_goes_on(replay: Replay) -> None:
    first = await settle(replay, Core(), "fix all tests")
    summary = "This session is being continued from a previous conversation that ran out of context. Tests are fixed."

    assert (await settle(replay, Core("lives in Lisbon"), summary)).turn == first.turn
    assert (await settle(replay, Core("lives in Lisbon"), summary)).blocks == ()


async def test_a_turn_that_ended_without_an_answer_is_opened_again_by_the_next_try(
    replay: Replay, store: FailingStore, clock: FakeClock
) -> None:
    first = await settle(replay, Core(), "where do I live")
    await store.write(lambda r: r.proxy.turns.close_idle(clock.now() + 1, clock.now()))
    assert await turn_of(store, first) is None

    again = await settle(replay, Core(), "where do I live")

    assert again.turn == first.turn
    assert await turn_of(store, again) is not None


async def test_a_conversation_that_goes_on_under_another_id_keeps_what_was_put_in(
    replay: Replay, store: FailingStore
) -> None:
    first = await settle(replay, Core("lives in Lisbon"), "where do I live")
    resumed = replace(SESSION, session="s2")
    await store.write(lambda r: r.proxy.bindings.put(resumed, Bound("bound", "home", "assistant"), 0, 1))

    later = await settle(replay, Core("likes tea"), "where do I live", "in Lisbon", "thanks", session=resumed)
    assert later.blocks[0] == first.blocks[0]
    assert len(later.blocks) == 2

    # From here on the session stands alone.
    await store.write(lambda r: r.proxy.sessions.remove(SESSION))
    again = await settle(replay, None, "where do I live", "in Lisbon", "thanks", session=resumed)
    assert again.blocks == later.blocks


async def test_two_conversations_that_begin_alike_have_memory_of_their_own(replay: Replay) -> None:
    first = await settle(replay, Core("lives in Lisbon"), "hello")
    second = await settle(replay, Core("likes tea"), "hello", session=replace(SESSION, session="s2"))
    assert first.blocks != second.blocks


async def test_a_long_message_is_asked_about_by_its_beginning(replay: Replay) -> None:
    core = Core()
    await settle(replay, core, "plum " * 5_000)
    assert [len(query) for query in core.asked] == [2_048]


async def test_a_step_of_a_tool_loop_writes_nothing(replay: Replay, store: FailingStore) -> None:
    first = await settle(replay, Core("lives in Lisbon"), "where do I live")
    store.fails = {"write"}

    assert await settle(replay, Core(), "where do I live", "I look") == replace(first, asked=False)


async def test_what_was_cut_on_the_users_wish_stays_out_and_nothing_takes_its_place(
    replay: Replay, store: FailingStore
) -> None:
    core = Core("lives in Lisbon")
    await settle(replay, core, "where do I live")
    await store.write(lambda r: r.proxy.ledger.cut(SESSION, ["m_0"]))

    assert (await settle(replay, core, "where do I live")).blocks == ()
    assert len(core.asked) == 1


async def test_a_request_whose_tokens_are_counted_decides_nothing(replay: Replay, store: FailingStore) -> None:
    async def counted(*texts: str) -> Replayed:
        return await replay.settle(SESSION, WIRE.read(body(*texts)), WIRE, CLIENT, only_look=True)

    assert await counted("where do I live") == Replayed()
    store.fails = {"read"}
    with pytest.raises(Unavailable):
        await counted("where do I live")
    store.fails = set()
    sent = await settle(replay, Core("lives in Lisbon"), "where do I live")
    assert sent.blocks
    assert await counted("where do I live") == Replayed(sent.blocks)
