"""Whose memory a session gets: headers, what was bound, a default, a form through the client's own tool."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memstrata.proxy.exchange import Prepared
from memstrata.records.proxy import Bound, DefaultBinding

pytestmark = pytest.mark.parametrize("proxy", ["the-gateway-key-of-tests"], indirect=True)

ASK = {"name": "AskUserQuestion", "input_schema": {"type": "object"}}
BASH = {"name": "Bash", "input_schema": {"type": "object"}}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def request(*messages: dict[str, Any], tools: Any = (BASH, ASK), **more: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "max_tokens": 1000,
        "system": "You code.",
        "tools": list(tools),
        "messages": list(messages),
        **more,
    }


class Dialogue:
    """A client that answers forms as Claude Code does."""

    def __init__(self, proxy: Any, people: Any, session: str = "s1") -> None:
        self.proxy, self.people, self.session = proxy, people, session
        self.messages: list[dict[str, Any]] = []
        self.last: Prepared

    async def send(self, **more: Any) -> Prepared:
        self.last = await self.proxy.send(
            request(*self.messages), session=self.session, user=self.people.user_id, key=self.people.key, **more
        )
        return self.last

    @property
    def question(self) -> dict[str, Any]:
        assert self.last.answer is not None
        call = json.loads(self.last.answer.body)["content"][0]
        assert call["name"] == "AskUserQuestion"
        self.call = call["id"]
        asked: dict[str, Any] = call["input"]["questions"][0]
        return asked

    async def choose(
        self, label: str, wording: str = 'User has answered your questions: "{q}"="{a}". You can go on.'
    ) -> Prepared:
        asked = self.question
        text = wording.format(q=asked["question"], a=label)
        self.messages += [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": self.call, "name": "AskUserQuestion", "input": {}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": self.call, "content": text},
                    {"type": "text", "text": "<system-reminder>\nbe brief\n</system-reminder>"},
                ],
            },
        ]
        return await self.send()

    async def bound(self) -> Bound | None:
        session = self.proxy.session(self.session, self.people.user_id)
        found: Bound | None = await self.proxy.memory.store.read(lambda r: r.proxy.bindings.read(session))
        return found


async def test_a_new_session_is_asked_yes_or_no_team_agent_and_task_and_never_again(proxy: Any, people: Any) -> None:
    dialogue = Dialogue(proxy, people)
    dialogue.messages.append(user("add a login page"))
    await dialogue.send()
    await dialogue.choose("Yes, use memory")
    await dialogue.choose(next(o["label"] for o in dialogue.question["options"] if o["label"].startswith("Red")))
    seen: list[str] = []
    while not (found := [o["label"] for o in dialogue.question["options"] if o["label"].startswith("agent 00")]):
        labels = [o["label"] for o in dialogue.question["options"]]
        assert 2 <= len(labels) <= 4
        assert not set(labels[:-1]) & set(seen)
        seen += labels[:-1]
        await dialogue.choose("More…")
    (chosen,) = found
    # While the form is open, a request of another kind passes and disturbs nothing.
    title = await proxy.send(
        request(user("hi"), tools=(), system="Write a title."), user=people.user_id, key=people.key
    )
    assert (title.kind, title.answer) == ("title", None)
    await dialogue.choose(chosen, 'Your questions have been answered: "{q}"="{a}" user notes: "the best" one')
    done = await dialogue.choose(
        next(o["label"] for o in dialogue.question["options"] if o["label"].startswith("Mend"))
    )

    assert done.answer is None
    body = json.loads(done.body)
    assert b"memstrata_form" not in done.body
    assert body["messages"][0] == user("add a login page")
    reminder = {
        "role": "user",
        "content": [{"type": "text", "text": "<system-reminder>\nbe brief\n</system-reminder>"}],
    }
    assert all(message == reminder for message in body["messages"][1:])
    bound = await dialogue.bound()
    assert bound is not None
    assert (bound.outcome, bound.team, bound.agent) == ("bound", people.red, people.agents[0])
    assert bound.task == people.tasks[1]
    dialogue.messages += [{"role": "assistant", "content": [{"type": "text", "text": "done"}]}, user("and a logout")]
    assert (await dialogue.send()).answer is None


async def test_declining_is_kept_and_undone_by_a_command(proxy: Any, people: Any) -> None:
    dialogue = Dialogue(proxy, people)
    dialogue.messages.append(user("add a login page"))
    await dialogue.send()
    declined = await dialogue.choose("No, not here")
    assert declined.answer is None
    assert "declined" in declined.bypass
    dialogue.messages += [{"role": "assistant", "content": "done"}, user("more")]
    assert "mem:bind" in (await dialogue.send()).bypass

    dialogue.messages += [{"role": "assistant", "content": "done"}, user("mem:bind")]
    await dialogue.send()
    assert dialogue.question["header"] == "Memory"
    await dialogue.choose("Yes, use memory")
    ended = await dialogue.choose(
        next(o["label"] for o in dialogue.question["options"] if o["label"].startswith("Blue"))
    )
    assert ended.answer is not None
    said = json.loads(ended.answer.body)["content"][0]["text"]
    assert people.blue_agent in said


@pytest.mark.parametrize("tools", [(BASH,), ()])
async def test_a_client_without_a_question_tool_is_never_asked(proxy: Any, people: Any, tools: Any) -> None:
    prepared = await proxy.send(
        request(user("hello"), tools=tools), user=people.user_id, key=people.key, client="hermes"
    )

    assert prepared.answer is None
    assert "x-agent-id" in prepared.bypass
    assert json.loads(prepared.body)["messages"] == [user("hello")]


async def test_headers_bind_without_a_form_and_are_checked_once(proxy: Any, people: Any) -> None:
    headers = {"x-team-id": people.red, "x-agent-id": people.agents[3], "x-task-id": people.tasks[0]}
    dialogue = Dialogue(proxy, people)
    dialogue.messages.append(user("hello"))
    first = await dialogue.send(headers=headers)
    assert (first.answer, first.bypass) == (None, "")
    bound = await dialogue.bound()
    assert bound is not None
    assert (bound.team, bound.agent, bound.task) == (people.red, people.agents[3], people.tasks[0])
    assert "/v3/meta/team/list" not in proxy.transport.asked
    proxy.transport.asked.clear()
    await dialogue.send(headers=headers)
    assert proxy.transport.asked == []


@pytest.mark.parametrize("wrong", ["agent", "team", "task"])
async def test_headers_that_name_what_is_not_the_users_bind_nothing(proxy: Any, people: Any, wrong: str) -> None:
    headers = {"x-team-id": people.red, "x-agent-id": people.agents[3]}
    headers |= {
        "agent": {"x-agent-id": "agt-none"},
        "team": {"x-team-id": people.blue},
        "task": {"x-agent-id": people.blue_agent, "x-team-id": people.blue, "x-task-id": people.tasks[0]},
    }[wrong]
    dialogue = Dialogue(proxy, people)
    dialogue.messages.append(user("hello"))

    prepared = await dialogue.send(headers=headers)

    assert prepared.bypass
    assert prepared.answer is None
    assert await dialogue.bound() is None


async def test_a_default_of_the_user_comes_before_a_form(proxy: Any, people: Any) -> None:
    await proxy.memory.store.write(
        lambda r: r.proxy.bindings.put_default(
            "default", people.user_id, DefaultBinding(people.blue, people.blue_agent)
        )
    )
    dialogue = Dialogue(proxy, people)
    dialogue.messages.append(user("hello"))

    assert (await dialogue.send()).answer is None
    bound = await dialogue.bound()
    assert bound is not None
    assert bound.agent == people.blue_agent


async def test_a_core_that_cannot_be_asked_concerns_one_request(proxy: Any, people: Any) -> None:
    dialogue = Dialogue(proxy, people)
    dialogue.messages.append(user("hello"))
    proxy.transport.down = True
    failed = await dialogue.send()
    proxy.transport.down = False

    assert (failed.answer, "could not be asked" in failed.bypass) == (None, True)
    assert await dialogue.bound() is None
    await dialogue.send()
    assert dialogue.question["header"] == "Memory"


async def test_a_form_survives_a_restart_and_another_node(proxy: Any, people: Any) -> None:
    from dataclasses import replace

    dialogue = Dialogue(proxy, people)
    dialogue.messages.append(user("hello"))
    await dialogue.send()
    other = replace(proxy)
    other.step = type(proxy.step)(
        *[
            getattr(proxy.step, f"_{name}")
            for name in ("store", "core", "binder", "replay", "snapshots", "turns", "usage", "secret", "rules", "clock")
        ]
    )
    dialogue.proxy = other
    await dialogue.choose("Yes, use memory")
    assert dialogue.question["header"] == "Team"


async def test_a_form_that_gets_no_answer_gives_way_in_the_end(proxy: Any, people: Any) -> None:
    dialogue = Dialogue(proxy, people)
    answers = []
    for at in range(5):
        dialogue.messages = [user(f"hello {at}")]
        answers.append((await dialogue.send()).answer is not None)

    assert answers == [True, True, True, False, False]


async def test_a_conversation_that_began_without_memory_is_not_interrupted(proxy: Any, people: Any) -> None:
    dialogue = Dialogue(proxy, people)
    dialogue.messages = [user("hello"), {"role": "assistant", "content": "hi"}, user("go on")]

    prepared = await dialogue.send()

    assert prepared.answer is None
    assert "mem:bind" in prepared.bypass
