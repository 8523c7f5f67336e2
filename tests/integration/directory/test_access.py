"""What a user is to an agent, as it is kept: for five seconds, and never past a change that this process made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TypeVar

import pytest

from memstrata.directory.access import MOST_KEPT, Access, may_change, may_use
from memstrata.directory.agents import AgentChange, NewAgent
from memstrata.directory.announcing import AnnouncingStore
from memstrata.directory.teams import NewTeam
from memstrata.errors import Forbidden
from memstrata.memory import Memory
from memstrata.records import ComponentHealth
from memstrata.records.people import User
from memstrata.store.protocol import Repositories, Store
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import FakeClock

T = TypeVar("T")
INSTANCE = "default"


class Counting:
    """A store that counts what is read."""

    def __init__(self, store: Store) -> None:
        self.reads = 0
        self._store = store

    async def write(self, work: Callable[[Repositories], T]) -> T:
        return await self._store.write(work)

    async def read(self, work: Callable[[Repositories], T], *, timeout_seconds: float = 10.0) -> T:
        self.reads += 1
        return await self._store.read(work, timeout_seconds=timeout_seconds)

    def health(self) -> ComponentHealth:
        return self._store.health()

    async def close(self) -> None:
        await self._store.close()


@dataclass
class House:
    """A team of lin's with the member mia, and an agent of lin's."""

    memory: Memory
    lin: User
    mia: User
    team: str
    agent: str

    async def uses(self, user: User) -> bool:
        return may_use(await self.memory.directory.access.standing(INSTANCE, user.user_id, self.team, self.agent))


@pytest.fixture
async def house(open_memory: Callable[..., AbstractAsyncContextManager[Memory]]) -> AsyncIterator[House]:
    async with open_memory() as memory:
        directory = memory.directory
        admin = (await directory.bootstrap.init_admin(INSTANCE, username="root")).user
        lin, mia = [(await directory.people.create(INSTANCE, admin, username=name)).user for name in ("lin", "mia")]
        team = await directory.teams.create(INSTANCE, lin, NewTeam("home", lin.user_id))
        await directory.members.add(INSTANCE, lin, team.team_id, mia.user_id)
        agent = await directory.agents.create(INSTANCE, lin, NewAgent(team.team_id, lin.user_id, "cook"))
        yield House(memory, lin, mia, team.team_id, agent.agent_id)


async def test_a_change_made_here_counts_at_once_and_one_made_elsewhere_after_five_seconds(
    house: House, clock: FakeClock
) -> None:
    directory = house.memory.directory
    assert await house.uses(house.mia)
    await directory.agents.update(INSTANCE, house.lin, house.agent, AgentChange(visibility="private"))
    assert not await house.uses(house.mia)

    private = await directory.agents.get(INSTANCE, house.lin, house.agent)
    elsewhere = house.memory._store
    shared = AgentChange(visibility="team").of(private, clock.now())
    await elsewhere.write(lambda r: r.agents.replace(INSTANCE, shared))
    clock.advance(4.9)
    assert not await house.uses(house.mia)
    clock.advance(0.2)
    assert await house.uses(house.mia)


async def test_it_is_read_once_for_many_requests_and_held_in_bounded_memory(
    store: SqliteStore, clock: FakeClock
) -> None:
    counting = Counting(store)
    access = Access(counting, clock)
    for _ in range(5):
        assert not may_change(await access.standing(INSTANCE, "lin", "team", "agent"))
    assert counting.reads == 1

    for number in range(MOST_KEPT):
        await access.standing(INSTANCE, "lin", "team", f"agent-{number}")
    assert len(access._kept) == MOST_KEPT
    await access.standing(INSTANCE, "lin", "team", "agent")
    assert counting.reads == MOST_KEPT + 2


async def test_what_was_read_before_a_change_is_not_kept_after_it(store: SqliteStore, clock: FakeClock) -> None:
    class Late(Counting):
        """A change comes while it reads."""

        async def read(self, work: Callable[[Repositories], T], *, timeout_seconds: float = 10.0) -> T:
            found = await super().read(work, timeout_seconds=timeout_seconds)
            access.changed()
            return found

    late = Late(store)
    access = Access(late, clock)
    await access.standing(INSTANCE, "lin", "team", "agent")
    await access.standing(INSTANCE, "lin", "team", "agent")

    assert late.reads == 2


async def test_a_write_is_told_also_when_it_failed(store: SqliteStore) -> None:
    told: list[str] = []
    announcing = AnnouncingStore(store, lambda: told.append("changed"))

    def refuse(r: Repositories) -> None:
        raise Forbidden("no")

    await announcing.write(lambda r: None)
    with pytest.raises(Forbidden):
        await announcing.write(refuse)
    await announcing.read(lambda r: None)

    assert told == ["changed", "changed"]


async def test_every_refusal_says_the_same(house: House) -> None:
    access, mia = house.memory.directory.access, house.mia.user_id
    refusals = (
        access.require_use(INSTANCE, mia, "none", "none"),
        access.require_use(INSTANCE, mia, house.team, "none"),
        access.require_use("other", mia, house.team, house.agent),
        access.require_change(INSTANCE, mia, house.team, [house.agent]),
        access.require_team_admin(INSTANCE, mia, house.team),
        access.require_member(INSTANCE, mia, "none"),
        access.require_memories(INSTANCE, mia, ["chat_memory-none-none"]),
        access.require_memories(INSTANCE, mia, [f"chat_memory-{house.team}-{house.agent}"]),
    )
    said = set()
    for refusal in refusals:
        with pytest.raises(Forbidden) as refused:
            await refusal
        said.add(str(refused.value))

    assert len(said) == 1
