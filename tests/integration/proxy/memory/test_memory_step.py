"""What goes upstream, and what is kept, for the requests of one conversation."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memstrata.memory import MessageInput
from memstrata.proxy.exchange import Prepared
from memstrata.proxy.place import Place
from memstrata.proxy.wire.request import Reply
from memstrata.records import Scope

Said = Callable[..., Reply]
SCOPE = Scope("default", "home", "helper", "local")


def request(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    tools = [{"name": "Bash", "input_schema": {"type": "object"}}]
    return {"model": "m", "max_tokens": 1000, "system": "You code.", "tools": tools, "messages": list(messages), **more}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def used(call: str = "toolu_1") -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": "Bash", "input": {}}]}


def result(call: str = "toolu_1") -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": "ok"}]}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def sent(prepared: Prepared) -> Any:
    return json.loads(prepared.body)


async def remember(proxy: Any, text: str) -> None:
    await proxy.memory.add(SCOPE, "earlier", [MessageInput("user", text)])
    await proxy.memory.flush(SCOPE)


async def test_a_question_carries_the_snapshot_and_what_was_recalled(proxy: Any) -> None:
    await remember(proxy, "deployments go to the Lisbon cluster")

    prepared = await proxy.send(request(user("where do deployments go?")))

    assert (prepared.kind, prepared.bypass) == ("main", "")
    body = sent(prepared)
    assert body["system"][0] == {"type": "text", "text": "You code."}
    assert "memory-tools-guide" in body["system"][-1]["text"]
    recalled, question = body["messages"][0]["content"]
    assert "Lisbon cluster" in recalled["text"]
    assert question == {"type": "text", "text": "where do deployments go?"}
    assert {**body, "system": "You code.", "messages": [user("where do deployments go?")]} == request(
        user("where do deployments go?")
    )


async def test_a_bound_session_asks_the_core_nothing_in_its_tool_loop_and_its_prefix_stays(proxy: Any) -> None:
    await remember(proxy, "deployments go to the Lisbon cluster")
    first = await proxy.send(request(user("where do deployments go?")))
    proxy.transport.asked.clear()
    messages = [user("where do deployments go?")]
    for step in range(10):
        messages += [used(f"toolu_{step}"), result(f"toolu_{step}")]
        later = await proxy.send(request(*messages))
        assert sent(later)["messages"][0] == sent(first)["messages"][0]
        assert sent(later)["system"] == sent(first)["system"]

    assert proxy.transport.asked == []


async def test_a_turn_of_many_steps_is_kept_once_with_its_final_answer(proxy: Any, said: Said) -> None:
    question = user("add a login page")
    first = await proxy.send(request(question))
    assert first.watch is not None
    await first.watch.finished(200, said("I will look.", "Bash"))
    second = await proxy.send(request(question, used(), result()))
    assert second.watch is not None
    await second.watch.finished(200, said("Done."))
    again = await proxy.send(request(question, used(), result()))
    assert again.watch is not None
    await again.watch.finished(200, said("Done again."))

    (turn,) = await proxy.memory.store.read(lambda r: r.proxy.turns.due(proxy.clock.now(), 10))
    assert (turn.question, turn.answer, turn.complete) == ("add a login page", "Done.", True)
    assert (turn.team, turn.agent, turn.session.session) == ("home", "helper", "s1")
    assert proxy.ready == ["ready"]


async def test_an_upstream_that_refuses_leaves_no_turn(proxy: Any, said: Said) -> None:
    prepared = await proxy.send(request(user("add a login page")))
    assert prepared.watch is not None
    await prepared.watch.finished(529, None)
    await proxy.memory.store.write(lambda r: r.proxy.turns.close_idle(proxy.clock.now() + 1, proxy.clock.now()))

    counts = await proxy.memory.store.read(lambda r: r.proxy.turns.counts())
    assert sum(counts.by_state.values()) == 0


async def test_a_refusal_that_is_noted_late_does_not_take_the_turn_from_the_next_try(proxy: Any, said: Said) -> None:
    refused = await proxy.send(request(user("add a login page")))
    retried = await proxy.send(request(user("add a login page")))
    await refused.watch.finished(529, None)
    await retried.watch.finished(200, said("Done."))

    (turn,) = await proxy.memory.store.read(lambda r: r.proxy.turns.due(proxy.clock.now(), 10))
    assert (turn.question, turn.answer) == ("add a login page", "Done.")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (request(user("quota"), max_tokens=1), "probe"),
        (request(user("hello"), tools=[], system="Write a title for this."), "title"),
        (request(user("hello"), tools=[], system="Check."), "side"),
    ],
)
async def test_what_is_no_conversation_goes_as_it_came(proxy: Any, body: dict[str, Any], kind: str) -> None:
    prepared = await proxy.send(body)

    assert prepared.kind == kind
    assert prepared.bypass
    assert prepared.body == json.dumps(body, ensure_ascii=False).encode()
    assert proxy.transport.asked == []


async def test_a_fork_and_a_compaction_carry_the_same_and_leave_nothing(proxy: Any, said: Said) -> None:
    await remember(proxy, "deployments go to the Lisbon cluster")
    question = user("where do deployments go?")
    first = await proxy.send(request(question))
    asked = "Your task is to create a detailed summary of the conversation so far."
    compaction = await proxy.send(request(question, assistant("Lisbon."), user(asked)))
    marked = {
        "role": "user",
        "content": [{"type": "text", "text": question["content"], "cache_control": {"type": "ephemeral"}}],
    }
    fork = await proxy.send(request(marked, user("[SUGGESTION MODE: next?]")))

    assert (compaction.kind, fork.kind) == ("compaction", "fork")
    assert sent(compaction)["messages"][0] == sent(first)["messages"][0]
    assert sent(fork)["messages"][0]["content"][0] == sent(first)["messages"][0]["content"][0]
    assert sent(compaction)["system"] == sent(fork)["system"] == sent(first)["system"]
    assert sent(compaction)["messages"][-1] == user(asked)
    for prepared in (compaction, fork):
        assert prepared.watch is not None
        await prepared.watch.finished(200, said("a summary"))
    assert await proxy.memory.store.read(lambda r: r.proxy.turns.due(proxy.clock.now(), 10)) == ()


async def test_counting_tokens_counts_what_will_be_sent_and_decides_nothing(proxy: Any) -> None:
    await remember(proxy, "deployments go to the Lisbon cluster")
    await proxy.send(request(user("hello")))
    question = request(user("hello"), assistant("hi"), user("where do deployments go?"))
    before = await proxy.send(question, counting=True)
    first = await proxy.send(question)
    after = await proxy.send(question, counting=True)

    assert sent(before)["messages"] == question["messages"]
    assert sent(before)["system"] == sent(first)["system"]
    assert "Lisbon" in str(sent(first)["messages"])
    assert sent(after) == sent(first)


async def test_a_core_that_is_down_costs_a_request_its_memory_and_nothing_else(proxy: Any) -> None:
    await proxy.send(request(user("hello")))
    proxy.transport.down = True
    known = await proxy.send(request(user("hello"), assistant("hi"), user("and now?")))
    new = await proxy.send(request(user("hello")), session="s2")
    proxy.transport.down = False
    later = await proxy.send(request(user("hello")), session="s3")

    assert known.bypass == "recall failed"
    assert "memory-tools-guide" in str(sent(known)["system"])
    assert sent(new)["messages"] == [user("hello")]
    assert new.bypass
    assert "memory-tools-guide" in str(sent(later)["system"])


async def test_a_body_that_cannot_be_read_goes_as_it_came(proxy: Any) -> None:
    from memstrata.proxy.clients.table import client_named
    from memstrata.proxy.exchange import Incoming
    from memstrata.proxy.wire.wires import WIRES

    incoming = Incoming(
        WIRES["anthropic"], client_named("claude-code"), "default", "local", "", {}, "/v1/messages", b"{no"
    )
    prepared = await proxy.step.prepare(incoming)

    assert prepared.body == b"{no"
    assert prepared.bypass.startswith("the body could not be read")


async def test_two_users_with_one_session_id_share_nothing(proxy: Any) -> None:
    await remember(proxy, "deployments go to the Lisbon cluster")
    mine = await proxy.send(request(user("where do deployments go?")), user="local")
    other = await proxy.send(request(user("where do deployments go?")), user="somebody")

    assert "Lisbon" in str(sent(mine)["messages"])
    assert "Lisbon" not in str(sent(other))
    assert sent(mine)["system"][-1] != sent(other)["system"][-1]  # each has a token of its own


async def test_usage_is_summed_for_every_request(proxy: Any, said: Said) -> None:
    for body in (request(user("hello")), request(user("quota"), max_tokens=1)):
        prepared = await proxy.send(body)
        assert prepared.watch is not None
        await prepared.watch.finished(200, said("hi"))
    await proxy.usage.flush()

    lines = await proxy.memory.store.read(lambda r: r.proxy.usage.lines("default", "0001-01-01", "9999-12-31"))
    assert [(line.user, line.model, line.tokens.requests, line.tokens.cache_read) for line in lines] == [
        ("local", "m", 2, 6)
    ]


async def test_a_client_that_may_not_send_its_history_again_is_remembered_and_told_nothing(
    proxy: Any, said: Said
) -> None:
    await remember(proxy, "deployments go to the Lisbon cluster")
    prepared = await proxy.send(request(user("where do deployments go?")), client="my-agent")
    assert sent(prepared)["messages"] == [user("where do deployments go?")]
    assert "memory-tools-guide" in str(sent(prepared)["system"])
    assert prepared.watch is not None
    await prepared.watch.finished(200, said("Lisbon."))

    (turn,) = await proxy.memory.store.read(lambda r: r.proxy.turns.due(proxy.clock.now(), 10))
    assert (turn.question, turn.answer) == ("where do deployments go?", "Lisbon.")


async def test_a_delivered_turn_is_two_messages_however_often_it_is_sent(proxy: Any, said: Said) -> None:
    from memstrata.proxy.delivery import delivering

    prepared = await proxy.send(request(user("add a login page")))
    assert prepared.watch is not None
    await prepared.watch.finished(200, said("Done."))
    (turn,) = await proxy.memory.store.read(lambda r: r.proxy.turns.due(proxy.clock.now(), 10))
    for _ in range(2):
        await delivering(proxy.core)(turn)

    kept = await proxy.core.list_messages(Place("default", "home", "helper", "local", "s1"), None, 10, 0)
    assert sorted((one.role, one.content) for one in kept) == [("assistant", "Done."), ("user", "add a login page")]


async def test_a_session_that_goes_on_under_another_id_carries_what_it_carried(proxy: Any) -> None:
    await remember(proxy, "deployments go to the Lisbon cluster")
    first = await proxy.send(request(user("where do deployments go?")))
    resumed = await proxy.send(
        request(user("where do deployments go?"), assistant("Lisbon."), user("thanks")), session="s2"
    )

    assert "Lisbon cluster" in str(sent(first)["messages"][0])
    assert sent(resumed)["messages"][0] == sent(first)["messages"][0]


@pytest.mark.parametrize(
    ("client", "named", "carries"), [("my-agent", "my-agent", True), ("claude-code", "-claude-code", False)]
)
async def test_recall_is_switched_by_agent(proxy: Any, client: str, named: str, carries: bool) -> None:
    await remember(proxy, "deployments go to the Lisbon cluster")
    proxy.step._rules = replace(proxy.step._rules, recall_agents=frozenset({named}))

    prepared = await proxy.send(request(user("where do deployments go?")), client=client)

    assert ("Lisbon" in str(sent(prepared)["messages"])) is carries
