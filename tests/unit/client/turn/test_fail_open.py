"""What a recorder does when its store or its server fails: it goes on, and it says so."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

import pytest

from memstrata.client import MemoryClient
from memstrata.client.turn import AsyncTurnRecorder, MemoryWatermarkStore, TurnIds, TurnRecorder
from memstrata.client.turn.journal import Journal, Wait
from memstrata.client.turn.parcel import decode_parcel, decode_turn
from memstrata.client.turn.status import Counts

RecorderOf = Callable[..., AsyncTurnRecorder]


class Hanging(MemoryWatermarkStore):
    """A store that never answers, and counts how often it was asked."""

    asked = 0

    async def get(self, key: str) -> str | None:
        self.asked += 1
        await asyncio.Event().wait()
        return None

    async def put(self, key: str, value: str, ttl_seconds: int | None) -> None:
        await self.get(key)


async def test_a_store_that_hangs_is_waited_for_once_and_then_left_alone(
    chat: Any, server: Any, recorder_of: Any
) -> None:
    store = Hanging()
    chat.recorder = recorder_of(store=store, store_wait_seconds=0.01)

    assert await chat.exchange("hello", "hi") == "captured"
    assert await chat.exchange("more", "fine") == "captured"
    await chat.recorder.drain()

    assert store.asked == 1
    assert len(server.texts()) == 4
    assert chat.recorder.status.failed_store_calls > 1


async def test_all_waits_of_a_hook_share_one_second() -> None:
    now = [0.0]

    class Slow(MemoryWatermarkStore):
        async def get(self, key: str) -> str | None:
            now[0] += 0.6
            return "turn"

    counts = Counts()
    journal = Journal(Slow(), counts, clock=lambda: now[0])
    wait = journal.wait()
    assert wait.seconds == 1.0
    assert await journal.unfinished("thread", wait) is None

    assert wait.seconds < 0
    assert await journal.unfinished("thread", wait) is None
    assert (now[0], counts.failed_store_calls) == (1.2, 2)


def test_a_wait_that_was_given_up_is_over() -> None:
    wait = Wait(1.0)
    wait.spend(0.4)
    assert wait.seconds == pytest.approx(0.6)
    wait.give_up()
    assert wait.seconds <= 0.0


@pytest.mark.parametrize(
    "text", ["", "7", "[]", "{}", '{"id": 3}', "[" * 100_000, '{"id": "a", "user": "u", "floor": 1}']
)
async def test_a_note_that_is_not_whole_counts_as_none_and_is_reported(
    chat: Any, server: Any, store: Any, recorder_of: RecorderOf, text: str
) -> None:
    for decode in (decode_turn, decode_parcel):
        with pytest.raises(ValueError):
            decode(text)
    chat.say("user", "hello")
    await chat.begin()
    await chat.recorder.aclose()
    for key in [*await store.keys("mark/")]:
        await store.put(key, text or " ", 60)
    await store.put("outbox/0", text or " ", None)

    chat.recorder = recorder_of()
    chat.say("assistant", "hi")
    assert await chat.capture() == "not begun"
    await chat.recorder.drain()
    assert chat.recorder.status.failed_store_calls == 2
    assert "not readable" in chat.recorder.status.last_error
    assert await store.keys("outbox/") == []
    assert await store.keys("rejected/") == ["rejected/0"]


async def test_what_waits_for_a_server_is_shown_and_delivered_when_it_is_back(
    chat: Any, server: Any, store: Any
) -> None:
    server.state = "down"
    await chat.exchange("hello", "hi")
    await chat.exchange("more", "fine")
    assert await chat.recorder.drain(0.05) == 2
    assert (chat.recorder.status.waiting, chat.recorder.status.last_error) == (2, "delivery: Unreachable")
    assert len(await store.keys("outbox/")) == 2

    server.state = "up"
    assert await chat.recorder.drain() == 0
    assert [text for _, text in server.texts()] == ["hello", "hi", "more", "fine"]
    assert chat.recorder.status.delivered == 2
    assert await store.keys("outbox/") == []
    assert await store.keys("mark/") == []


async def test_a_turn_that_the_server_refuses_steps_aside_and_is_kept(chat: Any, server: Any, store: Any) -> None:
    server.state = "refuses"
    await chat.exchange("hello", "hi")
    await chat.recorder.drain()
    server.state = "up"
    await chat.exchange("more", "fine")
    await chat.recorder.drain()

    assert server.texts() == [("user", "more"), ("assistant", "fine")]
    assert (chat.recorder.status.rejected, chat.recorder.status.waiting) == (1, 0)
    assert len(await store.keys("rejected/")) == 1
    assert not chat.recorder.status.is_healthy


async def test_nothing_is_raised_into_the_agent_and_no_content_is_logged(
    recorder_of: RecorderOf, client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Any) -> Any:
        raise KeyError("SECRET")

    recorder = recorder_of(view=broken)
    with caplog.at_level(logging.DEBUG):
        assert await recorder.begin([("user", "SECRET")]) is None
        assert await recorder.capture([("user", "SECRET")]) == "failed"
    assert recorder.status.outcomes == {"failed": 1}
    assert recorder.status.last_error == "capture: KeyError"
    assert "SECRET" not in caplog.text
    assert len(caplog.records) == 2


async def test_a_run_without_a_session_is_reported_and_not_guessed(client: Any) -> None:
    recorder = AsyncTurnRecorder(client.with_scope(session=None))
    assert await recorder.begin([("user", "hello")]) is None
    assert recorder.status.last_error == "begin: ValueError"


async def test_threads_of_one_recorder_are_apart_by_session_and_user(recorder_of: RecorderOf, server: Any) -> None:
    recorder = recorder_of()
    runs = [TurnIds(session="s1", user="ann"), TurnIds(session="s1", user="ben"), TurnIds(session="s2", user="ann")]
    for ids in runs:
        await recorder.begin([("user", f"I am {ids.user} in {ids.session}")], ids)
    for ids in runs:
        messages = [("user", f"I am {ids.user} in {ids.session}"), ("assistant", "hello")]
        assert await recorder.capture(messages, ids) == "captured"
    await recorder.drain()

    for ids in runs:
        assert server.texts(ids.session, ids.user)[0] == ("user", f"I am {ids.user} in {ids.session}")


async def test_more_than_a_thousand_waiting_turns_are_left_to_the_store(
    chat: Any, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memstrata.client.turn.delivery.MAX_WAITING", 2)
    server.state = "down"
    for number in range(4):
        await chat.exchange(f"question {number}", "reply")
    assert chat.recorder.status.waiting == 2
    assert chat.recorder.status.lost == 0

    server.state = "up"
    await chat.recorder.drain()
    assert sum(role == "user" for role, _ in server.texts()) == 4


async def test_a_turn_that_no_store_took_and_no_room_is_left_for_is_counted_as_lost(
    chat: Any, server: Any, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memstrata.client.turn.delivery.MAX_WAITING", 1)
    server.state, store.is_away = "down", True
    await chat.exchange("one", "reply")
    await chat.exchange("two", "reply")
    assert (chat.recorder.status.waiting, chat.recorder.status.lost) == (1, 1)


def test_the_twins_take_the_same_arguments() -> None:
    names = {"begin": "begin", "capture": "capture", "drain": "drain", "close": "aclose", "__init__": "__init__"}
    for blocking, twin in names.items():
        ours = inspect.signature(getattr(TurnRecorder, blocking)).parameters
        theirs = inspect.signature(getattr(AsyncTurnRecorder, twin)).parameters
        assert {name: str(one.default) for name, one in ours.items() if name != "now"} == {
            name: str(one.default) for name, one in theirs.items() if name != "now"
        }
    public = {name for name in vars(AsyncTurnRecorder) if not name.startswith("_")}
    assert public == {"begin", "capture", "drain", "aclose", "status"}


def test_the_blocking_recorder_captures_resumes_and_closes(blocking_client: MemoryClient, server: Any) -> None:
    with TurnRecorder(blocking_client) as recorder:
        messages: list[Any] = [("user", "hello")]
        turn = recorder.begin(messages)
        messages.append(("assistant", "hi"))
        assert recorder.capture(messages, turn=turn) == "captured"
        messages.append(("user", "and again"))
        recorder.begin(messages)
        messages.append(("assistant", "hi again"))
        assert recorder.capture(messages) == "captured"
        assert recorder.drain() == 0
        assert recorder.status.delivered == 2

    assert [text for _, text in server.texts()] == ["hello", "hi", "and again", "hi again"]
    assert recorder.begin(messages) is None
    assert recorder.capture(messages) == "failed"
    blocking_client.close()


def test_the_blocking_recorder_keeps_what_a_server_that_is_down_does_not_take(
    blocking_client: MemoryClient, server: Any
) -> None:
    server.state = "down"
    recorder = TurnRecorder(blocking_client)
    turn = recorder.begin([("user", "hello")])
    assert recorder.capture([("user", "hello"), ("assistant", "hi")], turn=turn) == "captured"
    assert recorder.drain(0.05) == 1
    server.state = "up"
    assert recorder.drain() == 0
    recorder.close()
    assert len(server.texts()) == 2
    blocking_client.close()


async def test_a_blocking_client_serves_the_asynchronous_recorder(blocking_client: MemoryClient, server: Any) -> None:
    recorder = AsyncTurnRecorder(blocking_client)
    turn = await recorder.begin([("user", "hello")])
    await recorder.capture([("user", "hello"), ("assistant", "hi")], turn=turn)
    assert await recorder.drain() == 0
    await recorder.aclose()
    assert server.texts() == [("user", "hello"), ("assistant", "hi")]
    blocking_client.close()
