"""Whatever is repeated, mixed up, cancelled or interrupted by a restart: each message is stored once, distilled once."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from memstrata.clock import Instant
from memstrata.errors import Conflict
from memstrata.memory import Memory, MessageInput, Scope
from memstrata.records import Receipt
from memstrata.settings import PipelineSettings, Settings
from memstrata.testing import EchoDistiller

T = TypeVar("T")
MANY = 1_000
SCOPE = Scope("default", "team", "agent", "user")
SESSIONS = ("s1", "s2")
# Past, future, equal, missing: client times are data.
TIMES: tuple[Instant | None, ...] = (None, 0, 1_767_603_600_000, 1_767_603_600_000, 32_503_680_000_000)


def said(*texts: str, ids: tuple[str | None, ...] = (), said_at: Instant | None = None) -> tuple[MessageInput, ...]:
    given = (*ids, *[None] * len(texts))
    return tuple(
        MessageInput("user" if place % 2 == 0 else "assistant", text, said_at=said_at, message_id=one)
        for place, (text, one) in enumerate(zip(texts, given, strict=False))
    )


# Few enough to meet again and again: with ids and without, overlapping, contradicting, the same words twice.
PAYLOADS = (
    said("I live in Lisbon", "Lisbon has steep streets"),
    said("I live in Lisbon", "Lisbon has steep streets", said_at=TIMES[1]),
    said("oolong is my favourite tea", "a tea from Fujian", said_at=TIMES[4]),
    said("my sister plays the cello", "the cello is a large instrument", ids=("m1", "m2")),
    said("my sister plays the cello", "the cello is a large instrument", ids=("m1",)),
    said(
        "my sister plays the cello",
        "the cello is a large instrument",
        "and the violin",
        ids=("m1", "m2", "m3"),
        said_at=TIMES[2],
    ),
    said("the blue bicycle needs new brakes", ids=("m1",), said_at=TIMES[2]),
    said("the blue bicycle needs new brakes", ids=("m4",), said_at=TIMES[3]),
)
KEYS = (None, "k1", "k2")


@dataclass(frozen=True, slots=True)
class Write:
    session: str
    key: str | None
    payload: tuple[MessageInput, ...]


WRITES = st.builds(Write, st.sampled_from(SESSIONS), st.sampled_from(KEYS), st.sampled_from(PAYLOADS))


@dataclass(slots=True)
class Log:
    """What one session must hold: (id, role, text) in order, and what each key was used for."""

    messages: list[tuple[str, str, str]] = field(default_factory=list)
    receipts: dict[str, tuple[tuple[MessageInput, ...], tuple[str, ...]]] = field(default_factory=dict)

    def outcome(self, write: Write) -> Conflict | bool:
        """Return whether the write is a replay, or the error that it must meet."""
        if write.key is not None and write.key in self.receipts:
            return self.receipts[write.key][0] == write.payload or Conflict()
        known = {one: (role, text) for one, role, text in self.messages}
        for message in write.payload:
            if message.message_id in known and known[message.message_id] != (message.role, message.content):
                return Conflict()
        return all(message.message_id in known for message in write.payload)

    def apply(self, write: Write, receipt: Receipt) -> None:
        if write.key is not None and write.key in self.receipts:
            assert receipt.message_ids == self.receipts[write.key][1]
            return
        known = {one for one, _, _ in self.messages}
        for one, message in zip(receipt.message_ids, write.payload, strict=True):
            assert message.message_id in (None, one)
            if one not in known:
                self.messages.append((one, message.role, message.content))
        if write.key is not None:
            self.receipts[write.key] = (write.payload, receipt.message_ids)


class RepeatedWrites(RuleBasedStateMachine):
    """Writes from a small pool, so that most repeat or contradict one that came before."""

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="once-"))
        self.runner = asyncio.Runner()
        self.logs = {session: Log() for session in SESSIONS}
        self.distiller = EchoDistiller()
        self.open()

    def open(self) -> None:
        self.stack = AsyncExitStack()
        pipeline = PipelineSettings(l2_delay_seconds=0.0, l2_min_interval_seconds=0.0, batch_messages=3)
        given = Settings(data_dir=self.folder, pipeline=pipeline)
        self.memory = self.run(self.stack.enter_async_context(Memory.open(settings=given, distiller=self.distiller)))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def add(self, write: Write) -> Coroutine[Any, Any, Receipt]:
        return self.memory.add(SCOPE, write.session, write.payload, idempotency_key=write.key)

    @rule(write=WRITES)
    def write(self, write: Write) -> None:
        log = self.logs[write.session]
        outcome = log.outcome(write)
        if isinstance(outcome, Conflict):
            with pytest.raises(Conflict):
                self.run(self.add(write))
            return
        receipt = self.run(self.add(write))
        assert receipt.replayed == outcome
        log.apply(write, receipt)

    @rule(writes=st.lists(WRITES, min_size=2, max_size=6))
    def write_at_the_same_time(self, writes: list[Write]) -> None:
        """Writes under way together end as if they had come one after the other, in the order of their calls."""

        async def together() -> list[Receipt | BaseException]:
            return await asyncio.gather(*map(self.add, writes), return_exceptions=True)

        for write, answer in zip(writes, self.run(together()), strict=True):
            log = self.logs[write.session]
            outcome = log.outcome(write)
            if isinstance(outcome, Conflict):
                assert isinstance(answer, Conflict)
            else:
                assert isinstance(answer, Receipt)
                assert answer.replayed == outcome
                log.apply(write, answer)

    @rule(write=WRITES.filter(lambda write: write.key is not None), turns=st.integers(0, 3))
    def write_and_hang_up_and_try_again(self, write: Write, turns: int) -> None:
        """A caller who was cancelled does not know; the same key tells."""
        log = self.logs[write.session]
        outcome = log.outcome(write)

        async def twice() -> Receipt:
            first = asyncio.create_task(self.add(write))
            for _ in range(turns):
                await asyncio.sleep(0)
            first.cancel()
            await asyncio.wait([first])
            if not first.cancelled():
                first.exception()
            return await self.add(write)

        if isinstance(outcome, Conflict):
            with pytest.raises(Conflict):
                self.run(twice())
        else:
            log.apply(write, self.run(twice()))

    @rule()
    def restart(self) -> None:
        self.run(self.stack.aclose())
        self.open()

    @rule(session=st.sampled_from([None, *SESSIONS]))
    def flush(self, session: str | None) -> None:
        state = self.run(self.memory.flush(SCOPE, session_id=session))
        assert state.layers["l1"].pending == 0
        if session is None:
            assert state.idle

    @invariant()
    def every_message_is_stored_once_and_in_order(self) -> None:
        for session, log in self.logs.items():
            page = self.run(self.memory.messages(SCOPE, session_id=session, limit=MANY))
            stored = sorted(page.items, key=lambda message: message.seq)
            assert [(one.message_id, one.role, one.content) for one in stored] == log.messages

    def teardown(self) -> None:
        if not hasattr(self, "runner"):
            return
        try:
            assert self.run(self.memory.flush(SCOPE)).idle
            self._check_memories()
            self.run(self.stack.aclose())
        finally:
            self.runner.close()
            shutil.rmtree(self.folder)

    def _check_memories(self) -> None:
        """Every text of the user is one memory that rests on each message which says it; each was read once."""
        sources: dict[str, set[str]] = {}
        for log in self.logs.values():
            for one, role, text in log.messages:
                if role == "user":
                    sources.setdefault(text, set()).add(one)
        memories = self.run(self.memory.memories(SCOPE, limit=MANY)).items
        assert sorted(memory.content for memory in memories) == sorted(sources)
        for memory in memories:
            evidence = self.run(self.memory.trace(SCOPE, memory.memory_id))
            assert {message.message_id for message in evidence.messages} == sources[memory.content]
        assert len(self.distiller.seen) == sum(len(log.messages) for log in self.logs.values())


QUICK = settings(
    max_examples=30,
    stateful_step_count=15,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
LONG = settings(QUICK, max_examples=200, stateful_step_count=40, derandomize=False, print_blob=True)


def test_repeated_writes_are_stored_once() -> None:
    run_state_machine_as_test(RepeatedWrites, settings=QUICK)


@pytest.mark.slow
def test_repeated_writes_are_stored_once_in_long_random_runs() -> None:
    run_state_machine_as_test(RepeatedWrites, settings=LONG)
