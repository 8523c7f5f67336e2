"""Whatever a client does with its history, a conversation goes on from the bytes that went out before (proxy.md §11.3).

For every two requests of which the one goes on from the other: what the provider got first is the beginning of what it got
then. Two proxies on one store take turns; one is killed between any two steps and another takes its place.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstrata.proxy.clients.table import CLIENTS
from memstrata.proxy.recalled import RecalledMemory, RecalledRules
from memstrata.proxy.replay import Recall, Replay, TurnOwner
from memstrata.proxy.wire.request import Wire, WireName
from memstrata.proxy.wire.splice import splice
from memstrata.proxy.wire.wires import WIRES
from memstrata.records.proxy import Bound, ProxySession
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import FakeClock

CLIENT: dict[WireName, str] = {"anthropic": "claude-code", "chat": "codebuddy", "responses": "codex"}
OWNER = TurnOwner("home", "assistant")
RULES = RecalledRules(budget_seconds=10.0)
WORDS = ("continue", "continue", "fix the test", "add a page", "再改一下")
REMINDER = "<system-reminder>\n{}\n</system-reminder>"
SUMMARY = "This session is being continued from a previous conversation that ran out of context. {}"
COMPACT = "Your task is to create a detailed summary of the conversation"


@dataclass(frozen=True)
class Item:
    """One thing in a history: what a person, the model or a tool said."""

    kind: str  # "user", "assistant", "call", "result"
    text: str
    reminder: str = ""


@dataclass(frozen=True)
class Style:
    """How a client writes the same history."""

    marks: bool = False
    plain: bool = False


Message = dict[str, Any]


def rendered(item: Item, number: int, wire: WireName, style: Style) -> Message:
    texts = [REMINDER.format(item.reminder), item.text] if item.reminder else [item.text]
    kind = {"user": "input_text", "assistant": "output_text"}.get(item.kind) if wire == "responses" else "text"
    content: Any = [{"type": kind, "text": text} for text in texts]
    if style.plain and len(texts) == 1:
        content = texts[0]
    match item.kind, wire:
        case "call", "anthropic":
            block = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"command": item.text}}
            return {"role": "assistant", "content": [block]}
        case "result", "anthropic":
            block = {"type": "tool_result", "tool_use_id": f"c{number - 1}", "content": item.text}
            return {"role": "user", "content": [block]}
        case "call", "chat":
            call = {"id": f"c{number}", "type": "function", "function": {"name": "Bash", "arguments": item.text}}
            return {"role": "assistant", "content": None, "tool_calls": [call]}
        case "result", "chat":
            return {"role": "tool", "tool_call_id": f"c{number - 1}", "content": item.text}
        case "call", "responses":
            return {"type": "function_call", "call_id": f"c{number}", "name": "Bash", "arguments": item.text}
        case "result", "responses":
            return {"type": "function_call_output", "call_id": f"c{number - 1}", "output": item.text}
        case _:
            typed = {"type": "message"} if wire == "responses" else {}
            return {**typed, "role": item.kind, "content": content}


def body_of(history: Sequence[Item], wire: WireName, style: Style) -> bytes:
    messages = [rendered(item, number, wire, style) for number, item in enumerate(history)]
    if style.marks and wire == "anthropic" and isinstance(messages[-1]["content"], list):
        messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    name = "input" if wire == "responses" else "messages"
    return json.dumps({"model": "m", "stream": True, name: messages}, ensure_ascii=False).encode()


def canonical(body: bytes, wire: WireName) -> tuple[str, ...]:
    """Return the messages as the provider reads them: without marks, a string like a list of one text."""
    found = []
    for message in json.loads(body)["input" if wire == "responses" else "messages"]:
        content = message.get("content")
        if isinstance(content, str):
            kind = (
                "text" if wire != "responses" else ("output" if message["role"] == "assistant" else "input") + "_text"
            )
            message["content"] = [{"type": kind, "text": content}]
        for block in message.get("content") or []:
            block.pop("cache_control", None)
        found.append(json.dumps(message, ensure_ascii=False))
    return tuple(found)


@dataclass
class World:
    """One client, two proxies, one store, and everything that ever went out."""

    store: SqliteStore
    wire: WireName
    session: ProxySession
    style: Style = field(default_factory=Style)
    history: list[Item] = field(default_factory=list)
    proxies: list[Replay] = field(default_factory=list)
    sent: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)
    raw: list[tuple[bytes, bytes]] = field(default_factory=list)
    asked: int = 0
    said: int = 0
    put_in: int = 0

    @property
    def clock(self) -> FakeClock:
        return FakeClock(1_767_603_600_000 + self.said * 1000)

    def proxy(self, which: int) -> Replay:
        while len(self.proxies) < 2:
            self.proxies.append(Replay(self.store, self.clock, RULES))
        return self.proxies[which % 2]

    async def recall(self, _: str) -> list[RecalledMemory]:
        """Another answer each time: what was stored must not depend on it."""
        self.asked += 1
        if self.asked % 5 == 0:
            raise ConnectionError
        known = [RecalledMemory(f"m{n}", "episodic", f"note {n} <b>，第{n}条") for n in range(self.asked % 4)]
        return known if self.asked % 2 else known[::-1]

    async def prepared(
        self, which: int, history: Sequence[Item], *, main: bool, recall: Recall | None = None, off: bool = False
    ) -> bytes:
        """Return the body that would go out."""
        wire: Wire = WIRES[self.wire]
        request = wire.read(body_of(history, self.wire, self.style))
        replayed = await self.proxy(which).settle(
            self.session,
            request,
            wire,
            CLIENTS[CLIENT[self.wire]],
            recall=(recall or self.recall) if main and not off else None,
            owner=OWNER if main else None,
        )
        self.put_in += len(replayed.blocks)
        return splice(request.body, [edit for at, b in replayed.blocks for edit in wire.place_recalled(request, at, b)])

    def went_out(self, history: Sequence[Item], upstream: bytes) -> None:
        client = body_of(history, self.wire, self.style)
        came, went = canonical(client, self.wire), canonical(upstream, self.wire)
        for before, after in self.sent:
            if came[: len(before)] == before:
                assert went[: len(after)] == after
        for client_before, upstream_before in self.raw:
            if client.startswith(client_before.removesuffix(b"]}")):
                assert upstream.startswith(upstream_before.removesuffix(b"]}"))
        self.sent.append((came, went))
        self.raw.append((client, upstream))

    async def send(self, which: int, history: Sequence[Item] | None = None, *, main: bool = True) -> None:
        history = self.history if history is None else history
        self.went_out(history, await self.prepared(which, history, main=main))

    async def step(self, what: str, which: int) -> None:
        self.said += 1
        people = [at for at, item in enumerate(self.history) if item.kind == "user"]
        text = WORDS[self.said % len(WORDS)]
        match what:
            case "ask" | "kill while asking" | "kill before sending" | "twice at once":
                self.history.append(Item("user", text, "today is Monday" if self.said % 3 == 0 else ""))
                if what == "kill while asking":
                    await self.killed(which)
                elif what == "kill before sending":
                    await self.prepared(which, self.history, main=True)
                    self.proxies.clear()
                elif what == "twice at once":
                    both = [self.prepared(n, self.history, main=True) for n in (0, 1, 0)]
                    bodies = await asyncio.gather(*both)
                    assert len(set(bodies)) == 1
                await self.send(which + 1)
            case "ask with memory off":
                self.history.append(Item("user", text))
                self.went_out(self.history, await self.prepared(which, self.history, main=True, off=True))
            case "begin past the proxy":
                self.history.append(Item("user", text))
                self.went_out(self.history, body_of(self.history, self.wire, self.style))
                self.history += [Item("call", f"ls {self.said}"), Item("result", f"files {self.said}")]
                await self.send(which)
            case "loop":
                self.history += [Item("call", f"ls {self.said}"), Item("result", f"files {self.said}")]
                await self.send(which)
            case "answer":
                self.history.append(Item("assistant", f"answer {self.said}"))
            case "edit" if people:
                self.history[people[-1] :] = [Item("user", f"{text} instead")]
                await self.send(which)
            case "rewind" if len(people) > 1:
                del self.history[people[-2] + 1 :]
                await self.send(which)
            case "retry" if self.history:
                await self.send(which)
            case "fork" if self.history:
                await self.send(which, [*self.history, Item("user", "[SUGGESTION MODE: what comes next?]")], main=False)
            case "compact" if self.history:
                await self.send(which, [*self.history, Item("user", COMPACT)], main=False)
                self.history = [Item("user", SUMMARY.format(f"They did {self.said} things."))]
                await self.send(which)
            case "marks":
                self.style = Style(not self.style.marks, self.style.plain)
            case "plain":
                self.style = Style(self.style.marks, not self.style.plain)
            case "restart":
                self.proxies.clear()
            case "resume" if self.history:
                self.session = ProxySession("default", "lin", CLIENT[self.wire], f"resumed-{self.said}")
                await bind(self.store, self.session)
                self.history += [Item("assistant", f"answer {self.said}"), Item("user", text)]
                await self.send(which)

    async def killed(self, which: int) -> None:
        """Stop a proxy while it waits for the core."""
        reached = asyncio.Event()

        async def never(_: str) -> list[RecalledMemory]:
            reached.set()
            await asyncio.Event().wait()
            return []

        asking = asyncio.create_task(self.prepared(which, self.history, main=True, recall=never))
        waiting = asyncio.create_task(reached.wait())
        await asyncio.wait({asking, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        asking.cancel()
        for flight in self.proxies[which % 2]._flights.values():
            flight.cancel()
        await asyncio.gather(asking, waiting, return_exceptions=True)
        self.proxies.clear()


async def bind(store: SqliteStore, session: ProxySession) -> None:
    await store.write(lambda r: r.proxy.bindings.put(session, Bound("bound", "home", "assistant"), 0, 1))


async def play(wire: WireName, steps: Sequence[tuple[str, int]]) -> World:
    with tempfile.TemporaryDirectory() as folder:
        store = await SqliteStore.open(Path(folder))
        try:
            world = World(store, wire, ProxySession("default", "lin", CLIENT[wire], "s1"))
            await bind(store, world.session)
            for what, which in steps:
                await world.step(what, which)
            return world
        finally:
            await store.close()


STEPS = (
    *("ask", "loop", "answer") * 2, "edit", "rewind", "retry", "fork", "compact", "marks", "plain", "restart", "resume",
    "kill while asking", "kill before sending", "twice at once", "ask with memory off",
)  # fmt: skip


@pytest.mark.parametrize("wire", list(CLIENT))
@settings(max_examples=40)
@given(
    begin=st.sampled_from(("ask", "begin past the proxy")),
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 1)), min_size=2, max_size=25),
)
def test_a_conversation_goes_on_from_the_bytes_that_went_out_before(
    wire: WireName, begin: str, steps: list[tuple[str, int]]
) -> None:
    asyncio.run(play(wire, [(begin, 0), *steps]))


@pytest.mark.parametrize("wire", list(CLIENT))
def test_the_histories_above_do_carry_memory(wire: WireName) -> None:
    """Nothing put in at all would pass every comparison."""
    world = asyncio.run(play(wire, [(what, n) for n, what in enumerate(("ask", "loop", "answer") * 6)]))

    assert world.put_in > 12
    assert world.asked == 6
