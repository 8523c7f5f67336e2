"""A whole conversation of each client, in the shapes that it writes: one clean turn a question, the same prefix throughout."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest

from memstrata.testing.upstream import Call, Says

from .clients import OURS, SHAPES, Shape, Talk, bare, messages_of, without_marks
from .world import World

KNOWN = "the deployments of Lisbon run on Fridays"
QUESTIONS = ("when do deployments of Lisbon run?", "then write that into the README", "现在用中文总结一下")
RECALLED = re.compile(rb'\{"type":"(?:input_)?text","text":"<relevant-memories.*?</relevant-memories>"\}')
ANSWERS = ("On Fridays.", "It is written.", "部署在每周五。")


def system_of(body: bytes, shape: Shape) -> tuple[int, list[str]]:
    """Return where the last system text stands, and the system texts in their order."""
    read = json.loads(body)
    if shape.wire == "anthropic":
        return len(read["system"]) - 1, [block["text"] for block in read["system"]]
    texts: list[str] = []
    for message in messages_of(body):
        if message.get("role") not in ("system", "developer"):
            break
        content = message["content"]
        texts += [content] if isinstance(content, str) else [part["text"] for part in content]
    return len(texts) - 1, texts


async def play(world: World, talk: Talk) -> list[tuple[bytes, bytes]]:
    """Ask three questions, the first with three steps of tools; return each main request as sent and as received."""
    pairs: list[tuple[bytes, bytes]] = []

    async with world.proxies() as proxies:
        for question, answer in zip(QUESTIONS, ANSWERS, strict=True):
            talk.ask(question)
            calls = 3 if question == QUESTIONS[0] else 0
            steps: list[Says] = [
                Says("I look.", (Call(talk.shape.tools[0], {"n": n}, f"call_{n}"),)) for n in range(calls)
            ]
            for step in (*steps, Says(answer)):
                world.upstream.script(step)
                reply = await talk.send(proxies)
                assert (reply.status, reply.bypass) == (200, "")
                pairs.append((talk.bodies[-1], world.upstream.requests[-1].body))
                if step.calls:
                    talk.run_tools()
                world.clock.advance(60)
        await world.settled(proxies)
    return pairs


@pytest.mark.parametrize("name", SHAPES)
async def test_a_conversation_leaves_one_clean_turn_for_each_question(world: World, name: str) -> None:
    await world.remember(KNOWN)
    talk = Talk(SHAPES[name])

    pairs = await play(world, talk)

    session = talk.session
    if name == "cursor":
        async with world.core() as core:
            (session,) = {one.session_id for one in (await core.messages(limit=50)).items} - {"earlier"}
        assert session.startswith("derived-")
    turns = await world.said(session)
    assert turns == [line for q, a in zip(QUESTIONS, ANSWERS, strict=True) for line in (("user", q), ("assistant", a))]
    for sent, received in pairs:
        assert OURS.encode() not in sent  # nothing that was put in comes back from the client
        assert bare(json.loads(received)) == bare(json.loads(sent))


@pytest.mark.parametrize("name", SHAPES)
async def test_memory_stands_last_in_the_system_and_in_front_of_the_question_and_never_moves(
    world: World, name: str
) -> None:
    await world.remember(KNOWN)
    shape = SHAPES[name]

    pairs = await play(world, Talk(shape))

    received = [body for _, body in pairs]
    last, systems = system_of(received[0], shape)
    assert "memory-tools-guide" in systems[last]
    assert [at for at, text in enumerate(systems) if "memory-tools-guide" in text] == [last]
    assert json.loads(received[0]).get("instructions") == (shape.system if shape.wire == "responses" else None)
    recalled = blocks_with(messages_of(received[0]), "relevant-memories")
    assert len(recalled) == 1
    assert KNOWN in recalled[0]
    for before, after in pairwise(received):
        first, then = without_marks(messages_of(before)), without_marks(messages_of(after))
        assert then[: len(first)] == first
        assert system_of(before, shape) == system_of(after, shape)
    assert len({(block := RECALLED.findall(body))[0] for body in received}) == 1
    assert json.loads(block[0])["text"] == recalled[0]


async def test_what_helpers_of_claude_code_ask_is_not_kept_and_changes_nothing(world: World) -> None:
    await world.remember(KNOWN)
    talk = Talk(SHAPES["claude-code"])
    helpers = (
        {"max_tokens": 1, "messages": [{"role": "user", "content": "quota"}]},
        {
            "max_tokens": 512,
            "system": [{"type": "text", "text": "Write a title of a few words for this conversation, as JSON."}],
            "messages": [{"role": "user", "content": QUESTIONS[0]}],
            "tools": [],
            "thinking": {"type": "disabled"},
        },
        {
            "max_tokens": 512,
            "system": [{"type": "text", "text": "Say whether this command is safe."}],
            "messages": [{"role": "user", "content": "Command: ls"}],
            "tools": [],
        },
    )
    talk.ask(QUESTIONS[0])
    async with world.proxies() as proxies:
        for helper in helpers:
            body = json.dumps({"model": "small-1", **helper}).encode()
            reply = await proxies.post(talk.shape.path, body, talk.named())
            assert reply.status == 200
            assert reply.bypass
            assert world.upstream.requests[-1].body == body
        world.upstream.script(Says(ANSWERS[0]))
        await talk.send(proxies)
        sub = json.dumps(talk.shape.body([talk.shape.asked("explore the repository")])).encode()
        named = talk.named(x_claude_code_agent_id="agent-7")
        assert (await proxies.post(talk.shape.path, sub, named)).bypass
        assert world.upstream.requests[-1].body == sub
        await world.settled(proxies)

    assert await world.said(talk.session) == [("user", QUESTIONS[0]), ("assistant", ANSWERS[0])]


def blocks_with(value: Any, words: str) -> list[str]:
    """Return every text within a value that has these words."""
    if isinstance(value, str):
        return [value] if words in value else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in blocks_with(one, words)]
