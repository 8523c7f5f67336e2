"""Turn capture against the real server: what it stores, what it does when the server is away, what it never doubles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memstrata.client import (
    AsyncMemoryClient,
    AsyncTurnRecorder,
    MemoryClient,
    SqliteWatermarkStore,
    TurnIds,
    TurnRecorder,
)
from memstrata.client.turn.store import in_daemon_thread

INJECTED = '<relevant-memories source="memstrata">\n- INJECTED\n</relevant-memories>\n\n'


def client(url: str) -> AsyncMemoryClient:
    async def pause(_: float) -> None:
        return

    made = AsyncMemoryClient(url, team="home", agent="helper", user="lin", session="s1")
    made._pause = pause
    return made


async def stored(memory: AsyncMemoryClient, session: str = "s1") -> list[tuple[str, str]]:
    page = await memory.messages(session=session, limit=100)
    return [(one.role, one.content) for one in reversed(page.items)]


async def test_turns_are_stored_once_in_order_without_tools_and_without_what_was_injected(serve: Any) -> None:
    async with serve() as url, client(url) as memory:
        recorder = AsyncTurnRecorder(memory)
        messages: list[dict[str, Any]] = [{"role": "system", "content": "be kind"}]
        for question in ("I moved to Lisbon", "我喜欢喝绿茶"):
            messages.append({"role": "user", "content": INJECTED + question})
            turn = await recorder.begin(messages)
            messages.append({"role": "assistant", "content": "Looking.", "tool_calls": [{"id": "c"}]})
            messages.append({"role": "tool", "content": "nothing"})
            messages.append({"role": "assistant", "content": f"Noted: {question}"})
            assert await recorder.capture(messages, turn=turn) == "captured"
            assert await recorder.capture(messages, turn=turn) == "not begun"
        assert await recorder.drain() == 0

        assert await stored(memory) == [
            ("user", "I moved to Lisbon"),
            ("assistant", "Noted: I moved to Lisbon"),
            ("user", "我喜欢喝绿茶"),
            ("assistant", "Noted: 我喜欢喝绿茶"),
        ]
        assert recorder.status.is_healthy
        await recorder.aclose()


async def test_a_turn_captured_while_the_server_is_away_is_delivered_by_the_next_process(
    serve: Any, tmp_path: Path
) -> None:
    file = tmp_path / "turns.db"
    async with serve() as url:
        pass
    async with client(url) as memory:
        recorder = AsyncTurnRecorder(memory, store=SqliteWatermarkStore(file))
        messages = [("user", "I am left-handed")]
        turn = await recorder.begin(messages)
        messages.append(("assistant", "Noted."))
        assert await recorder.capture(messages, turn=turn) == "captured"
        await recorder.drain(0.2)
        assert recorder.status.waiting == 1
        await recorder.aclose(0.0)

    async with serve() as again, client(again) as memory:
        assert again == url
        later = AsyncTurnRecorder(memory, store=SqliteWatermarkStore(file))
        assert await later.drain() == 0
        assert await stored(memory) == [("user", "I am left-handed"), ("assistant", "Noted.")]
        assert await AsyncTurnRecorder(memory, store=SqliteWatermarkStore(file)).drain() == 0
        assert await memory.count_messages() == 2
        await later.aclose()


async def test_a_turn_cut_again_with_other_times_and_another_key_stores_nothing_twice(serve: Any) -> None:
    async with serve() as url, client(url) as memory:
        messages = [("user", "hello"), ("assistant", "hi")]
        for _ in range(2):
            recorder = AsyncTurnRecorder(memory)
            turn = await recorder.begin(messages[:1])
            assert await recorder.capture(messages, turn=turn) == "captured"
            assert await recorder.drain() == 0
            assert recorder.status.rejected == 0
            await recorder.aclose()

        assert await stored(memory) == messages


async def test_a_turn_beyond_the_limits_is_taken_whole(serve: Any) -> None:
    async with serve() as url, client(url) as memory:
        recorder = AsyncTurnRecorder(memory)
        many = [("user", f"point {number}") for number in range(120)]
        many.append(("user", "记忆" * 200_000))
        turn = await recorder.begin(many)
        assert await recorder.capture(many, TurnIds(), turn) == "captured"
        assert await recorder.drain(15.0) == 0
        assert recorder.status.delivered == 1

        assert await memory.count_messages() == 120 + 49
        await recorder.aclose()


async def test_19_a_long_list_of_memories_is_cut_and_says_so(serve: Any) -> None:
    """The last row of the table of edge cases is about reading; the cut is the server's, on what turns left behind."""
    async with serve() as url, client(url) as memory:
        recorder = AsyncTurnRecorder(memory)
        things = ["tent", "kettle", "violin", "sledge", "globe", "lantern", "kayak", "loom"]
        place = "in the attic of the old house by the river"
        said = [("user", f"Remember that my {thing} is {place}.") for thing in things]
        turn = await recorder.begin(said)
        await recorder.capture(said, turn=turn)
        await recorder.drain()
        await memory.flush()
        path = ", ".join(f"past shelf {number}" for number in range(80))
        for one in (await memory.memories()).items:
            await memory.update_memory(one.id, f"{one.content}: {path}")

        question, rest = "what is in the attic of the old house?", {"limit": 8, "budget_ms": 5_000}
        whole = await memory.recall(question, include=["memories"], **rest)
        short = await memory.recall(question, include=["memories"], max_tokens=160, **rest)
        assert whole.hits
        assert "memory_search" in short.prepend_context
        assert len(short.prepend_context) < len(whole.prepend_context)
        await recorder.aclose()


async def test_the_blocking_twin_writes_the_same(serve: Any) -> None:
    async with serve() as url, client(url) as memory:

        def run() -> int:
            with MemoryClient(url, team="home", agent="helper", user="lin", session="s1") as blocking:
                with TurnRecorder(blocking) as recorder:
                    turn = recorder.begin([("user", "hello")])
                    recorder.capture([("user", "hello"), ("assistant", "hi")], turn=turn)
                return recorder.status.delivered

        assert await in_daemon_thread(run) == 1
        assert await stored(memory) == [("user", "hello"), ("assistant", "hi")]
