"""A new session is asked whose memory it has, through its client's own tool, whatever stops, passes or comes in between."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from memstrata.proxy.forms.artefacts import FORM_PREFIXES
from memstrata.records.proxy import Bound, ProxySession
from memstrata.testing.upstream import Call, Says

from .clients import SHAPES, Message, Shape, Talk, messages_of, without_marks
from .world import USER_KEY, People, Proxies, World

QUESTION = "add a login page"
RECEIPTS = {
    "new wording": 'User has answered your questions: "{q}"="{a}". You can now continue with the user\'s answers in mind.',
    "old wording": 'Your questions have been answered: "{q}"="{a}". You can now continue.',
    "with notes": 'User has answered your questions: "{q}"="{a}" user notes: "the \\"best\\" one, please". Go on.',
}
ASKING = ("claude-code", "codex", "codebuddy", "workbuddy", "workbuddy-responses", "dsh")


@dataclass
class Form:
    """What a client shows its user, and how it hands the answer back."""

    shape: Shape
    call_id: str
    asked: dict[str, Any]

    @property
    def labels(self) -> list[str]:
        return [one if isinstance(one, str) else one["label"] for one in self.asked["options"]]

    def label(self, start: str) -> str | None:
        return next((one for one in self.labels if one.startswith(start)), None)

    def answer(self, label: str, wording: str = RECEIPTS["new wording"]) -> Message:
        tool = self.shape.question_tool
        if tool == "AskUserQuestion":
            return self.shape.result(self.call_id, wording.format(q=self.asked["question"], a=label))
        given: Any = {"answers": {self.asked["id"]: {"answers": [label]}}}
        if tool == "ask_followup_question":
            given = [{"id": self.asked["id"], "answers": [label]}]
        if tool == "ask_user_question":
            given = {"answers": [{"id": self.asked["id"], "selected": [label]}]}
        return self.shape.result(self.call_id, json.dumps(given, ensure_ascii=False))


def form_of(talk: Talk) -> Form | None:
    """Return the form that the last answer holds, None if it holds none."""
    if talk.last is None or not talk.last.tool_calls or not talk.last.tool_calls[0].id.startswith(FORM_PREFIXES):
        return None
    (call,) = talk.last.tool_calls
    assert call.name == talk.shape.question_tool
    questions = json.loads(call.arguments)["questions"]
    if isinstance(questions, str):
        questions = json.loads(questions)
    return Form(talk.shape, call.id, questions[0])


Between = Callable[[], Any]


async def choose(
    talk: Talk,
    proxies: Proxies,
    wanted: Sequence[str],
    *,
    wording: str = RECEIPTS["new wording"],
    between: Between | None = None,
) -> int:
    """Answer forms until none is left, each with the label that begins like one that is wanted; return how many."""
    answered = 0
    while (form := form_of(talk)) is not None:
        if between is not None:
            await between()
        label = next((found for one in wanted if (found := form.label(one))), form.labels[-1])
        talk.messages.append(form.answer(label, wording))
        answered += 1
        assert answered < 20
        assert (await talk.send(proxies)).status == 200
    return answered


def keyed(shape: Shape, session: str = "session-1") -> Talk:
    return Talk(shape, session, credentials={"x-tdai-user-key": USER_KEY, "authorization": "Bearer sk-of-the-provider"})


async def bound(proxies: Proxies, people: People, talk: Talk) -> Bound | None:
    """Return what the proxies' store says of a session."""
    client = "workbuddy" if talk.shape.name == "workbuddy-responses" else talk.shape.name
    session = ProxySession("default", people.lin, client, talk.session)
    found: Bound | None = await proxies.store.read(lambda r: r.proxy.bindings.read(session))
    return found


def artefacts(world: World) -> list[bytes]:
    return [one.body for one in world.upstream.requests if any(name.encode() in one.body for name in FORM_PREFIXES)]


@pytest.mark.parametrize("wording", RECEIPTS)
async def test_claude_code_is_asked_yes_or_no_team_agent_by_pages_and_task(
    world: World, people: People, wording: str
) -> None:
    talk = keyed(SHAPES["claude-code"])
    talk.ask(QUESTION)
    title = {
        "model": "small-1",
        "max_tokens": 512,
        "stream": True,
        "system": "Write a title of a few words for this conversation.",
        "messages": [{"role": "user", "content": QUESTION}],
        "thinking": {"type": "disabled"},
    }
    body = json.dumps(title).encode()
    seen: list[list[str]] = []
    wanted = ["Yes", "Red", "Mend"]
    async with world.proxies() as proxies:

        async def between() -> None:
            """A title is asked for while a form is open, and the user is shown its options."""
            form = form_of(talk)
            assert form is not None
            seen.append(form.labels)
            agents = {one for labels in seen for one in labels if one.startswith("agent ")}
            wanted[3:] = [max(agents)] if len(agents) == 11 and max(agents) in form.labels else []
            reply = await proxies.post(talk.shape.path, body, talk.named())
            assert reply.status == 200
            assert world.upstream.requests[-1].body == body

        await talk.send(proxies)
        await choose(talk, proxies, wanted, wording=RECEIPTS[wording], between=between)
        found = await bound(proxies, people, talk)
        await world.settled(proxies)

    assert found is not None
    assert (found.team, found.agent, found.task) == (people.red, people.agents[10], people.tasks[1])
    assert all(2 <= len(labels) <= 4 for labels in seen)
    assert {one[:8] for labels in seen for one in labels if one.startswith("agent ")} == {
        f"agent {at:02}" for at in range(11)
    }
    assert artefacts(world) == []
    scope = {"team": people.red, "agent": people.agents[10], "user": people.lin}
    assert await world.said(talk.session, **scope) == [("user", QUESTION), ("assistant", "hello")]


