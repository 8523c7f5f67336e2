"""Whose key a request carries, and what changes where each user has scenes and a portrait of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import pytest

from memstrata.directory.agents import NewAgent
from memstrata.directory.teams import NewTeam
from memstrata.errors import Forbidden, Unauthorized
from memstrata.memory import Memory
from memstrata.records import ProfileScope, Scope
from memstrata.server.authority import Authority, claimed_key
from memstrata.server.policy import Identity

KEY = "sk-mem-0123456789abcdefghijklmnopqrstuv"


@dataclass
class House:
    """A team of lin's with the member mia, and lin's agent."""

    memory: Memory
    team: str
    agent: str
    users: dict[str, str]

    async def admits(self, name: str, identity: Identity, about: str | None = None) -> bool:
        scope = Scope("default", self.team, self.agent, self.users[about or name])
        try:
            await Authority(identity, self.memory, b"sesame").admit(scope, self.users[name])
        except Forbidden:
            return False
        return True


@asynccontextmanager
async def house(
    open_memory: Callable[..., AbstractAsyncContextManager[Memory]], profile_scope: ProfileScope
) -> AsyncIterator[House]:
    async with open_memory(profile_scope=profile_scope) as memory:
        directory = memory.directory
        admin = (await directory.bootstrap.init_admin("default", username="root")).user
        lin, mia = [(await directory.people.create("default", admin, username=name)).user for name in ("lin", "mia")]
        team = await directory.teams.create("default", lin, NewTeam("home", lin.user_id))
        await directory.members.add("default", lin, team.team_id, mia.user_id)
        agent = await directory.agents.create("default", lin, NewAgent(team.team_id, lin.user_id, "cook"))
        yield House(memory, team.team_id, agent.agent_id, {"lin": lin.user_id, "mia": mia.user_id})


@pytest.mark.parametrize(("profile_scope", "mia_may"), [("agent", False), ("agent_user", True)])
async def test_users_change_documents_by_hand_where_these_are_their_own(
    open_memory: Callable[..., AbstractAsyncContextManager[Memory]], profile_scope: ProfileScope, mia_may: bool
) -> None:
    async with house(open_memory, profile_scope) as home:
        assert await home.admits("lin", "owner")
        assert await home.admits("mia", "owner") == mia_may
        assert await home.admits("mia", "scope")
        identities: tuple[Identity, ...] = ("owner", "scope", "target")
        for identity in identities:
            assert not await home.admits("mia", identity, about="lin")


def test_a_users_key_is_found_in_its_header_first_and_else_as_bearer() -> None:
    bearer = {b"authorization": f"Bearer {KEY}".encode()}

    assert claimed_key(bearer, b"") == KEY
    assert claimed_key(bearer | {b"x-tdai-user-key": b" other "}, b"sesame") == "other"
    assert claimed_key({b"authorization": b"Bearer sesame", b"x-tdai-user-key": KEY.encode()}, b"sesame") == KEY
    assert claimed_key({b"authorization": b"Bearer sesame"}, b"sesame") is None
    assert claimed_key({}, b"") is None


def test_a_gateway_key_that_looks_like_a_users_is_the_gateways() -> None:
    bearer = {b"authorization": f"Bearer {KEY}".encode()}

    assert claimed_key(bearer, KEY.encode()) is None
    assert claimed_key(bearer, KEY.encode() + b"x") == KEY


@pytest.mark.parametrize("blank", [b"", b" ", b"\t"])
def test_a_header_without_a_key_in_it_is_nobody(blank: bytes) -> None:
    with pytest.raises(Unauthorized):
        claimed_key({b"authorization": b"Bearer sesame", b"x-tdai-user-key": blank}, b"sesame")
