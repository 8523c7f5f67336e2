"""Messages that no model takes: put aside so that their session goes on, counted, and brought back when asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from memstrata.records import Message, NewMessage, Scope, SessionTarget
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import SessionProgress

Build = Callable[..., NewMessage]


@pytest.fixture
async def session(store: Store, scope: Scope, new_message: Build) -> SessionTarget:
    """A session of five messages; the third is the assistant's."""
    sent = [new_message(str(n), role="assistant" if n == 2 else "user") for n in range(5)]
    return await store.write(lambda r: r.conversations.append(scope, "s1", "", sent, 1_000))


async def waiting(store: Store, target: SessionTarget, limit: int = 9) -> list[str]:
    found = await store.read(lambda r: r.conversations.undistilled(target, limit))
    return [message.content for message in found]


async def all_of(store: Store, target: SessionTarget) -> tuple[Message, ...]:
    return await store.read(lambda r: r.conversations.before(target, 10**9, 99))


async def progress(store: Store, target: SessionTarget, count_up_to: int = 99) -> SessionProgress:
    return await store.read(lambda r: r.conversations.progress(target, count_up_to))


async def parked(store: Store, scope: Scope, session_id: str | None = None) -> int:
    return await store.read(lambda r: r.conversations.parked_count(scope, session_id))


async def pending(store: Store, scope: Scope, session_id: str | None = None) -> tuple[set[str], int]:
    """Return the sessions that have something to distill, and how many messages that is."""

    def look(r: Repositories) -> tuple[set[str], int]:
        c = r.conversations
        found = {target.session_id for target in c.pending_sessions(scope, session_id)}
        return found, c.pending_count(scope, session_id)

    return await store.read(look)


async def park(store: Store, target: SessionTarget, *places: int) -> list[int]:
    """Park the messages at these places of the session, the rest being distilled; return their seqs."""
    messages = await all_of(store, target)

    def work(r: Repositories) -> None:
        for place in places:
            r.conversations.park(target, messages[place].seq, "unreadable", 5_000)
        r.conversations.advance(target, messages[-1].seq, 4, "kitchen")

    await store.write(work)
    return [messages[place].seq for place in places]


async def revive(store: Store, scope: Scope) -> tuple[SessionTarget, ...]:
    return await store.write(lambda r: r.conversations.revive(scope))


async def test_a_parked_message_is_counted_and_holds_nothing_up(
    store: Store, scope: Scope, session: SessionTarget
) -> None:
    await park(store, session, 1, 2)

    assert await parked(store, scope) == 2
    assert await parked(store, scope, "s1") == 2
    assert await parked(store, scope, "nowhere") == 0
    assert await waiting(store, session) == []
    assert await pending(store, scope) == (set(), 0)
    assert (await progress(store, session)).pending_messages == 0
    assert await store.read(lambda r: r.jobs.forgotten()) == ()


async def test_the_reason_of_what_was_parked_last_is_told(store: Store, scope: Scope, session: SessionTarget) -> None:
    async def reason(session_id: str | None = None, user: str = scope.user) -> str:
        return await store.read(lambda r: r.conversations.parked_reason(replace(scope, user=user), session_id))

    assert await reason() == ""
    first, late, third = (message.seq for message in (await all_of(store, session))[:3])
    await store.write(lambda r: r.conversations.park(session, first, "withheld", 5_000))
    await store.write(lambda r: r.conversations.park(session, late, "too long", 7_000))
    await store.write(lambda r: r.conversations.park(session, third, "cut", 4_000))

    assert (await reason(), await reason("s1")) == ("too long", "too long")
    assert (await reason("nowhere"), await reason(user="max")) == ("", "")
    await store.write(lambda r: r.conversations.unpark(session, [late]))
    assert await reason() == "withheld"
    await revive(store, scope)
    assert await reason() == ""


async def test_revived_messages_are_distilled_alone_and_before_what_came_since(
    store: Store, scope: Scope, session: SessionTarget, new_message: Build
) -> None:
    """What is revived lies far back; one batch is one stretch of a conversation."""
    seqs = await park(store, session, 2, 0)
    await store.write(lambda r: r.conversations.append(scope, "s1", "", [new_message("new")], 2_000))

    assert await revive(store, scope) == (session,)

    assert await waiting(store, session) == ["0", "2"]
    assert await waiting(store, session, limit=1) == ["0"]
    await store.write(lambda r: r.conversations.unpark(session, seqs))
    assert await waiting(store, session) == ["new"]