@pytest.mark.parametrize("name", ASKING)
async def test_every_client_with_a_question_tool_is_asked_with_it_and_none_of_it_goes_upstream(
    world: World, people: People, name: str
) -> None:
    shape = SHAPES[name]
    talk = keyed(shape)
    talk.ask(QUESTION)
    async with world.proxies(count=2) as proxies:
        await talk.send(proxies)
        assert form_of(talk) is not None
        await choose(talk, proxies, ("Yes", "Red", "agent 10", "Ship"))
        found = await bound(proxies, people, talk)
        talk.ask("and a logout")
        await talk.send(proxies)
        await world.settled(proxies)

    assert found is not None
    assert (found.agent, found.task) == (people.agents[10], people.tasks[0])
    assert artefacts(world) == []
    assert all(shape.question_tool in one.body.decode() for one in world.upstream.requests)  # the tool itself stays
    scope = {"team": people.red, "agent": people.agents[10], "user": people.lin}
    said = await world.said(talk.session, **scope)
    assert [text for role, text in said if role == "user"] == [QUESTION, "and a logout"]


@pytest.mark.parametrize("name", [*ASKING, "openclaw", "hermes", "cursor"])
async def test_a_headless_client_is_never_given_a_form(world: World, people: People, name: str) -> None:
    talk = keyed(SHAPES[name])
    talk.asks = False
    async with world.proxies() as proxies:
        for text in (QUESTION, "and a logout"):
            talk.ask(text)
            reply = await talk.send(proxies)
            assert form_of(talk) is None
            assert "x-agent-id" in reply.bypass
            assert world.upstream.requests[-1].body == talk.bodies[-1]


@pytest.mark.parametrize("name", ["claude-code", "codex"])
async def test_the_proxy_may_end_and_begin_again_between_any_two_steps_of_a_form(
    world: World, people: People, name: str
) -> None:
    talk = keyed(SHAPES[name])
    talk.ask(QUESTION)
    steps = 0

    @asynccontextmanager
    async def started_anew() -> AsyncIterator[Proxies]:
        async with world.proxies() as proxies:
            yield proxies

    async with started_anew() as proxies:
        await talk.send(proxies)
    while (form := form_of(talk)) is not None:
        wanted = ("Yes", "Red", "agent 05", "Ship")
        label = next((found for one in wanted if (found := form.label(one))), form.labels[-1])
        talk.messages.append(form.answer(label))
        steps += 1
        assert steps < 20
        async with started_anew() as proxies:
            await talk.send(proxies)
    async with started_anew() as proxies:
        kept = await bound(proxies, people, talk)

    assert steps >= 4
    assert kept is not None
    assert (kept.outcome, kept.agent, kept.task) == ("bound", people.agents[5], people.tasks[0])
    assert artefacts(world) == []
    assert len(world.upstream.requests) == 1


async def test_two_nodes_that_alternate_ask_once_and_send_the_same(world: World, people: People) -> None:
    talk = keyed(SHAPES["claude-code"])
    talk.ask(QUESTION)
    async with world.proxies(count=2) as proxies:
        await talk.send(proxies)
        steps = await choose(talk, proxies, ("Yes", "Blue"))
        for turn in range(6):
            world.upstream.script(Says("", (Call("Bash", {}, f"toolu_{turn}"),)), Says(f"done {turn}"))
            talk.ask(f"step {turn}")
            await talk.send(proxies)
            talk.run_tools()
            await talk.send(proxies)
    bodies = [without_marks(messages_of(one.body)) for one in world.upstream.requests]
    systems = {json.dumps(without_marks(one.json["system"])) for one in world.upstream.requests}

    assert steps == 2
    assert len(systems) == 1
    assert all(after[: len(before)] == before for before, after in pairwise(bodies))


async def test_a_prefix_is_the_same_over_a_hundred_turns_and_holds_no_form(world: World, people: People) -> None:
    talk = keyed(SHAPES["claude-code"])
    talk.ask(QUESTION)
    async with world.proxies(count=2) as proxies:
        await talk.send(proxies)
        await choose(talk, proxies, ("Yes", "Blue"))
        for turn in range(100):
            talk.ask(f"question {turn} 第{turn}问")
            await talk.send(proxies)
    requests = world.upstream.requests
    before: list[Any] = []
    for one in requests:
        after = without_marks(messages_of(one.body))
        assert after[: len(before)] == before
        before = after

    assert len(requests) == 101
    assert artefacts(world) == []
    assert len({json.dumps(without_marks(one.json["system"])) for one in requests}) == 1
    assert all(one.body.count(b'"cache_control"') <= 4 for one in requests)


async def test_the_system_block_is_the_same_after_a_day_of_silence_and_another_start(
    world: World, people: People
) -> None:
    talk = keyed(SHAPES["claude-code"])
    talk.ask(QUESTION)
    async with world.proxies() as proxies:
        await talk.send(proxies)
        await choose(talk, proxies, ("Yes", "Blue"))
    async with world.core(team=people.blue, agent=people.blue_agent, user=people.lin, session="elsewhere") as core:
        await core.add([("user", "I moved to Porto"), ("assistant", "Noted.")])
        await core.flush()
    world.clock.advance(24 * 3600)
    talk.ask("and a logout")
    async with world.proxies() as proxies:
        await talk.send(proxies)
    first, later = (without_marks(one.json["system"]) for one in world.upstream.requests)

    assert later == first
    assert "memory-tools-guide" in later[-1]["text"]
