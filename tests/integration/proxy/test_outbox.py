"""Turns reach the core once and in order, whatever fails on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstrata.errors import Unavailable
from memstrata.proxy.keeping import Keeping
from memstrata.proxy.outbox import Outbox, Refused, wait_seconds
from memstrata.proxy.turns import Turns
from memstrata.proxy.wire.request import Reply, ToolCall, Usage
from memstrata.proxy.wire.wires import WIRES
from memstrata.records.proxy import NewTurn, ProxySession, Turn
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import FakeClock

SESSION = ProxySession("default", "lin", "claude-code", "s1")
ASKED = WIRES["anthropic"].read(b'{"model":"m","messages":[{"role":"user","content":"q"}]}')
Eventually = Callable[..., asyncio.Future[None]]


class Core:
    """Takes turns, by their id once each, as long as nothing is set to fail."""

    def __init__(self) -> None:
        self.taken: dict[str, Turn] = {}
        self.tries: list[str] = []
        self.errors: list[Exception] = []
        self.refuses: set[str] = set()
        self.loses_receipts = 0

    async def __call__(self, turn: Turn) -> None:
        self.tries.append(turn.turn_id)
        if turn.turn_id in self.refuses:
            raise Refused("no such agent")
        if self.errors:
            raise self.errors.pop(0)
        self.taken.setdefault(turn.turn_id, turn)
        if self.loses_receipts:
            self.loses_receipts -= 1
            raise ConnectionResetError


@pytest.fixture
def core() -> Core:
    return Core()


@pytest.fixture
def outbox(store: SqliteStore, clock: FakeClock, core: Core) -> Outbox:
    return Outbox(store, clock, core)


@pytest.fixture
def turns(store: SqliteStore, clock: FakeClock, outbox: Outbox) -> Turns:
    return Turns(store, clock, outbox.wake)


@asynccontextmanager
async def running(outbox: Outbox) -> AsyncIterator[None]:
    task = asyncio.create_task(outbox.run())
    try:
        yield
    finally:
        outbox.stop()
        await task


def reply(text: str = "done", *calls: str, stop: str = "end_turn", complete: bool = True) -> Reply:
    asked = tuple(ToolCall(name, "Bash", "{}") for name in calls)
    return Reply(text, stop, asked, Usage(), complete, "", thinking=False)


async def opened(store: SqliteStore, clock: FakeClock, name: str, session: ProxySession = SESSION) -> None:
    turn = NewTurn(name, f"question of {name}", "home", "assistant")
    await store.write(lambda r: r.proxy.ledger.open(session, (), turn, clock.now()))


async def closed(store: SqliteStore, clock: FakeClock, *names: str, session: ProxySession = SESSION) -> None:
    for name in names:
        await opened(store, clock, name, session)
        await store.write(
            lambda r, name=name: r.proxy.turns.close(session, name, "done", clock.now(), complete=True)  # type: ignore[misc]
        )


async def state(store: SqliteStore, name: str, session: ProxySession = SESSION) -> str:
    found = await store.read(lambda r: r.proxy.turns.read(session, name))
    return "" if found is None else found.state


async def test_a_tool_loop_of_ten_steps_is_one_turn_with_its_final_answer(
    store: SqliteStore, clock: FakeClock, turns: Turns, outbox: Outbox, core: Core, eventually: Eventually
) -> None:
    async with running(outbox):
        await opened(store, clock, "t1")
        for step in range(9):
            assert not await turns.answered(SESSION, "t1", ASKED, reply(f"step {step}", f"c{step}", stop="tool_use"))
        assert await turns.answered(SESSION, "t1", ASKED, reply("all fixed"))
        assert not await turns.answered(SESSION, "t1", ASKED, reply("all fixed, again"))
        await eventually(lambda: core.taken)

    assert [(turn.question, turn.answer, turn.complete) for turn in core.taken.values()] == [
        ("question of t1", "all fixed", True)
    ]
    assert await state(store, "t1") == "delivered"


async def test_a_turn_ends_with_the_next_question_as_far_as_it_came(
    store: SqliteStore, clock: FakeClock, turns: Turns, outbox: Outbox, core: Core, eventually: Eventually
) -> None:
    await opened(store, clock, "t1")
    await turns.answered(SESSION, "t1", ASKED, reply("I will look", "c1", stop="tool_use"))
    await turns.answered(SESSION, "t1", ASKED, reply("", stop="", complete=False))
    await opened(store, clock, "t2")
    async with running(outbox):
        await eventually(lambda: core.taken)

    assert [(turn.answer, turn.complete) for turn in core.taken.values()] == [("I will look", False)]


async def test_a_turn_ends_after_ten_idle_minutes(
    store: SqliteStore, clock: FakeClock, turns: Turns, outbox: Outbox, core: Core, eventually: Eventually
) -> None:
    await opened(store, clock, "t1")
    await turns.answered(SESSION, "t1", ASKED, reply("half", stop="", complete=False))
    assert await outbox._round() == clock.now() + 600_000

    clock.advance(599)
    await outbox._round()
    assert await state(store, "t1") == "open"
    clock.advance(1)
    await outbox._round()
    assert [(turn.answer, turn.complete) for turn in core.taken.values()] == [("half", False)]


async def test_a_turn_that_nobody_answered_leaves_nothing(
    store: SqliteStore, clock: FakeClock, core: Core, outbox: Outbox
) -> None:
    await opened(store, clock, "t1")
    clock.advance(601)
    await outbox._round()
    assert await state(store, "t1") == ""
    assert core.taken == {}


async def test_a_core_that_fails_twice_gets_the_turn_at_the_third_try(
    store: SqliteStore, clock: FakeClock, outbox: Outbox, core: Core, eventually: Eventually
) -> None:
    core.errors = [Unavailable("away"), RuntimeError("secret of the turn")]
    await closed(store, clock, "t1")
    async with running(outbox):
        for tries in (1, 2):
            await eventually(lambda tries=tries: outbox.retried == tries)
            assert outbox.health().state == "reduced"
            assert "secret" not in outbox.health().reason
            clock.advance(wait_seconds(tries))
        await eventually(lambda: outbox.delivered)

    assert core.tries == ["t1"] * 3
    assert len(core.taken) == 1
    assert outbox.health().state == "ok"


async def test_waits_grow_from_half_a_second_to_ten_minutes() -> None:
    assert [wait_seconds(attempts) for attempts in range(4)] == [0.5, 1.0, 2.0, 4.0]
    assert wait_seconds(10) == 512.0
    assert wait_seconds(11) == wait_seconds(10_000) == 600.0


async def test_turns_of_a_session_arrive_in_order_and_other_sessions_do_not_wait(
    store: SqliteStore, clock: FakeClock, outbox: Outbox, core: Core
) -> None:
    other = replace(SESSION, session="s2")
    core.errors = [Unavailable("away")]
    await closed(store, clock, "t1", "t2")
    await outbox._round()
    await closed(store, clock, "t3", session=other)
    await outbox._round()
    assert list(core.taken) == ["t3"]

    clock.advance(1)
    await outbox._round()
    assert list(core.taken) == ["t3", "t1", "t2"]


async def test_what_the_core_will_never_take_is_put_aside_and_seen(
    store: SqliteStore, clock: FakeClock, outbox: Outbox, core: Core
) -> None:
    core.refuses = {"t1"}
    await closed(store, clock, "t1", "t2")
    await outbox._round()

    assert (await state(store, "t1"), list(core.taken)) == ("parked", ["t2"])
    assert outbox.parked == 1

    core.refuses = set()
    await store.write(lambda r: r.proxy.turns.revive("default", clock.now()))
    await outbox._round()
    assert await state(store, "t1") == "delivered"


async def test_a_turn_whose_receipt_was_lost_is_sent_again_under_the_same_id(
    store: SqliteStore, clock: FakeClock, outbox: Outbox, core: Core
) -> None:
    core.loses_receipts = 1
    await closed(store, clock, "t1")
    await outbox._round()
    clock.advance(1)
    await outbox._round()

    assert core.tries == ["t1", "t1"]
    assert (len(core.taken), await state(store, "t1")) == (1, "delivered")


async def test_stopping_sends_what_is_due_and_leaves_the_rest_for_the_next_start(
    tmp_path: Path, clock: FakeClock, core: Core
) -> None:
    folder = tmp_path / "own"
    first = await SqliteStore.open(folder)
    await closed(first, clock, "t1")
    core.errors = [Unavailable("away")]
    outbox = Outbox(first, clock, core)
    outbox.stop()
    await outbox.run()
    assert core.tries == []
    assert await outbox.drain(60.0) == 1
    await first.close()

    clock.advance(60)
    second = await SqliteStore.open(folder)
    assert await Outbox(second, clock, core).drain(60.0) == 0
    await second.close()
    assert list(core.taken) == ["t1"]


async def test_a_core_that_hangs_holds_up_neither_the_end_nor_the_turn(store: SqliteStore, clock: FakeClock) -> None:
    async def hangs(_: Turn) -> None:
        await asyncio.Event().wait()

    await closed(store, clock, "t1")
    outbox = Outbox(store, clock, hangs)

    assert await outbox.drain(0.01) == 1
    assert await state(store, "t1") == "ready"


async def test_a_closed_store_is_shown_in_health_and_asked_again(
    tmp_path: Path, clock: FakeClock, core: Core, eventually: Eventually
) -> None:
    closed_store = await SqliteStore.open(tmp_path / "own")
    await closed(closed_store, clock, "t1")

    class Once:
        """Fails its first read."""

        failed = False

        async def read(self, work: Any, *, timeout_seconds: float = 10.0) -> Any:
            if not self.failed:
                self.failed = True
                raise Unavailable("locked")
            return await closed_store.read(work, timeout_seconds=timeout_seconds)

        write = closed_store.write
        health = closed_store.health
        close = closed_store.close

    outbox = Outbox(Once(), clock, core)
    async with running(outbox):
        await eventually(lambda: outbox.health().state == "reduced")
        clock.advance(5)
        await eventually(lambda: outbox.delivered)
        await eventually(lambda: outbox.health().state == "ok")
    await closed_store.close()


async def test_sessions_that_nobody_uses_go_after_thirty_days_as_a_whole(store: SqliteStore, clock: FakeClock) -> None:
    other = replace(SESSION, session="s2")
    keeping = Keeping(store, clock)
    for session in (SESSION, other):
        await opened(store, clock, "t1", session)
        await store.write(lambda r: r.proxy.turns.close_idle(clock.now() + 1, clock.now()))
    clock.advance(30 * 86_400)
    assert await keeping.sweep() == 0
    await store.write(lambda r: r.proxy.sessions.touch(other, clock.now()))
    clock.advance(1)

    assert await keeping.sweep() == 1
    assert keeping.health().details == {"removed": 1}


async def test_idle_sessions_are_looked_for_every_hour(
    store: SqliteStore, clock: FakeClock, eventually: Eventually
) -> None:
    await opened(store, clock, "t1")
    await store.write(lambda r: r.proxy.turns.close_idle(clock.now() + 1, clock.now()))
    keeping = Keeping(store, clock, days=0)
    task = asyncio.create_task(keeping.run())
    clock.advance(3_601)
    await eventually(lambda: keeping.removed == 1)
    keeping.stop()
    await task
