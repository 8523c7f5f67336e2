"""What follows when an agent's memory is emptied: whoever holds copies is told, after it happened, and only then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from memstrata.directory.agents import NewAgent, TeamAgents
from memstrata.directory.teams import NewTeam, Teams, add_team
from memstrata.errors import Forbidden
from memstrata.provenance.prompts import PromptBook
from memstrata.records import Message, NewMessage, Scope
from memstrata.records.people import User
from memstrata.settings import DirectorySettings
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import MessageFilter, PromptFilter
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import FakeClock

LIN = User("lin", "normal", "lin", "active", 1, 1)
ROOT = User("root", "system_admin", "root", "active", 1, 1)


def messages_of(scope: Scope, r: Repositories) -> Sequence[Message]:
    return r.conversations.page(scope, MessageFilter(), 9, 0)


class Told:
    """Remembers what it is told, with how many messages were there at the time."""

    def __init__(self, store: SqliteStore) -> None:
        self.calls: list[tuple[str, list[str], int]] = []
        self._store = store

    async def __call__(self, instance: str, memory_ids: Sequence[str]) -> None:
        left = 0
        for one in memory_ids:
            team, agent = one.removeprefix("chat_memory-").rsplit("-agt-", 1)
            scope = Scope(instance, team, f"agt-{agent}", "lin")
            left += len(await self._store.read(partial(messages_of, scope)))
        self.calls.append((instance, list(memory_ids), left))


@pytest.fixture
def told(store: SqliteStore) -> Told:
    return Told(store)


@pytest.fixture
def agents(store: SqliteStore, clock: FakeClock, told: Told) -> TeamAgents:
    return TeamAgents(store, clock, told)


@pytest.fixture
async def agent_id(
    store: SqliteStore, agents: TeamAgents, new_message: Callable[..., NewMessage], clock: FakeClock
) -> str:
    """An agent of lin's that was told something."""

    def join(r: Repositories) -> str:
        r.users.add("default", LIN)
        return add_team(r, "default", NewTeam("home", "lin"), clock.now()).team_id

    team_id = await store.write(join)
    agent = await agents.create("default", LIN, NewAgent(team_id, "lin", "cook"))
    scope = Scope("default", team_id, agent.agent_id, "lin")
    await store.write(lambda r: r.conversations.append(scope, "s1", "", [new_message()], 0))
    return agent.agent_id


async def test_archiving_tells_of_the_memory_once_it_is_empty(agents: TeamAgents, told: Told, agent_id: str) -> None:
    archived = await agents.archive("default", LIN, agent_id)

    assert told.calls == [("default", [f"chat_memory-{archived.team_id}-{agent_id}"], 0)]


async def test_deleting_tells_of_every_memory_that_went_and_of_no_other(
    agents: TeamAgents, told: Told, agent_id: str
) -> None:
    team_id = (await agents.get("default", LIN, agent_id)).team_id
    await agents.delete("default", LIN, ["agt-none"])
    assert told.calls == []

    await agents.delete("default", LIN, [agent_id, "agt-none"])
    assert told.calls == [("default", [f"chat_memory-{team_id}-{agent_id}"], 0)]


async def test_nothing_is_told_of_what_was_refused(agents: TeamAgents, told: Told, agent_id: str) -> None:
    with pytest.raises(Forbidden, match="permission_denied"):
        await agents.archive("default", ROOT, agent_id)
    with pytest.raises(Forbidden, match="permission_denied"):
        await agents.delete("default", ROOT, [agent_id])

    assert told.calls == []
    assert (await agents.get("default", LIN, agent_id)).status == "active"


@pytest.fixture
async def bound(store: SqliteStore, agents: TeamAgents, agent_id: str, clock: FakeClock) -> tuple[PromptBook, str, str]:
    """A prompt that holds for the instance, for lin's team, for her agent, and for an agent that nobody registered."""
    team_id = (await agents.get("default", LIN, agent_id)).team_id
    book = PromptBook(store, clock)
    prompt = await book.create("default", name="n", layer="l2", prompt="look for dates")
    await book.apply("default", prompt.prompt_id, "l2")
    await book.apply("default", prompt.prompt_id, "l2", team=team_id)
    await book.apply("default", prompt.prompt_id, "l2", team=team_id, agents=[agent_id, "wild"])
    return book, team_id, prompt.prompt_id


async def test_prompts_of_a_deleted_agent_hold_for_it_no_longer_and_the_history_says_so(
    agents: TeamAgents, agent_id: str, bound: tuple[PromptBook, str, str]
) -> None:
    book, team_id, prompt_id = bound
    await agents.archive("default", LIN, agent_id)
    assert len(await book.settings(PromptFilter("default"))) == 4

    await agents.delete("default", LIN, [agent_id])

    left = {(one.target.team, one.target.agent) for one in await book.settings(PromptFilter("default"))}
    assert left == {("", ""), (team_id, ""), (team_id, "wild")}
    (newest, *_) = await book.changes(PromptFilter("default", prompt_id=prompt_id))
    assert (newest.action, newest.target.agent, newest.before_prompt_id, newest.after_prompt_id, newest.operator) == (
        "clear",
        agent_id,
        prompt_id,
        "",
        "lin",
    )


async def test_prompts_of_a_deleted_team_hold_for_nobody_in_it_any_longer(
    store: SqliteStore, clock: FakeClock, told: Told, bound: tuple[PromptBook, str, str]
) -> None:
    book, team_id, prompt_id = bound
    await Teams(store, clock, DirectorySettings(), told).delete("default", LIN, [team_id])

    (left,) = await book.settings(PromptFilter("default"))
    assert left.target.kind == "instance"
    changes = await book.changes(PromptFilter("default", prompt_id=prompt_id))
    assert [one.action for one in changes].count("clear") == 3
    assert (await book.get("default", prompt_id)).text == "look for dates"
