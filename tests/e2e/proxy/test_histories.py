"""Histories by chance, over HTTP, through two proxies on one store that stop and start: prefixes hold and turns are single.

For every two requests of which the one goes on from the other, what the provider got first is the beginning of what it got
then (`reference/proxy.md` §11.3). `tests/property/test_replay.py` has the same for the ledger alone, with far more histories.
"""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from memstrata.testing.upstream import Answer, Call, Fails, Says

from .clients import SHAPES, Message, Talk, bare, messages_of, without_marks
from .world import Proxies, World

pytestmark = pytest.mark.slow

SUMMARY = "Your task is to create a detailed summary of the conversation so far."
TITLE = "Write a title for this conversation."
CONTINUED = "This session is being continued from a previous conversation that ran out of context. We spoke."
STEPS = 40


@dataclass
class Player:
    """A client that does by chance what clients do."""

    world: World
    talk: Talk
    chance: random.Random
    answered: dict[str, str] = field(default_factory=dict)
    open: str = ""
    asked: int = 0
    calls: int = 0

    async def step(self, proxies: Proxies) -> None:
        self.world.clock.advance(self.chance.choice((1, 60)))
        kinds = ("ask", "ask", "ask", "loop", "loop", "retry", "twice", "refused", "title", "count")
        kind = self.chance.choice((*kinds, "rewind", "compact", "compaction"))
        match kind:
            case "ask" | "loop" | "refused":
                await self._turn(proxies, kind)
            case "retry" | "twice" if self.talk.messages:
                await self._again(proxies, at_once=kind == "twice")
            case "title":
                await self._title(proxies)
            case "compaction" if self.talk.messages:
                await self.talk.send_once(proxies, [*self.talk.messages, self.talk.shape.asked(SUMMARY)])
            case "rewind" if len(self.talk.messages) > 4:
                ends = [at for at, one in enumerate(self.talk.messages) if _is_question(one)]
                self.talk.messages = self.talk.messages[: self.chance.choice(ends)]
            case "compact" if len(self.talk.messages) > 6:
                self.talk.messages = [self.talk.shape.asked(CONTINUED)]
            case _:
                pass

    async def _turn(self, proxies: Proxies, kind: str) -> None:
        self.asked += 1
        question = f"question {self.asked}, 第{self.asked}问, about Lisbon"
        self.talk.ask(question)
        if kind == "refused":
            self.world.upstream.script(Fails(529))
            assert (await self.talk.send_once(proxies, self.talk.messages)).status == 529
        for _ in range(self.chance.randrange(1, 4) if kind == "loop" else 0):
            self.calls += 1
            await self._send(proxies, Says("I look.", (Call(self.talk.shape.tools[0], {}, f"call_{self.calls}"),)))
            self.talk.run_tools()
        answer = f"answer to {self.asked}"
        await self._send(proxies, Says(answer))
        self.answered[question] = answer

    async def _send(self, proxies: Proxies, says: Answer) -> None:
        self.world.upstream.script(says)
        assert (await self.talk.send(proxies)).bypass == ""

    async def _again(self, proxies: Proxies, *, at_once: bool) -> None:
        """Send the newest question once more, as after a lost answer; or twice at the same time."""
        last = max((at for at, one in enumerate(self.talk.messages) if _is_question(one)), default=-1)
        if last < 0:
            return
        self.world.upstream.always(Says("said again"))
        again = [self.talk.send_once(proxies, self.talk.messages[: last + 1]) for _ in range(2 if at_once else 1)]
        await asyncio.gather(*again)

    async def _title(self, proxies: Proxies) -> None:
        body: dict[str, Any] = self.talk.shape.body(self.talk.messages[:1] or [self.talk.shape.asked("hi")])
        body |= {"tools": [], "max_tokens": 100}
        if self.talk.shape.wire == "anthropic":
            body["system"] = [{"type": "text", "text": TITLE}]
            await proxies.post(self.talk.shape.path, json.dumps(body).encode(), self.talk.named())
            assert self.world.upstream.requests[-1].body == json.dumps(body).encode()


def _is_question(message: Message) -> bool:
    return message.get("role") == "user" and "about Lisbon" in json.dumps(message)


@pytest.mark.parametrize(
    ("name", "seed"), [("claude-code", 1), ("claude-code", 2), ("codebuddy", 3), ("codex", 4), ("dsh", 5)]
)
async def test_what_went_out_stays_the_beginning_of_what_goes_out_and_turns_are_single(
    world: World, name: str, seed: int
) -> None:
    for at in range(3):
        await world.remember(f"note {at}: Lisbon has {at} harbours")
    chance = random.Random(seed)
    player = Player(world, Talk(SHAPES[name]), chance)
    left = STEPS
    while left > 0:
        async with world.proxies(count=2) as proxies:
            for _ in range(min(left, chance.randrange(5, 15))):
                await player.step(proxies)
                left -= 1
    async with world.proxies() as proxies:
        await world.settled(proxies)

    bodies = [one.body for one in world.upstream.requests if TITLE.encode() not in one.body]
    sent = [without_marks(messages_of(one)) for one in bodies]
    assert len({json.dumps(_system(one)) for one in bodies}) == 1
    clients = [bare(one) for one in sent]
    pairs = [
        (before, after)
        for before in range(len(sent))
        for after in range(before + 1, len(sent))
        if clients[after][: len(clients[before])] == clients[before]
    ]
    assert len(pairs) > STEPS
    for before, after in pairs:
        assert sent[after][: len(sent[before])] == sent[before]
    assert any(b"relevant-memories" in one for one in bodies)
    said = await world.said("session-1")
    questions = [text for role, text in said if role == "user"]
    assert sorted(questions) == sorted(player.answered)
    assert len(said) == 2 * len(questions)


def _system(body: bytes) -> Any:
    read = json.loads(body)
    if "system" in read:
        return without_marks(read["system"])
    return [one for one in messages_of(body) if one.get("role") in ("system", "developer")]
