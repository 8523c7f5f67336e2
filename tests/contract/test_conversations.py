"""L0: sessions, messages, receipts, the cursor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from memstrata.records import Neighbours, NewMessage, Scope, SessionTarget
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import MessageFilter

Build = Callable[..., NewMessage]
ALL = MessageFilter()


async def add(
    store: Store, scope: Scope, session: str, *messages: NewMessage, task: str = "", now: int = 1_000
) -> SessionTarget:
    return await store.write(lambda r: r.conversations.append(scope, session, task, messages, now))


async def test_a_message_comes_back_as_it_went_in(store: Store, scope: Scope, new_message: Build) -> None:
    sent = new_message("茶\x00 café\n🙂", message_id="mine", role="assistant", said_at=-5, recorded_at=7)

    target = await add(store, scope, "s1", sent, task="task")

    (found,) = await store.read(lambda r: r.conversations.page(scope, ALL, 10, 0))
    assert target == SessionTarget(target.key, scope, "s1")
    assert found.seq > 0
    assert (found.message_id, found.session_id, found.task_id, found.role) == ("mine", "s1", "task", "assistant")
    assert (found.content, found.said_at, found.recorded_at) == ("茶\x00 café\n🙂", -5, 7)


async def test_sequence_numbers_rise_with_commits_whatever_the_clients_clocks_say(
    store: Store, scope: Scope, new_message: Build
) -> None:
    """Invariant 2: the only cursor is an integer sequence assigned at commit."""
    for number, said_at in enumerate((5_000, 0, 9_000_000_000_000, -1, 5_000)):
        await add(store, scope, f"s{number % 2}", new_message(str(number), said_at=said_at))

    page = await store.read(lambda r: r.conversations.page(scope, ALL, 10, 0))
    in_order = sorted(page, key=lambda m: m.seq)
    assert [m.content for m in in_order] == ["0", "1", "2", "3", "4"]
    assert len({m.seq for m in page}) == 5


async def test_a_sequence_number_is_never_given_twice(store: Store, scope: Scope, new_message: Build) -> None:
    await add(store, scope, "s1", new_message("first", message_id="gone"))
    (first,) = await store.read(lambda r: r.conversations.page(scope, ALL, 1, 0))
    await store.write(lambda r: r.erasure.messages(scope, ["gone"], [], None))
    await add(store, scope, "s1", new_message("second"))

    (second,) = await store.read(lambda r: r.conversations.page(scope, ALL, 1, 0))
    assert second.seq > first.seq


async def test_one_message_id_is_stored_once_in_a_session_and_again_in_another(
    store: Store, scope: Scope, new_message: Build
) -> None:
    same = new_message(message_id="same")
    await add(store, scope, "s1", same)
    await add(store, scope, "s2", same)

    with pytest.raises(Exception, match="UNIQUE"):
        await add(store, scope, "s1", same)
    assert await store.read(lambda r: r.conversations.count(scope, ALL)) == 2


async def test_a_receipt_belongs_to_its_session_and_key(store: Store, scope: Scope, new_message: Build) -> None:
    def work(r: Repositories) -> None:
        target = r.conversations.append(scope, "s1", "", [new_message(message_id="a")], 0)
        r.conversations.keep_receipt(target, "key", b"\x00hash", ["a", "b"], 0)

    await store.write(work)

    kept = await store.read(lambda r: r.conversations.receipt(scope, "s1", "key"))
    assert kept is not None
    assert (kept.payload, kept.message_ids) == (b"\x00hash", ("a", "b"))
    assert await store.read(lambda r: r.conversations.receipt(scope, "s1", "other")) is None
    assert await store.read(lambda r: r.conversations.receipt(scope, "s2", "key")) is None


async def test_messages_are_found_by_id_in_their_own_session_only(
    store: Store, scope: Scope, new_message: Build
) -> None:
    await add(store, scope, "s1", new_message("one", message_id="a"), new_message("two", message_id="b"))
    await add(store, scope, "s2", new_message("three", message_id="c"))

    found = await store.read(lambda r: r.conversations.by_id(scope, "s1", {"a", "b", "c", "d"}))
    assert {name: m.content for name, m in found.items()} == {"a": "one", "b": "two"}
    assert await store.read(lambda r: r.conversations.by_id(scope, "nowhere", {"a"})) == {}


async def test_a_session_that_was_never_written_has_no_target(store: Store, scope: Scope) -> None:
    assert await store.read(lambda r: r.conversations.target(scope, "s1")) is None


async def test_progress_counts_what_is_past_the_cursor_up_to_the_limit(
    store: Store, scope: Scope, new_message: Build
) -> None:
    target = await add(store, scope, "s1", *(new_message(role="user" if n % 2 == 0 else "assistant") for n in range(7)))

    progress = await store.read(lambda r: r.conversations.progress(target, 100))
    assert (progress.pending_rounds, progress.pending_messages) == (4, 7)
    assert (progress.warmup, progress.cursor, progress.scene_name, progress.last_message_at) == (1, 0, "", 1_000)
    capped = await store.read(lambda r: r.conversations.progress(target, 3))
    assert (capped.pending_rounds, capped.pending_messages) == (3, 3)


async def test_the_time_of_the_last_message_never_goes_back(store: Store, scope: Scope, new_message: Build) -> None:
    for now in (5_000, 2_000):
        await add(store, scope, "s1", new_message(), now=now)

    target = await add(store, scope, "s1", now=0)
    progress = await store.read(lambda r: r.conversations.progress(target, 1))
    assert progress.last_message_at == 5_000


async def test_advancing_moves_the_cursor_forward_and_never_back(
    store: Store, scope: Scope, new_message: Build
) -> None:
    target = await add(store, scope, "s1", *(new_message(str(n)) for n in range(4)))
    seqs = [m.seq for m in await store.read(lambda r: r.conversations.undistilled(target, 10))]

    await store.write(lambda r: r.conversations.advance(target, seqs[2], 4, "kitchen"))
    await store.write(lambda r: r.conversations.advance(target, seqs[0], 2, "garden"))

    progress = await store.read(lambda r: r.conversations.progress(target, 10))
    assert (progress.cursor, progress.warmup, progress.scene_name) == (seqs[2], 2, "garden")
    left = await store.read(lambda r: r.conversations.undistilled(target, 10))
    assert [m.content for m in left] == ["3"]


async def test_undistilled_messages_come_in_the_order_of_their_commits(
    store: Store, scope: Scope, new_message: Build
) -> None:
    target = await add(
        store, scope, "s1", new_message("first", said_at=9), new_message("second", said_at=1), new_message("third")
    )

    assert [m.content for m in await store.read(lambda r: r.conversations.undistilled(target, 2))] == [
        "first",
        "second",
    ]


async def test_messages_before_a_place_are_the_nearest_ones_in_order(
    store: Store, scope: Scope, new_message: Build
) -> None:
    await add(store, scope, "other", new_message("foreign"))
    target = await add(store, scope, "s1", *(new_message(str(n)) for n in range(5)))
    last = (await store.read(lambda r: r.conversations.undistilled(target, 10)))[-1].seq

    before = await store.read(lambda r: r.conversations.before(target, last, 2))
    assert [m.content for m in before] == ["2", "3"]


async def test_sessions_with_messages_past_the_cursor_are_pending(
    store: Store, scope: Scope, new_message: Build
) -> None:
    one = await add(store, scope, "s1", new_message(), new_message())
    two = await add(store, scope, "s2", new_message())

    def pending(r: Repositories) -> tuple[set[SessionTarget], int, int, tuple[SessionTarget, ...]]:
        c = r.conversations
        return (
            set(c.pending_sessions(scope, None)),
            c.pending_count(scope, None),
            c.pending_count(scope, "s1"),
            c.pending_sessions(scope, "nowhere"),
        )

    assert await store.read(pending) == ({one, two}, 3, 2, ())
    last = (await store.read(lambda r: r.conversations.undistilled(one, 9)))[-1].seq
    await store.write(lambda r: r.conversations.advance(one, last, 1, ""))
    assert await store.read(pending) == ({two}, 1, 0, ())


async def test_a_page_holds_the_last_said_first_and_equal_times_have_one_order(
    store: Store, scope: Scope, new_message: Build
) -> None:
    await add(store, scope, "s1", *(new_message(str(n), said_at=50) for n in range(6)))
    await add(store, scope, "s2", new_message("old", said_at=10), new_message("new", said_at=90))

    def pages(r: Repositories) -> list[str]:
        return [m.content for offset in range(0, 8, 3) for m in r.conversations.page(scope, ALL, 3, offset)]

    assert await store.read(pages) == ["new", "5", "4", "3", "2", "1", "0", "old"]
    assert await store.read(lambda r: r.conversations.page(scope, ALL, 3, 8)) == ()


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (MessageFilter(), ["d", "c", "b", "a"]),
        (MessageFilter(session_id="s1"), ["c", "b", "a"]),
        (MessageFilter(session_id="nowhere"), []),
        (MessageFilter(task_id="t1"), ["b", "a"]),
        (MessageFilter(task_id=""), ["d"]),
        (MessageFilter(since=20), ["d", "c", "b"]),
        (MessageFilter(until=20), ["b", "a"]),
        (MessageFilter(since=20, until=20), ["b"]),
        (MessageFilter(since=21, until=20), []),
        (MessageFilter(session_id="s1", task_id="t2", since=30, until=30), ["c"]),
    ],
)
async def test_filters_of_messages_agree_in_page_count_and_search(
    store: Store, scope: Scope, new_message: Build, where: MessageFilter, expected: list[str]
) -> None:
    await add(store, scope, "s1", new_message("a", said_at=10), new_message("b", said_at=20), task="t1")
    await add(store, scope, "s1", new_message("c", said_at=30), task="t2")
    await add(store, scope, "s2", new_message("d", said_at=40))

    def look(r: Repositories) -> tuple[list[str], int, set[str]]:
        c = r.conversations
        found = c.match(scope, ["a", "b", "c", "d"], where, 10)
        return [m.content for m in c.page(scope, where, 10, 0)], c.count(scope, where), {m.content for m, _ in found}

    assert await store.read(look) == (expected, len(expected), set(expected))


async def test_messages_by_sequence_number_come_in_order_without_unknown_ones(
    store: Store, scope: Scope, new_message: Build
) -> None:
    target = await add(store, scope, "s1", *(new_message(str(n)) for n in range(3)))
    seqs = [m.seq for m in await store.read(lambda r: r.conversations.undistilled(target, 10))]

    found = await store.read(lambda r: r.conversations.by_seq(scope, [seqs[2], seqs[0], 999_999]))
    assert [m.content for m in found] == ["0", "2"]


async def test_around_a_message_stand_those_of_its_own_session_in_their_order(
    store: Store, scope: Scope, new_message: Build
) -> None:
    for number in range(5):
        await add(store, scope, "s1", new_message(str(number), said_at=9 - number), task=f"t{number % 2}")
        await add(store, scope, "s2", new_message(f"foreign {number}"))
    page = await store.read(lambda r: r.conversations.page(scope, ALL, 99, 0))
    seq = {message.content: message.seq for message in page}

    async def around(text: str, before: int, after: int) -> tuple[list[str], list[str]]:
        found = await store.read(lambda r: r.conversations.around(scope, seq[text], before, after))
        return [m.content for m in found.before], [m.content for m in found.after]

    assert await around("2", 1, 1) == (["1"], ["3"])
    assert await around("2", 9, 9) == (["0", "1"], ["3", "4"])
    assert await around("4", 2, 2) == (["2", "3"], [])
    assert await around("0", 2, 0) == ([], [])
    assert await around("foreign 1", 1, 2) == (["foreign 0"], ["foreign 2", "foreign 3"])
    assert await store.read(lambda r: r.conversations.around(scope, 999_999, 5, 5)) == Neighbours()


async def test_a_deleted_message_is_no_neighbour_and_has_none(store: Store, scope: Scope, new_message: Build) -> None:
    messages = [new_message(str(number), message_id=f"m{number}") for number in range(4)]
    target = await add(store, scope, "s1", *messages)
    first, gone, *_ = [m.seq for m in await store.read(lambda r: r.conversations.undistilled(target, 9))]
    await store.write(lambda r: r.erasure.messages(scope, ["m1"], [], None))

    found = await store.read(lambda r: r.conversations.around(scope, first, 0, 2))
    assert [m.content for m in found.after] == ["2", "3"]
    assert await store.read(lambda r: r.conversations.around(scope, gone, 2, 2)) == Neighbours()


async def test_statistics_of_terms_are_those_of_the_scope(store: Store, scope: Scope, new_message: Build) -> None:
    other = Scope("default", "home", "assistant", "max")
    await add(store, scope, "s1", new_message("green tea"), new_message("black tea"))
    await add(store, other, "s1", *(new_message(f"tea {n}") for n in range(5)))

    def look(r: Repositories) -> tuple[int, dict[str, int]]:
        return r.conversations.size(scope), dict(r.conversations.frequencies(scope, ["tea", "green", "coffee"]))

    assert await store.read(look) == (2, {"tea": 2, "green": 1})


async def test_matching_finds_any_of_the_terms_and_the_best_first(
    store: Store, scope: Scope, new_message: Build
) -> None:
    await add(store, scope, "s1", new_message("tea"), new_message("green tea leaves"), new_message("coffee"))

    found = await store.read(lambda r: r.conversations.match(scope, ["green", "tea"], ALL, 10))
    assert [m.content for m, _ in found] == ["green tea leaves", "tea"]
    assert found[0][1] > found[1][1]
    assert await store.read(lambda r: r.conversations.match(scope, [], ALL, 10)) == ()
    assert len(await store.read(lambda r: r.conversations.match(scope, ["tea"], ALL, 1))) == 1


async def undistilled(store: Store, target: SessionTarget) -> list[str]:
    return [m.content for m in await store.read(lambda r: r.conversations.undistilled(target, 99))]


async def test_a_model_starts_where_rules_began_in_every_session(
    store: Store, scope: Scope, new_message: Build
) -> None:
    """DESIGN §5: what rules distilled is distilled again once a model appears."""
    mine = await add(store, scope, "s1", *(new_message(str(n)) for n in range(5)))
    by_model = await add(store, scope, "s2", new_message("by a model"))
    theirs = await add(store, replace(scope, instance="other"), "s1", new_message("theirs"))

    def distill(r: Repositories) -> None:
        c = r.conversations
        seqs = [m.seq for m in c.undistilled(mine, 9)]
        c.advance(mine, seqs[1], 2, "")
        c.distilled_by_rules(mine, seqs[2])
        c.advance(mine, seqs[3], 4, "kitchen")
        c.distilled_by_rules(mine, seqs[4])
        c.advance(mine, seqs[4], 5, "kitchen")
        (one,), (other,) = c.undistilled(theirs, 9), c.undistilled(by_model, 9)
        c.advance(theirs, one.seq, 2, "")
        c.distilled_by_rules(theirs, one.seq)
        c.advance(by_model, other.seq, 2, "")

    await store.write(distill)

    assert await store.write(lambda r: r.conversations.start_again_from_rules()) == 2

    assert await undistilled(store, mine) == ["2", "3", "4"]
    assert await undistilled(store, theirs) == ["theirs"]
    assert await undistilled(store, by_model) == []
    now = await store.read(lambda r: r.conversations.progress(mine, 9))
    assert (now.warmup, now.scene_name) == (5, "kitchen")
    assert set(await store.read(lambda r: r.jobs.forgotten())) == {mine, theirs}


async def test_a_model_starts_again_once_and_rules_may_begin_anew_after_it(
    store: Store, scope: Scope, new_message: Build
) -> None:
    target = await add(store, scope, "s1", *(new_message(str(n)) for n in range(5)))
    seqs = [m.seq for m in await store.read(lambda r: r.conversations.undistilled(target, 9))]
    again = lambda r: r.conversations.start_again_from_rules()  # noqa: E731

    async def by_rules(first: int) -> None:
        await store.write(lambda r: r.conversations.distilled_by_rules(target, first))
        await store.write(lambda r: r.conversations.advance(target, seqs[-1], 1, ""))

    assert await store.write(again) == 0
    await by_rules(seqs[0])
    assert await store.write(again) == 1
    await store.write(lambda r: r.conversations.advance(target, seqs[-1], 1, ""))
    assert await store.write(again) == 0
    assert await undistilled(store, target) == []

    await by_rules(seqs[3])
    assert await store.write(again) == 1
    assert await undistilled(store, target) == ["3", "4"]
