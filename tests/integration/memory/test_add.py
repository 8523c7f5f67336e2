"""Invariant 1: an acknowledged message is never lost and never doubled, however often and from wherever it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import pytest

from memstrata.errors import Conflict, InvalidRequest
from memstrata.memory import Memory, MessageInput
from memstrata.records import Receipt, Scope
from memstrata.testing import EchoDistiller, FakeClock
from memstrata.text.markers import wrap

Open = Callable[..., AbstractAsyncContextManager[Memory]]
TURN = [MessageInput("user", "I drink green tea"), MessageInput("assistant", "noted")]


def said(text: str, **given: Any) -> MessageInput:
    return MessageInput("user", text, **given)


async def texts(memory: Memory, scope: Scope, **where: Any) -> list[str]:
    """Return what was said, in the order of commits."""
    page = await memory.messages(scope, limit=1000, **where)
    return [m.content for m in sorted(page.items, key=lambda m: m.seq)]


async def test_a_turn_comes_back_in_order_with_the_ids_of_its_receipt(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        receipt = await memory.add(scope, "s1", TURN)

        page = await memory.messages(scope, session_id="s1")
        assert page.total == 2
        assert [m.content for m in page.items] == ["noted", "I drink green tea"]
        assert receipt == Receipt(tuple(m.message_id for m in reversed(page.items)))


async def test_the_same_key_and_payload_is_answered_as_before_and_stored_once(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        first = await memory.add(scope, "s1", TURN, idempotency_key="k")
        again = await memory.add(scope, "s1", TURN, idempotency_key="k")

        assert again == replace(first, replayed=True)
        assert await memory.count_messages(scope) == 2


async def test_a_retry_after_a_restart_is_recognised(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller
) -> None:
    async with open_memory() as memory:
        first = await memory.add(scope, "s1", TURN, idempotency_key="k")
        with_id = await memory.add(scope, "s1", [said("with an id", message_id="mine")])
    clock.advance(3_600)
    async with open_memory() as memory:
        assert await memory.add(scope, "s1", TURN, idempotency_key="k") == replace(first, replayed=True)
        again = await memory.add(scope, "s1", [said("with an id", message_id="mine")])
        assert again == replace(with_id, replayed=True)
        assert await memory.count_messages(scope) == 3
    assert sorted(distiller.seen) == ["I drink green tea", "noted", "with an id"]


@pytest.mark.parametrize(
    "other",
    [
        [MessageInput("user", "I drink black tea"), MessageInput("assistant", "noted")],
        [MessageInput("assistant", "I drink green tea"), MessageInput("assistant", "noted")],
        TURN[:1],
        [*TURN, said("and more")],
        [replace(TURN[0], said_at=5), TURN[1]],
        [replace(TURN[0], message_id="named"), TURN[1]],
    ],
)
async def test_the_same_key_for_other_messages_is_a_conflict_and_stores_nothing(
    open_memory: Open, scope: Scope, other: list[MessageInput]
) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", TURN, idempotency_key="k")
        with pytest.raises(Conflict, match="idempotency key"):
            await memory.add(scope, "s1", other, idempotency_key="k")
        with pytest.raises(Conflict):
            await memory.add(scope, "s1", TURN, idempotency_key="k", task_id="another task")

        assert await texts(memory, scope) == ["I drink green tea", "noted"]


async def test_a_key_counts_in_its_own_session_and_scope_only(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        for who, session in ((scope, "s1"), (scope, "s2"), (replace(scope, user="max"), "s1")):
            receipt = await memory.add(who, session, TURN, idempotency_key="k")
            assert not receipt.replayed
        assert await memory.count_messages(scope) == 4


async def test_without_key_and_ids_the_same_words_are_said_twice(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", [said("again"), said("again")])
        await memory.add(scope, "s1", [said("again")])
        assert await texts(memory, scope) == ["again"] * 3


async def test_messages_with_known_ids_are_stored_once_and_new_ones_of_the_batch_are_added(
    open_memory: Open, scope: Scope
) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", [said("one", message_id="a")])
        receipt = await memory.add(
            scope, "s1", [said("one", message_id="a"), said("two", message_id="b"), said("free")]
        )

        assert receipt.message_ids[:2] == ("a", "b")
        assert not receipt.replayed
        assert await texts(memory, scope) == ["one", "two", "free"]
        assert (await memory.add(scope, "s1", [said("two", message_id="b")])).replayed


async def test_a_known_id_with_another_text_or_role_is_a_conflict_for_the_whole_batch(
    open_memory: Open, scope: Scope
) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", [said("one", message_id="a")])
        for other in (said("another", message_id="a"), MessageInput("assistant", "one", message_id="a")):
            with pytest.raises(Conflict, match="'a'"):
                await memory.add(scope, "s1", [said("new", message_id="b"), other], idempotency_key="k")

        assert await texts(memory, scope) == ["one"]
        assert not (await memory.add(scope, "s1", [said("new", message_id="b")], idempotency_key="k")).replayed


async def test_one_id_cannot_stand_twice_in_a_batch(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        with pytest.raises(InvalidRequest, match="two messages"):
            await memory.add(scope, "s1", [said("one", message_id="a"), said("one", message_id="a")])
        assert await memory.count_messages(scope) == 0


async def test_fifty_retries_at_the_same_time_store_one_row(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        receipts = await asyncio.gather(
            *(memory.add(scope, "s1", [said("once")], idempotency_key="k") for _ in range(50))
        )

        assert len({receipt.message_ids for receipt in receipts}) == 1
        assert sum(not receipt.replayed for receipt in receipts) == 1
        assert await texts(memory, scope) == ["once"]


async def test_fifty_retries_with_one_message_id_store_one_row(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        receipts = await asyncio.gather(
            *(memory.add(scope, "s1", [said("once", message_id="mine")]) for _ in range(50))
        )

        assert sum(not receipt.replayed for receipt in receipts) == 1
        assert await texts(memory, scope) == ["once"]


async def test_of_two_payloads_that_race_for_a_key_one_wins_and_the_other_is_told(
    open_memory: Open, scope: Scope
) -> None:
    async with open_memory() as memory:
        results = await asyncio.gather(
            *(memory.add(scope, "s1", [said(f"text {n % 2}")], idempotency_key="k") for n in range(20)),
            return_exceptions=True,
        )

        assert sum(isinstance(result, Conflict) for result in results) == 10
        assert await texts(memory, scope) == ["text 0"]


async def test_many_adds_share_commits_and_none_is_lost(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        before = (await memory.health()).components["store"].details
        await asyncio.gather(*(memory.add(scope, f"s{n % 7}", [said(f"text {n}")]) for n in range(200)))
        after = (await memory.health()).components["store"].details

        assert int(after["commits"]) - int(before["commits"]) < 100
        assert sorted(await texts(memory, scope)) == sorted(f"text {n}" for n in range(200))


async def test_a_key_is_forgotten_after_its_days(
    open_memory: Open, scope: Scope, clock: FakeClock, eventually: Callable[..., Awaitable[None]]
) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", TURN, idempotency_key="k")
        clock.advance(31 * 86_400)

        async def forgotten() -> bool:
            return await memory._store.read(lambda r: r.conversations.receipt(scope, "s1", "k")) is None

        await eventually(forgotten)
        assert not (await memory.add(scope, "s1", TURN, idempotency_key="k")).replayed


async def test_a_deleted_session_can_be_told_again_under_the_same_keys_and_ids(open_memory: Open, scope: Scope) -> None:
    """Invariant 10: receipts go with their session."""
    turn = [said("one", message_id="a")]
    async with open_memory() as memory:
        await memory.add(scope, "s1", turn, idempotency_key="k")
        await memory.flush(scope)
        assert (await memory.delete_messages(scope, session_ids=["s1"])).messages == 1

        assert not (await memory.add(scope, "s1", [said("another", message_id="a")], idempotency_key="k")).replayed
        await memory.flush(scope)
        assert await texts(memory, scope) == ["another"]
        assert [m.content for m in (await memory.memories(scope)).items] == ["another"]


async def test_what_was_injected_is_not_stored_as_if_it_had_been_said(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", [said("I drink green tea")])
        await memory.flush(scope)
        recall = await memory.recall(scope, "which tea do I drink?")
        assert recall.prepend_context

        sent = f"{recall.append_system_context}\n\n{recall.prepend_context}\n\nwhich tea do I drink?"
        await memory.add(scope, "s2", [said(sent), said(wrap("relevant-memories", "only a block"))])
        assert await texts(memory, scope, session_id="s2") == ["which tea do I drink?", ""]
        await memory.flush(scope)
        assert await memory.count_memories(scope) == 2


async def test_any_text_and_any_id_comes_back_as_it_went_in(open_memory: Open, scope: Scope) -> None:
    hostile = [
        "'; DROP TABLE messages; --",
        "a\x00b",
        "🇵🇹👩‍👩‍👧‍👦",
        '" OR "1"="1',
        "  leading and trailing  ",
        "line\r\nbreaks\u2028",
        "x" * 8_192,
    ]
    async with open_memory() as memory:
        for number, text in enumerate(hostile):
            session = f"{number}/../{text[:20]}"
            receipt = await memory.add(
                scope, session, [said(text, message_id=f"{text[:50]}#")], idempotency_key=text[:99]
            )
            (found,) = (await memory.messages(scope, session_id=session)).items
            assert (found.content, found.session_id, found.message_id) == (text, session, receipt.message_ids[0])
        assert await memory.count_messages(scope) == len(hostile)


async def test_a_lone_surrogate_is_stored_as_the_replacement_character(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", [said("broken \ud83d emoji")])
        assert await texts(memory, scope) == ["broken \ufffd emoji"]


@pytest.mark.parametrize(
    ("session", "messages", "given", "field"),
    [
        ("", TURN, {}, "session_id"),
        ("x" * 513, TURN, {}, "session_id"),
        ("s1", [], {}, "messages"),
        ("s1", TURN * 51, {}, "messages"),
        ("s1", [MessageInput("system", "hi")], {}, "messages.0.role"),
        ("s1", [TURN[0], MessageInput("user", "")], {}, "messages.1.content"),
        ("s1", [MessageInput("user", "x" * 8_193)], {}, "messages.0.content"),
        ("s1", [MessageInput("user", "hi", message_id="")], {}, "messages.0.id"),
        ("s1", [MessageInput("user", "hi", message_id="x" * 257)], {}, "messages.0.id"),
        ("s1", TURN, {"idempotency_key": ""}, "idempotency_key"),
        ("s1", TURN, {"idempotency_key": "x" * 257}, "idempotency_key"),
    ],
)
async def test_what_cannot_be_meant_is_refused_by_name_and_stores_nothing(
    open_memory: Open, scope: Scope, session: str, messages: list[MessageInput], given: dict[str, Any], field: str
) -> None:
    async with open_memory() as memory:
        with pytest.raises(InvalidRequest) as refused:
            await memory.add(scope, session, messages, **given)
        assert refused.value.field == field
        assert await memory.count_messages(scope) == 0