async def test_revived_messages_count_as_work_to_do_and_no_longer_as_parked(
    store: Store, scope: Scope, session: SessionTarget
) -> None:
    """Invariant 3: what waits is read from rows, so a lost timer is found again."""
    seqs = await park(store, session, 1, 2)
    await revive(store, scope)

    assert await parked(store, scope) == 0
    assert await pending(store, scope) == ({"s1"}, 2)
    assert await pending(store, scope, "s1") == ({"s1"}, 2)
    assert await pending(store, scope, "nowhere") == (set(), 0)
    assert await store.read(lambda r: r.jobs.forgotten()) == (session,)
    now = await progress(store, session)
    assert (now.pending_rounds, now.pending_messages) == (2, 2)  # each is tried again, whoever said it

    await store.write(lambda r: r.conversations.unpark(session, seqs))
    assert await pending(store, scope) == (set(), 0)
    assert await store.read(lambda r: r.jobs.forgotten()) == ()


async def test_progress_counts_revived_and_new_messages_together_up_to_the_limit(
    store: Store, scope: Scope, session: SessionTarget, new_message: Build
) -> None:
    await park(store, session, 0, 1, 3)
    await revive(store, scope)
    await store.write(
        lambda r: r.conversations.append(scope, "s1", "", [new_message(), new_message(role="assistant")], 2_000)
    )

    whole, capped = await progress(store, session), await progress(store, session, 2)

    assert (whole.pending_rounds, whole.pending_messages) == (4, 5)
    assert (capped.pending_rounds, capped.pending_messages) == (2, 2)


async def test_a_revived_message_that_fails_again_is_parked_again(
    store: Store, scope: Scope, session: SessionTarget
) -> None:
    (seq,) = await park(store, session, 1)
    await revive(store, scope)

    await store.write(lambda r: r.conversations.park(session, seq, "still unreadable", 6_000))

    assert await parked(store, scope) == 1
    assert await waiting(store, session) == []
    assert await revive(store, scope) == (session,)
    assert await waiting(store, session) == ["1"]


async def test_distilling_a_revived_message_does_not_move_the_cursor_back(
    store: Store, scope: Scope, session: SessionTarget, new_message: Build
) -> None:
    (seq,) = await park(store, session, 0)
    end = (await progress(store, session)).cursor
    await revive(store, scope)

    await store.write(lambda r: r.conversations.advance(session, seq, 4, "kitchen"))

    assert (await progress(store, session)).cursor == end


async def test_reviving_names_the_sessions_of_the_scope_that_have_parked_messages(
    store: Store, scope: Scope, session: SessionTarget, new_message: Build
) -> None:
    stranger = replace(scope, user="max")

    def say(r: Repositories) -> tuple[SessionTarget, ...]:
        c = r.conversations
        return (
            c.append(scope, "s2", "", [new_message("mine")], 0),
            c.append(scope, "s3", "", [new_message("clean")], 0),
            c.append(stranger, "s1", "", [new_message("theirs")], 0),
        )

    second, _, theirs = await store.write(say)
    await park(store, session, 0, 1)
    await park(store, second, 0)
    await park(store, theirs, 0)

    assert set(await revive(store, scope)) == {session, second}

    assert await parked(store, stranger) == 1
    assert await waiting(store, theirs) == []
    assert await revive(store, replace(scope, agent="unknown")) == ()


async def test_a_session_can_park_and_unpark_its_own_messages_only(
    store: Store, scope: Scope, session: SessionTarget, new_message: Build
) -> None:
    """Invariant 4: the seq of a foreign message is no handle on it."""
    stranger = replace(scope, user="max")
    theirs = await store.write(lambda r: r.conversations.append(stranger, "s1", "", [new_message("theirs")], 0))
    (seq,) = await park(store, theirs, 0)

    await store.write(lambda r: r.conversations.park(session, seq, "not mine", 0))
    await store.write(lambda r: r.conversations.unpark(session, [seq]))
    assert (await parked(store, scope), await parked(store, stranger)) == (0, 1)

    await revive(store, stranger)
    await store.write(lambda r: r.conversations.park(session, seq, "not mine", 0))
    assert await waiting(store, theirs) == ["theirs"]


async def test_a_deleted_message_is_parked_no_longer(store: Store, scope: Scope, session: SessionTarget) -> None:
    """Invariant 10."""
    await park(store, session, 0, 1)
    first = (await all_of(store, session))[0]

    await store.write(lambda r: r.erasure.messages(scope, [first.message_id], [], None))
    assert await parked(store, scope) == 1
    await store.write(lambda r: r.erasure.messages(scope, [], ["s1"], None))
    assert await parked(store, scope) == 0
    assert await revive(store, scope) == ()


async def test_what_a_model_distills_again_is_not_parked_as_well(
    store: Store, scope: Scope, session: SessionTarget
) -> None:
    """Else it would be counted and distilled twice: as revived, and as past the cursor."""
    seqs = await park(store, session, 0, 3)
    await store.write(lambda r: r.conversations.distilled_by_rules(session, seqs[1] - 1))

    await store.write(lambda r: r.conversations.start_again_from_rules())
    assert await parked(store, scope) == 1
    await revive(store, scope)

    assert await pending(store, scope) == ({"s1"}, 4)
    assert await waiting(store, session) == ["0"]
