"""How often the core is asked whose key it is, and what holds while it does not say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from memstrata.proxy.verification import CoreSilent, Verification
from memstrata.testing import FakeClock


class Core:
    """Says whose keys are whose, as long as it is `up`; holds questions back while `gate` is not set."""

    def __init__(self) -> None:
        self.users = {"key-1": "lin"}
        self.asked: list[tuple[str, str]] = []
        self.up = True
        self.gate = asyncio.Event()
        self.gate.set()

    async def user_of(self, instance: str, user_key: str) -> str:
        self.asked.append((instance, user_key))
        await self.gate.wait()
        if not self.up:
            raise CoreSilent("Unreachable")
        return self.users.get(user_key, "")


@pytest.fixture
def core() -> Core:
    return Core()


@pytest.fixture
async def verification(core: Core, clock: FakeClock) -> AsyncIterator[Verification]:
    made = Verification(core.user_of, clock)
    yield made
    await made.close()


async def test_a_key_that_holds_is_believed_for_five_minutes(
    verification: Verification, core: Core, clock: FakeClock
) -> None:
    assert await verification.user("i", "key-1") == "lin"
    clock.advance(299)
    assert await verification.user("i", "key-1") == "lin"
    assert len(core.asked) == 1
    clock.advance(2)
    core.users.clear()
    assert await verification.user("i", "key-1") == ""
    assert len(core.asked) == 2


async def test_a_key_that_opens_nothing_is_asked_about_again_after_ten_seconds(
    verification: Verification, core: Core, clock: FakeClock
) -> None:
    assert await verification.user("i", "new") == ""
    core.users["new"] = "mei"
    clock.advance(9)
    assert await verification.user("i", "new") == ""
    clock.advance(2)
    assert await verification.user("i", "new") == "mei"


async def test_instances_do_not_share_what_was_said(verification: Verification, core: Core) -> None:
    await verification.user("i", "key-1")
    await verification.user("j", "key-1")
    assert core.asked == [("i", "key-1"), ("j", "key-1")]


async def test_requests_at_the_same_time_share_one_question_and_one_who_leaves_does_not_end_it(
    verification: Verification, core: Core
) -> None:
    core.gate.clear()
    asking = [asyncio.create_task(verification.user("i", "key-1")) for _ in range(10)]
    while not core.asked:
        await asyncio.sleep(0)
    asking[0].cancel()
    core.gate.set()
    assert await asyncio.gather(*asking[1:]) == ["lin"] * 9
    assert len(core.asked) == 1


async def test_what_the_core_said_holds_while_it_cannot_be_asked(
    verification: Verification, core: Core, clock: FakeClock
) -> None:
    await verification.user("i", "key-1")
    core.up = False
    clock.advance(301)
    assert await verification.user("i", "key-1") == "lin"
    assert await verification.user("i", "key-1") == "lin"
    assert len(core.asked) == 2, "an outage must not cost every request a question"
    clock.advance(11)
    core.up = True
    core.users.clear()
    assert await verification.user("i", "key-1") == ""


async def test_nothing_holds_longer_than_a_day_without_the_core(
    verification: Verification, core: Core, clock: FakeClock
) -> None:
    await verification.user("i", "key-1")
    core.up = False
    clock.advance(86_401)
    with pytest.raises(CoreSilent):
        await verification.user("i", "key-1")


async def test_a_silent_core_lets_nobody_new_in_and_says_so(verification: Verification, core: Core) -> None:
    core.up = False
    with pytest.raises(CoreSilent):
        await verification.user("i", "key-1")
    core.up = True
    assert await verification.user("i", "key-1") == "lin"
