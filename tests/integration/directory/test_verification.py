"""Whose key it is: kept for seconds, never past an expiry, a revoke or a limit of guesses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import pytest

from memstrata.directory.key_text import digest_of
from memstrata.directory.keys import KeyChange
from memstrata.errors import Forbidden, Unauthorized, Unavailable
from memstrata.memory import Memory
from memstrata.records.people import User, UserKey
from memstrata.store.directory import Window
from memstrata.testing import FakeClock

INSTANCE = "default"


@dataclass
class House:
    """A memory with an administrator and a user, `lin`."""

    memory: Memory
    admin: User
    lin: User
    key: str

    async def who(self, key: str | None = None, source: str = "") -> str:
        user, _ = await self.memory.directory.people.caller(INSTANCE, key or self.key, source=source)
        return user.username

    async def keys(self) -> tuple[UserKey, ...]:
        return (await self.memory.directory.keys.list(INSTANCE, self.lin, None, Window())).items


@pytest.fixture
async def house(open_memory: Callable[..., AbstractAsyncContextManager[Memory]]) -> AsyncIterator[House]:
    async with open_memory() as memory:
        admin = await memory.directory.bootstrap.init_admin(INSTANCE, username="root")
        new = await memory.directory.people.create(INSTANCE, admin.user, username="lin")
        yield House(memory, admin.user, new.user, new.key)


async def test_a_key_tells_whose_it_is_in_its_instance_only(house: House) -> None:
    assert await house.who() == "lin"
    for instance, key in ((INSTANCE, "sk-mem-wrong"), ("other", house.key), (INSTANCE, ""), (INSTANCE, "\ud800")):
        with pytest.raises(Unauthorized, match=r"^unauthorized: invalid_user_key$"):
            await house.memory.directory.people.caller(instance, key)


async def test_a_key_ends_at_its_time_though_it_was_used_a_moment_before(house: House, clock: FakeClock) -> None:
    keys = house.memory.directory.keys
    new = await keys.create(INSTANCE, house.lin, expires_at=clock.now() + 2_000)
    clock.advance(1.999)
    assert await house.who(new.text) == "lin"

    clock.advance(0.001)

    with pytest.raises(Unauthorized):
        await house.who(new.text)


async def test_a_revoke_and_an_earlier_end_hold_at_once(house: House, clock: FakeClock) -> None:
    keys = house.memory.directory.keys
    revoked, shortened = await keys.create(INSTANCE, house.lin), await keys.create(INSTANCE, house.lin)
    for text in (revoked.text, shortened.text):
        assert await house.who(text) == "lin"

    await keys.revoke(INSTANCE, house.lin, revoked.key.key_id)
    change = KeyChange(expires_at=clock.now() + 1, keeps_expiry=False)
    await keys.update(INSTANCE, house.lin, shortened.key.key_id, change)
    clock.advance(0.001)

    for text in (revoked.text, shortened.text):
        with pytest.raises(Unauthorized):
            await house.who(text)


async def test_a_removed_user_has_no_key_any_more(house: House) -> None:
    assert await house.who() == "lin"

    await house.memory.directory.people.delete(INSTANCE, house.admin, [house.lin.user_id])

    with pytest.raises(Unauthorized):
        await house.who()


async def test_an_inactive_user_is_refused_and_verifies_as_nobody(house: House) -> None:
    def add(r: Any) -> None:
        r.users.add(INSTANCE, User("usr-eve", "normal", "eve", "inactive", 0, 0))
        r.user_keys.add(INSTANCE, UserKey("uky-eve", "usr-eve", "", "", True, 0), digest_of("sk-mem-eve"))

    await house.memory._store.write(add)

    with pytest.raises(Forbidden, match=r"^user_inactive: "):
        await house.who("sk-mem-eve")
    assert await house.memory.directory.people.verify(INSTANCE, "sk-mem-eve") is None
    assert await house.memory.directory.people.verify(INSTANCE, house.key) == house.lin


async def test_what_another_process_did_is_seen_after_a_few_seconds(house: House, clock: FakeClock) -> None:
    assert await house.who() == "lin"
    await house.memory._store.write(lambda r: r.users.remove(INSTANCE, house.lin.user_id))

    clock.advance(5)

    with pytest.raises(Unauthorized):
        await house.who()


async def test_the_use_of_a_key_is_written_at_most_once_a_minute(house: House, clock: FakeClock) -> None:
    first = clock.now()
    await house.who()
    clock.advance(59)
    await house.who()
    assert [key.last_used_at for key in await house.keys()] == [first]

    clock.advance(1)
    await house.who()

    assert [key.last_used_at for key in await house.keys()] == [first + 60_000]


async def test_a_full_disk_keeps_nobody_out(
    house: House, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(work: Any) -> None:
        raise Unavailable("the disk is full; nothing was stored")

    monkeypatch.setattr(house.memory._store, "write", full)

    assert await house.who() == "lin"
    assert "the use of a key was not noted" in caplog.text
    assert house.key not in caplog.text


async def test_who_guesses_has_to_wait_and_who_is_known_has_not(house: House, clock: FakeClock) -> None:
    new = await house.memory.directory.keys.create(INSTANCE, house.lin)
    assert await house.who(source="10.0.0.1") == "lin"
    for number in range(10):
        with pytest.raises(Unauthorized, match="invalid_user_key"):
            await house.who(f"sk-mem-guess-{number}", source="10.0.0.1")

    for key in ("sk-mem-another", new.text):
        with pytest.raises(Unauthorized, match=r"^unauthorized: too_many_wrong_keys") as refused:
            await house.who(key, source="10.0.0.1")
        assert refused.value.retry_after == 60
    with pytest.raises(Unauthorized, match="too_many_wrong_keys"):
        await house.memory.directory.people.verify(INSTANCE, "sk-mem-another", source="10.0.0.1")
    clock.advance(30)
    assert await house.who(source="10.0.0.1") == "lin"
    assert await house.who(new.text, source="10.0.0.2") == "lin"

    clock.advance(30)
    assert await house.who(new.text, source="10.0.0.1") == "lin"


async def test_neither_the_database_nor_a_log_has_a_key(
    house: House, caplog: pytest.LogCaptureFixture, tmp_path: Any
) -> None:
    new = await house.memory.directory.keys.create(INSTANCE, house.lin, expires_at=None)
    await house.who(new.text)

    stored = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())

    assert b"uky-" in stored
    for text in (new.text, house.key):
        assert text.encode() not in stored
        assert text.removeprefix("sk-mem-").encode() not in stored
        assert text not in caplog.text
