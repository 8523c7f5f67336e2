"""What the core has in the end: one turn for each question, however often a step is sent and whatever happens to the core."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from memstrata.testing.upstream import Call, Fails, Manner, Says

from .clients import SHAPES, Talk, messages_of, without_marks
from .world import ADD, World

QUESTION = "which day do deployments of Lisbon run?"
KNOWN = "the deployments of Lisbon run on Fridays"
SUMMARY = "Your task is to create a detailed summary of the conversation so far, paying attention to what was asked."
RECALLED = re.compile(rb'\{"type":"text","text":"<relevant-memories.*?</relevant-memories>"\}')


def step(number: int) -> Says:
    return Says(f"Step {number}.", (Call("Bash", {"n": number}, f"call_{number}"),))


@pytest.mark.parametrize("retried", [None, 0, 4, 9, 10])
async def test_a_tool_loop_of_ten_steps_is_one_turn_with_its_final_answer_whichever_step_is_sent_again(
    world: World, retried: int | None
) -> None:
    talk = Talk(SHAPES["claude-code"])
    talk.ask(QUESTION)
    async with world.proxies(count=2) as proxies:
        for number in range(11):
            final = number == 10
            if retried == number:
                before = list(talk.messages)
                world.upstream.script(Says("Friday.") if final else step(number), Fails(529))
                await talk.send_once(proxies, before)
                refused = await talk.send_once(proxies, before)
                assert refused.status == 529
                talk.messages = before
            world.upstream.script(Says("Friday.") if final else step(number))
            await talk.send(proxies)
            if not final:
                talk.run_tools()
        await world.settled(proxies)

    assert await world.said(talk.session) == [("user", QUESTION), ("assistant", "Friday.")]


async def test_a_request_that_the_provider_refuses_leaves_no_turn_until_it_is_answered(world: World) -> None:
    talk = Talk(SHAPES["claude-code"])
    talk.ask(QUESTION)
    async with world.proxies() as proxies:
        world.upstream.script(Fails(529), Fails(500, b"<html>"), Fails(400, b'{"type":"error"}'))
        for status in (529, 500, 400):
            assert (await talk.send_once(proxies, talk.messages)).status == status
        await world.settled(proxies)
        assert await world.said(talk.session) == []
        world.upstream.script(Says("Friday."))
        await talk.send(proxies)
        await world.settled(proxies)

    assert await world.said(talk.session) == [("user", QUESTION), ("assistant", "Friday.")]


async def test_a_core_that_fails_twice_has_the_turn_once(world: World) -> None:
    talk = Talk(SHAPES["claude-code"])
    talk.ask(QUESTION)
    async with world.proxies() as proxies:
        world.upstream.script(Says("Friday."))
        world.link.fails[ADD] = 2
        await talk.send(proxies)
        await world.settled(proxies)

        assert world.link.fails[ADD] == 0
        assert await world.said(talk.session) == [("user", QUESTION), ("assistant", "Friday.")]


async def test_a_turn_that_the_core_was_not_there_for_is_stored_after_another_start(world: World) -> None:
    talk = Talk(SHAPES["claude-code"])
    talk.ask("hello")
    async with world.proxies() as proxies:
        await talk.send(proxies)
        await world.settled(proxies)
        world.clock.advance(60)
        world.link.down = True
        world.upstream.script(Says("Friday."))
        talk.ask(QUESTION)
        assert (await talk.send(proxies)).status == 200
    assert await world.said(talk.session) == [("user", "hello"), ("assistant", "hello")]

    world.link.down = False
    world.clock.advance(600)
    async with world.proxies() as proxies:
        await world.settled(proxies)
    assert await world.said(talk.session) == [
        ("user", "hello"),
        ("assistant", "hello"),
        ("user", QUESTION),
        ("assistant", "Friday."),
    ]


async def test_a_compaction_shares_the_prefix_and_is_not_kept_and_the_next_turn_works(world: World) -> None:
    await world.remember(KNOWN)
    talk = Talk(SHAPES["claude-code"])
    talk.ask(QUESTION)
    async with world.proxies() as proxies:
        world.upstream.script(Says("Friday."))
        await talk.send(proxies)
        world.upstream.script(Says("We spoke of Lisbon."))
        await talk.send_once(proxies, [*talk.messages, {"role": "user", "content": SUMMARY}])
        world.clock.advance(60)
        talk.messages = [
            {
                "role": "user",
                "content": "This session is being continued from a previous conversation that ran out of context."
                " We spoke of Lisbon.",
            }
        ]
        talk.ask("and of Porto?")
        world.upstream.script(Says("On Mondays."))
        await talk.send(proxies)
        await world.settled(proxies)
    first, compaction, after = [one.body for one in world.upstream.requests]
    main, shared = (without_marks(messages_of(one)) for one in (first, compaction))

    assert len(RECALLED.findall(first)) == 1
    assert shared[: len(main)] == main
    assert shared[-1]["content"][-1]["text"] == SUMMARY
    systems = [without_marks(json.loads(one)["system"]) for one in (first, compaction, after)]
    assert systems[0] == systems[1] == systems[2]
    assert await world.said(talk.session) == [
        ("user", QUESTION),
        ("assistant", "Friday."),
        ("user", "and of Porto?"),
        ("assistant", "On Mondays."),
    ]


async def test_a_fork_has_the_bytes_of_its_conversation_and_is_not_kept(world: World) -> None:
    await world.remember(KNOWN)
    talk = Talk(SHAPES["claude-code"])
    talk.ask(QUESTION)
    async with world.proxies() as proxies:
        world.upstream.script(Says("Friday."), Says("what about Porto?"))
        await talk.send(proxies)
        body = talk.shape.body(talk.messages)
        body["messages"].append({"role": "user", "content": "[SUGGESTION MODE: what would the user ask next?]"})
        await proxies.post(talk.shape.path, json.dumps(body).encode(), talk.named())
        await world.settled(proxies)
    first, fork = [one.body for one in world.upstream.requests]

    assert RECALLED.findall(fork) == RECALLED.findall(first) != []
    main = without_marks(messages_of(first))
    assert without_marks(messages_of(fork))[: len(main)] == main
    assert await world.said(talk.session) == [("user", QUESTION), ("assistant", "Friday.")]


async def test_tokens_are_counted_of_what_is_sent_and_counting_keeps_nothing(world: World) -> None:
    await world.remember(KNOWN)
    talk = Talk(SHAPES["claude-code"])
    talk.ask(QUESTION)
    counted = "/claude-code/default/v1/messages/count_tokens?beta=true"
    async with world.proxies() as proxies:
        await talk.send(proxies)
        body = talk.shape.body(talk.messages[:1])
        sent = json.dumps(body, ensure_ascii=False).encode()
        answer = await proxies.post(counted, sent, talk.named())
        await world.settled(proxies)
    main, counting = world.upstream.requests

    assert counting.target == "/v1/messages/count_tokens?beta=true"
    assert counting.body == main.body
    assert json.loads(answer.body)["input_tokens"] == len(main.body) // 4
    assert await world.said(talk.session) == [("user", QUESTION), ("assistant", "hello")]


async def test_a_tool_step_of_half_an_hour_is_part_of_its_turn(world: World) -> None:
    talk = Talk(SHAPES["claude-code"])
    talk.ask(QUESTION)
    async with world.proxies() as proxies:
        world.upstream.script(step(0), Says("Friday."))
        await talk.send(proxies)
        await world.settled(proxies)
        world.clock.advance(1_800)
        for _ in range(100):  # the outbox looks for turns that are over
            await asyncio.sleep(0.001)
        talk.run_tools()
        await talk.send(proxies)
        await world.settled(proxies)

    assert await world.said(talk.session) == [("user", QUESTION), ("assistant", "Friday.")]


async def test_a_client_that_leaves_in_the_middle_leaves_its_question_and_what_came(world: World) -> None:
    talk = Talk(SHAPES["claude-code"])
    talk.ask(QUESTION)
    world.upstream.script((Says("Friday, I think. And more.", pieces=5), Manner(stalls_after=900)))
    body = json.dumps(talk.shape.body(talk.messages)).encode()
    async with world.proxies() as proxies:
        answer = await proxies.http.post(proxies.urls[0] + talk.shape.path, data=body, headers=talk.named())
        await answer.content.readany()
        answer.close()
        async with asyncio.timeout(1.0):
            await world.upstream.hung_up(1)
        world.clock.advance(600)
        talk.ask("are you there?")
        world.upstream.script(Says("Yes."))
        await talk.send(proxies)
        await world.settled(proxies)
    said = await world.said(talk.session)

    assert said[0] == ("user", QUESTION)
    assert [text for role, text in said if role == "user"] == [QUESTION, "are you there?"]
