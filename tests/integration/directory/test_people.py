"""The directory as a library: limits of settings, and names that no store holds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from memstrata.directory.teams import NewTeam
from memstrata.errors import Conflict, Forbidden, InvalidRequest
from memstrata.memory import Memory
from memstrata.records.people import User
from memstrata.settings import DirectorySettings, Settings
from memstrata.store.directory import UserFilter, Window

OpenMemory = Callable[..., AbstractAsyncContextManager[Memory]]
INSTANCE = "default"


async def administrator(memory: Memory) -> User:
    return (await memory.directory.bootstrap.init_admin(INSTANCE, username="root")).user


async def test_an_instance_has_no_more_users_teams_and_keys_than_its_settings_say(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    limits = DirectorySettings(max_users=2, max_teams=2, max_active_keys=2)
    async with open_memory(settings=Settings(data_dir=tmp_path, directory=limits)) as memory:
        directory, admin = memory.directory, await administrator(memory)
        lin = (await directory.people.create(INSTANCE, admin, username="lin")).user
        await directory.teams.create(INSTANCE, lin, NewTeam("kitchen", lin.user_id))
        await directory.keys.create(INSTANCE, lin)

        with pytest.raises(Conflict, match=r"^user_limit_exceeded: "):
            await directory.people.create(INSTANCE, admin, username="rex")
        with pytest.raises(Conflict, match=r"^team_limit_exceeded: "):
            await directory.teams.create(INSTANCE, lin, NewTeam("office", lin.user_id))
        with pytest.raises(Conflict, match=r"^key_limit_exceeded: "):
            await directory.keys.create(INSTANCE, lin)
        await directory.bootstrap.init_admin("other", username="root")


async def test_a_name_that_no_store_holds_is_refused_or_repaired(open_memory: OpenMemory) -> None:
    async with open_memory() as memory:
        admin = await administrator(memory)

        with pytest.raises(InvalidRequest, match="username"):
            await memory.directory.people.create(INSTANCE, admin, username="\ud800")
        with pytest.raises(InvalidRequest, match="user_id"):
            await memory.directory.people.create(INSTANCE, admin, username="lin", user_id="\ud800")
        team = await memory.directory.teams.create(INSTANCE, admin, NewTeam("a\ud800", admin.user_id, "b\ud800"))
        assert (team.name, team.description) == ("a\ufffd", "b\ufffd")
        assert await memory.directory.teams.get(INSTANCE, admin, team.team_id) == team


async def test_there_is_one_first_administrator(open_memory: OpenMemory) -> None:
    async with open_memory() as memory:
        assert not await memory.directory.bootstrap.is_done(INSTANCE)
        admin = await administrator(memory)

        with pytest.raises(Conflict, match=r"^already_initialized: "):
            await administrator(memory)

        assert await memory.directory.bootstrap.is_done(INSTANCE)
        page = await memory.directory.people.of_instance(INSTANCE, UserFilter(), Window())
        assert page.items == (admin,)


async def test_being_an_administrator_of_one_instance_is_nothing_in_another(open_memory: OpenMemory) -> None:
    async with open_memory() as memory:
        key = (await memory.directory.bootstrap.init_admin(INSTANCE, username="root")).key
        other = await memory.directory.bootstrap.init_admin("other", username="root")

        assert await memory.directory.people.verify("other", key) is None
        assert await memory.directory.people.verify("other", other.key) == other.user
        lin = (await memory.directory.people.create("other", other.user, username="lin")).user
        with pytest.raises(Forbidden, match=r"^permission_denied: "):
            await memory.directory.people.delete("other", lin, [other.user.user_id])
