"""Whatever happens to a conversation and its runs, each turn reaches the server once and nothing injected ever does."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any, TypeVar

import httpx
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memstrata.client import AsyncMemoryClient
from memstrata.client.turn import AsyncTurnRecorder, MemoryWatermarkStore, Turn

T = TypeVar("T")

BLOCK = '<relevant-memories source="memstrata">\n- INJECTED\n</relevant-memories>\n\n'
TEXTS = st.sampled_from(["ok", "yes", "go on", "好的", "I moved", "[TODO] call @ann", "/etc/hosts is wrong"])


class Failing(MemoryWatermarkStore):
    """A store that fails while it is away."""

    is_away = False

    async def get(self, key: str) -> str | None:
        if self.is_away:
            raise ConnectionError
        return await super().get(key)

    async def put(self, key: str, value: str, ttl_seconds: int | None) -> None:
        if self.is_away:
            raise ConnectionError
        await super().put(key, value, ttl_seconds)

    async def delete(self, key: str) -> None:
        if self.is_away:
            raise ConnectionError
        await super().delete(key)


class Runs(RuleBasedStateMachine):
    """One thread of an agent. `must` is what the server has to have in the end, `may` what was taken back unanswered."""

    store_holds = True

    @initialize(names=st.booleans())
    def start(self, names: bool) -> None:
        self.has_ids = names
        self.server: dict[str, tuple[str, str]] = {}
        self.conflicts = 0
        self.is_down = False
        self.messages: list[dict[str, Any]] = []
        self.pending: dict[int, str] = {}
        self.must: Counter[str] = Counter()
        self.may: Counter[str] = Counter()
        self.made = 0
        self.runner = asyncio.Runner()
        self.store = Failing()  # outlives the recorders, as a file would
        self.client = AsyncMemoryClient(
            team="t", agent="a", user="u", session="s", transport=httpx.MockTransport(self.answer)
        )

        async def pause(_: float) -> None:
            return

        self.client._pause = pause
        self.recorder = AsyncTurnRecorder(self.client, store=self.store)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def answer(self, request: httpx.Request) -> httpx.Response:
        if self.is_down:
            raise httpx.ConnectError("refused", request=request)
        body = httpx.Response(200, content=request.content).json()
        for message in body["messages"]:
            pair = (message["role"], message["content"])
            if self.server.setdefault(message["id"], pair) != pair:
                self.conflicts += 1
                return httpx.Response(409, json={"code": 409, "message": "another text"})
        return httpx.Response(200, json={"code": 0, "data": {"accepted_ids": []}})

    def say(self, role: str, text: str, **more: Any) -> int:
        self.made += 1
        message = {"role": role, "content": text, "number": self.made, **more}
        if self.has_ids:
            message["id"] = f"m{self.made}"
        self.messages.append(message)
        return self.made

    def text(self, text: str) -> str:
        return text if self.has_ids else f"{text} ({self.made + 1})"  # without ids a repetition may count once

    def ask(self, text: str, *, injected: bool) -> Turn | None:
        said = self.text(text)
        number = self.say("user", BLOCK + said if injected else said)
        self.pending[number] = said
        return self.run(self.recorder.begin(self.messages))

    def use_tools(self, rounds: int) -> None:
        for _ in range(rounds):
            self.say("assistant", "TOOL", tool_calls=[{"id": "c"}])
            self.say("tool", "TOOL RESULT")

    def reply_and_capture(self, text: str, turn: Turn | None) -> None:
        said = self.text(f"reply: {text}")
        self.say("assistant", said)
        outcome = self.run(self.recorder.capture(self.messages, turn=turn))
        if not self.store_holds:
            self.may.update([*self.pending.values(), said])
            self.pending = {}
            return
        assert outcome == "captured"
        self.must.update([*self.pending.values(), said])
        self.pending = {}

    @rule(text=TEXTS, rounds=st.integers(0, 2), injected=st.booleans())
    def a_run_goes_well(self, text: str, rounds: int, injected: bool) -> None:
        turn = self.ask(text, injected=injected)
        self.use_tools(rounds)
        self.reply_and_capture(text, turn)

    @rule(text=TEXTS, keep=st.integers(0, 3), rounds=st.integers(0, 2))
    def a_run_is_compacted_on_its_way(self, text: str, keep: int, rounds: int) -> None:
        turn = self.ask(text, injected=False)
        self.use_tools(rounds)
        self.compact(keep)
        self.reply_and_capture(text, turn)

    @rule(text=TEXTS, rounds=st.integers(0, 1))
    def a_run_fails(self, text: str, rounds: int) -> None:
        self.ask(text, injected=False)
        self.use_tools(rounds)

    @rule(text=TEXTS, elsewhere=st.booleans())
    def a_run_is_interrupted_and_resumed(self, text: str, elsewhere: bool) -> None:
        self.ask(text, injected=False)
        self.say("assistant", "TOOL", tool_calls=[{"id": "c"}])
        if elsewhere:
            self.another_process_takes_over()
        self.say("tool", "TOOL RESULT")
        assert self.run(self.recorder.begin(self.messages)) is None
        self.reply_and_capture(text, None)

    @rule(text=TEXTS)
    def a_run_is_captured_twice(self, text: str) -> None:
        turn = self.ask(text, injected=False)
        self.reply_and_capture(text, turn)
        assert self.run(self.recorder.capture(self.messages, turn=turn)) == "not begun"
        assert self.run(self.recorder.capture(self.messages)) == "not begun" or not self.store_holds

    @rule(text=TEXTS, again=TEXTS)
    def a_question_is_edited_and_asked_again(self, text: str, again: str) -> None:
        turn = self.ask(text, injected=False)
        place = len(self.messages) - 1
        self.reply_and_capture(text, turn)
        self.rewind(place)
        self.reply_and_capture(again, self.ask(again, injected=False))

    @rule(text=TEXTS)
    def a_reply_is_made_anew(self, text: str) -> None:
        turn = self.ask(text, injected=False)
        self.reply_and_capture(text, turn)
        self.messages.pop()
        self.reply_and_capture(text, self.run(self.recorder.begin(self.messages)))

    @rule(keep=st.integers(0, 4))
    def compact(self, keep: int) -> None:
        kept = self.messages[-keep:] if keep else []
        if len(kept) < len(self.messages):
            self.messages = []
            self.say("user", f"SUMMARY {self.made}", synthetic=True)
            self.messages += kept

    @precondition(lambda self: bool(self.messages))
    @rule(share=st.floats(0, 1))
    def rewind_somewhere(self, share: float) -> None:
        self.rewind(int(share * len(self.messages)))

    def rewind(self, place: int) -> None:
        """Cut the list. What waited and is taken back may be remembered or not; it was said, and never answered."""
        self.messages = self.messages[:place]
        left = {message["number"] for message in self.messages}
        for number in [number for number in self.pending if number not in left]:
            self.may[self.pending.pop(number)] += 1

    @rule()
    def another_process_takes_over(self) -> None:
        self.run(self.recorder.aclose(0.0))
        self.recorder = AsyncTurnRecorder(self.client, store=self.store)

    @rule(down=st.booleans())
    def the_server_goes_or_comes(self, down: bool) -> None:
        self.is_down = down

    @invariant()
    def nothing_is_stored_that_nobody_said(self) -> None:
        for _, text in self.server.values():
            assert not any(word in text for word in ("INJECTED", "TOOL", "SUMMARY", "relevant-memories"))

    def teardown(self) -> None:
        if not hasattr(self, "runner"):
            return
        self.is_down = False
        try:
            assert self.run(self.recorder.drain(2.0)) == 0
            assert self.conflicts == 0
            stored = Counter(text for _, text in self.server.values())
            allowed = self.must + self.may + Counter(self.pending.values())
            assert not self.must - stored, "a turn is missing"
            assert not stored - allowed, "a message is doubled"
            assert not self.store_holds or self.recorder.status.last_error in ("", "delivery: Unreachable")
        finally:
            self.run(self.client.aclose())
            self.run(self.recorder.aclose(0.0))
            self.runner.close()


class RunsWithAFailingStore(Runs):
    """The same with a store that comes and goes: a turn may be missed then, and still nothing is doubled."""

    store_holds = False

    @rule(away=st.booleans())
    def the_store_goes_or_comes(self, away: bool) -> None:
        self.store.is_away = away


TestRuns = Runs.TestCase
TestRuns.settings = settings(max_examples=40, stateful_step_count=20)
TestRunsWithAFailingStore = RunsWithAFailingStore.TestCase
TestRunsWithAFailingStore.settings = settings(max_examples=25, stateful_step_count=20)
